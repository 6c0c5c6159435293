// @store each, in the soak
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/contract/json.ts'
import { Replay } from '../../src/evidence/replay.ts'
import { openWorld, type World } from '../gateway-fixture.ts'
import { playHistory } from './random-history.ts'

/**
 * Evidence of random histories, after tampering by someone who can sign any record.
 * The replay of the remaining records reveals it (docs/evidence.md, completeness).
 */

const SEEDS = [11, 12, 13]
const STEPS = 250

let histories: JsonObject[][]

beforeAll(async () => {
  histories = []
  for (const seed of SEEDS) {
    const world: World = await openWorld()
    await playHistory(world, seed, STEPS)
    histories.push((await world.evidence()).map(({ record }) => record as unknown as JsonObject))
    await world.close()
  }
})
afterAll(() => histories.splice(0))

function faultIn(records: readonly JsonObject[]): string | undefined {
  const replay = new Replay()
  for (const one of records) {
    const fault = replay.take(one)
    if (fault !== undefined) return fault
  }
  return replay.end()
}

const typeOf = (one: JsonObject): string => one['type'] as string
const threadOf = (one: JsonObject): string | undefined => one['thread_id'] as string | undefined

/** The records behind each redemption: pending (or its last revision), votes, approval, mint. */
const CHAIN = ['review.pending', 'review.revised', 'vote.cast', 'review.approved', 'token.minted']

/** Returns the positions of records that a redemption depends on. */
function behindRedemptions(records: readonly JsonObject[]): number[] {
  const redeemed = new Set(records.filter((one) => typeOf(one) === 'token.redeemed').map(threadOf))
  return records.flatMap((one, i) => (redeemed.has(threadOf(one)) && CHAIN.includes(typeOf(one)) ? [i] : []))
}

describe('the evidence that a gateway wrote', () => {
  it('is consistent, and contains every record type', () => {
    const types = new Set(histories.flat().map(typeOf))
    for (const records of histories) expect(faultIn(records)).toBeUndefined()
    for (const type of [
      ...CHAIN,
      'token.redeemed',
      'token.refused',
      'review.expired',
      'review.frozen',
      'review.withdrawn',
      'session.opened',
    ])
      expect(types).toContain(type)
  })
})

describe('evidence that was tampered with', () => {
  it('is reported when a record is missing that a redemption depends on', () => {
    for (const records of histories) {
      const positions = behindRedemptions(records)
      expect(positions.length).toBeGreaterThan(0)
      for (const i of positions) expect([i, faultIn(records.toSpliced(i, 1))]).not.toEqual([i, undefined])
    }
  })

  it('is reported when a state change or a proof occurs twice', () => {
    const once = [
      'token.redeemed',
      'review.rejected',
      'review.expired',
      'review.frozen',
      'review.withdrawn',
      'approval.revoked',
      'freeze.started',
      'freeze.ended',
      'key.issued',
      'session.opened',
      'session.ended',
      ...CHAIN,
    ]
    for (const records of histories) {
      for (const [i, one] of records.entries()) {
        if (!once.includes(typeOf(one))) continue
        expect([typeOf(one), faultIn(records.toSpliced(i, 0, one))]).not.toEqual([typeOf(one), undefined])
      }
    }
  })

  it('is reported when a redemption, a vote or an approval has another actor', () => {
    for (const records of histories) {
      for (const [i, one] of records.entries()) {
        if (!['token.redeemed', 'vote.cast', 'review.approved', 'token.minted'].includes(typeOf(one)))
          continue
        const { actor } = one as { actor: { kind: string; id: string } }
        if (actor.kind === 'gateway') continue
        const other = { ...one, actor: { ...actor, id: 'nobody' } }
        expect([typeOf(one), faultIn(records.with(i, other))]).not.toEqual([typeOf(one), undefined])
      }
    }
  })

  it('is reported when a redemption precedes its approval', () => {
    for (const records of histories) {
      for (const [i, one] of records.entries()) {
        if (typeOf(one) !== 'token.redeemed') continue
        const without = records.toSpliced(i, 1)
        const minted = without.findIndex(
          (other) => typeOf(other) === 'token.minted' && threadOf(other) === threadOf(one),
        )
        expect(faultIn(without.toSpliced(minted, 0, one))).toBe('its token was never minted')
      }
    }
  })
})
