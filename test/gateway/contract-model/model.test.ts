// @store each
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/contract/json.ts'
import { recordsOf } from '../../evidence/histories.ts'
import { openWorld, type World } from '../../gateway-fixture.ts'
import { IS_LONG } from '../../runs.ts'
import { SEEN } from './answers.ts'
import { Game } from './game.ts'
import { BUNDLES } from './policy.ts'

/**
 * Random calls of agents and people, in random time: every answer equals the answer of the model.
 * `test/fault/fleet.test.ts` plays it with several gateways.
 */

const SEEDS = IS_LONG ? Array.from({ length: 60 }, (_, i) => i + 1) : [1, 2, 3, 4]
/** The number of steps under each policy. */
const STEPS = 90

/** The type of a record, and the names of its members. */
function membersOf(record: JsonObject): string {
  const names = (value: unknown): string =>
    Object.keys((value ?? {}) as JsonObject)
      .toSorted()
      .join(' ')
  return `${JSON.stringify(record.type)}: ${names(record)}: ${names(record.details)}`
}

async function writtenIn({ app }: World): Promise<JsonObject[]> {
  const events = await app.deps.store.events('acme', 0, 100_000)
  return events.map(({ body }) => JSON.parse(body) as JsonObject)
}

describe('the gateway and a model of its contract', () => {
  const seen = new Set<string>()
  const written = new Set<string>()

  it.each(SEEDS)(
    'the gateway and a model of its contract give the same answers to every request (seed %d)',
    async (seed) => {
      const world = await openWorld({ files: BUNDLES.first })
      try {
        const game = new Game([world], seed)
        await game.begin()
        for (const bundle of ['second', 'first', 'second'] as const) {
          for (let i = 0; i < STEPS; i++) await game.step()
          await game.change(bundle)
        }
        for (let i = 0; i < STEPS; i++) await game.step()
        for (const one of game.end()) seen.add(one)
        for (const record of await writtenIn(world)) written.add(membersOf(record))
      } finally {
        await world.close()
      }
    },
  )

  it('the gateway and a model of its contract have met every possible answer', () => {
    expect(SEEN.filter((one) => !seen.has(one))).toEqual([])
  })

  const taken =
    'pending; ruled; revised; voted commented=true commitment=c; approved; minted; reissued; redeemed; refused; ' +
    'freeze; allowed; rejected'
  it.each(recordsOf(taken))(
    'the gateway wrote records with the members of the $type that tests of replay take',
    (record) => {
      expect(written).toContain(membersOf(record))
    },
  )
})
