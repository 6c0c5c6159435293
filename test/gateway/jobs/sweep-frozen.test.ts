// @store each, in the soak
import { beforeEach, describe, expect, it } from 'vitest'
import { freeze } from '../../../src/gateway/admin/freeze.ts'
import { INDEX } from '../../../src/gateway/core/indexes.ts'
import { runDue } from '../../../src/gateway/jobs/scheduler.ts'
import { StoreUnavailable } from '../../../src/store/store.ts'
import { eachWorld, world } from '../../agent-world.ts'
import { type Agent, held, MINUTE, overriding } from '../../gateway-fixture.ts'

/** Threads that a freeze ends by itself, where the timer watches many other entries. */

let bot: Agent
let other: Agent
/** The number of reads of threads. */
let looks: number
/** The id of a thread that the store refuses to write. */
let failing: string | undefined

eachWorld(() => {
  looks = 0
  failing = undefined
  return {
    wrapStore: (store) =>
      overriding(store, {
        commit: async (tenant, commit) => {
          if (commit.writes.some((write) => write.op === 'put' && write.id === failing))
            throw new StoreUnavailable('the disk is full')
          return store.commit(tenant, commit)
        },
        get: (tenant, type, id) => {
          if (type === 'thread') looks += 1
          return store.get(tenant, type, id)
        },
      }),
  }
})
beforeEach(async () => {
  bot = await world.agent()
  other = await world.agent('other')
})

/** A number of due entries that a tenant may have, apart from those of the frozen agent. */
const MANY = 1_200
const LARGE = { payload: { amount: 20_000 } }

/** Adds entries in front of those that fall due later. */
async function crowd(at: number): Promise<void> {
  const { deps } = world.app
  const writes = Array.from({ length: MANY }, (_, i) => {
    return { op: 'index', index: INDEX.due, member: `thr_${i}`, to: at } as const
  })
  const commit = { commitId: deps.nextCommitId(), deadline: Infinity, guards: [], writes, events: [] }
  expect(await deps.store.commit('acme', commit)).toMatchObject({ ok: true })
}

const frozen = (agent: string): Promise<unknown> =>
  freeze(
    world.app.deps,
    { actor: { kind: 'admin', id: 'admin' } },
    { tenant: 'acme', agent, reason: 'it talks to strangers' },
  )
const status = async (thread: string): Promise<unknown> => {
  const record = await world.app.deps.store.get('acme', 'thread', thread)
  return (JSON.parse(record?.body ?? '{}') as { status: unknown }).status
}

describe('a sweep', () => {
  it('handles a part of the threads per round, so that others get a turn, and reads no thread twice', async () => {
    const { deps } = world.app
    await crowd(deps.store.now() + 14 * MINUTE)
    const { thread } = await held(bot, LARGE)
    await frozen('bot')
    looks = 0
    let rounds = 0
    let most = 0
    for (let before = 0, done = 1; done > 0; before = looks) {
      done = await runDue(deps)
      most = Math.max(most, looks - before)
      rounds += 1
    }
    expect(await status(thread)).toBe('rejected')
    expect(most).toBeLessThanOrEqual(500)
    expect(rounds).toBeGreaterThan(2)
    expect(looks).toBeLessThan(MANY + 10)
  })

  it('starts again when another freeze begins', async () => {
    const { deps } = world.app
    const early = await held(other, LARGE)
    await crowd(deps.store.now() + 16 * MINUTE)
    world.clock.advance(5 * MINUTE)
    const late = await held(bot, LARGE)
    await frozen('bot')
    await runDue(deps)
    expect(await status(late.thread)).toBe('pending_review')
    await frozen('other')
    await world.due()
    expect([await status(early.thread), await status(late.thread)]).toEqual(['rejected', 'rejected'])
  })

  it('returns to a thread that it could not end', async () => {
    const { deps } = world.app
    const { thread } = await held(bot, LARGE)
    const spared = await held(bot, LARGE)
    await frozen('bot')
    failing = thread
    await expect(runDue(deps)).rejects.toThrow('the store cannot answer now')
    expect([await status(thread), await status(spared.thread)]).toEqual(['pending_review', 'rejected'])
    failing = undefined
    // as long as an unfinished round may run at another gateway
    world.clock.advance(6_000)
    await world.due()
    expect(await status(thread)).toBe('rejected')
  })

  it('ends every thread that another gateway left', async () => {
    const { deps } = world.app
    await crowd(deps.store.now() + 14 * MINUTE)
    const { thread } = await held(bot, LARGE)
    await frozen('bot')
    await runDue({ ...deps, sweeps: new Map() })
    await world.due()
    expect(await status(thread)).toBe('rejected')
  })
})
