// @store each, in the soak
import { describe, expect, it } from 'vitest'
import { signingKeyOf } from '../../../src/domain/checkpoint.ts'
import { makeCheckpoint } from '../../../src/gateway/jobs/checkpoints.ts'
import { exportEvidence } from '../../../src/gateway/admin/export-evidence.ts'
import { eachWorld, world } from '../../agent-world.ts'
import { overriding } from '../../gateway-fixture.ts'
import { countTurns } from '../../turns.ts'

/** Records may hold whole request bodies, so a reader of many records lets other requests have their turn. */

const turns = countTurns()
const RECORDS = 200
/** The number of records. */
let known = 0

eachWorld(() => {
  known = 0
  return {
    tampered: true,
    wrapStore: (store) =>
      overriding(store, {
        events: async (tenant, ...range) => {
          const found = await store.events(tenant, ...range)
          // excludes `_system`, which the gateway signs when it starts
          if (tenant === 'acme') for (const _ of found) turns.count()
          return found
        },
      }),
  }
})

async function given(body: string): Promise<void> {
  const { deps } = world.app
  for (let i = 0; i < RECORDS; i += 50) {
    const events = Array.from({ length: 50 }, () => body)
    const commit = { commitId: deps.nextCommitId(), deadline: Infinity, guards: [], writes: [], events }
    expect(await deps.store.commit('acme', commit)).toMatchObject({ ok: true })
  }
  turns.begin()
}

const identity = { name: 'x', key: signingKeyOf(Buffer.alloc(32, 1)) }
const LARGE = JSON.stringify({ type: 'event.received', body: 'x'.repeat(100_000) })

describe('evidence', () => {
  it('is exported a few records per turn, even to a reader that never blocks', async () => {
    for (const [body, most] of [
      [LARGE, 16],
      ['{}', 100],
    ] as const) {
      await given(body)
      let lines = 0
      const range = { tenant: 'acme', after: known, limit: 10_000, disclosures: true }
      for await (const chunk of exportEvidence(world.app.deps, range, { kind: 'admin', id: 'admin' }))
        lines += chunk.split('\n').length - 1
      expect(lines).toBe(RECORDS)
      expect(turns.most()).toBeLessThanOrEqual(most)
      known += lines
    }
  })

  it('is signed with fewer records per turn when they are large', async () => {
    await given(LARGE)
    expect(await makeCheckpoint(world.app.deps, identity, 'acme')).toMatchObject({ size: RECORDS })
    expect(turns.most()).toBeLessThanOrEqual(16)
  })

  it('is signed with a hundred records per turn when they are small', async () => {
    await given('{}')
    expect(await makeCheckpoint(world.app.deps, identity, 'acme')).toMatchObject({ size: RECORDS })
    expect(turns.most()).toBeLessThanOrEqual(100)
  })
})
