// @store each
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Thread } from '../../../src/domain/thread.ts'
import type { Deps } from '../../../src/gateway/core/deps.ts'
import { INDEX } from '../../../src/gateway/core/indexes.ts'
import { put } from '../../../src/gateway/core/records.ts'
import { FORGET } from '../../../src/gateway/jobs/retention.ts'
import { runDue } from '../../../src/gateway/jobs/scheduler.ts'
import type { ExplainingSnapshot } from '../../../src/policy/evaluate/explanation.ts'
import {
  RETENTION,
  RETENTION_KINDS,
  type RetentionKind,
  retentionOf,
} from '../../../src/policy/language/retention.ts'
import type { Store } from '../../../src/store/store.ts'
import { WIDTH } from '../../../src/tiles/layout.ts'
import { HOUR } from '../../gateway-fixture.ts'
import { commitOf } from '../../store/commit-of.ts'
import { Lab, TENANT } from '../../tiles/lab.ts'

/** Each row of `RETENTION` deletes what it says, and nothing else (docs/data.md). */

const DAY = 24 * HOUR

let lab: Lab
let deps: Deps
beforeEach(async () => {
  lab = new Lab()
  deps = await lab.on()
  const { store } = deps
  const at = lab.now
  const over = {
    tenant: TENANT,
    thread_id: 'th',
    agent: 'bot',
    task_id: 't',
    tool: 'pay',
    status: 'rejected',
  }
  const times = { created_at: at, submitted_at: at, ended_at: at }
  const event = JSON.stringify({
    at: new Date(at).toISOString(),
    actor: { kind: 'agent', id: 'bot' },
    task_id: 't',
  })
  await store.commit(
    TENANT,
    commitOf(store, {
      events: [event],
      disclosures: ['{}'],
      writes: [
        put('thread', 'th', { ...over, ...times, revision: 1, votes: [] } as unknown as Thread),
        { op: 'index', index: INDEX.threads, member: 'th', to: at },
        { op: 'index', index: INDEX.taskHistory('bot', 't'), member: 't pay', to: at },
      ],
    }),
  )
  await store.commit(
    '_system',
    commitOf(store, { writes: [{ op: 'index', index: 'tenants', member: TENANT, to: 0 }] }),
  )
  await lab.add(WIDTH)
  await lab.publish()
})
afterEach(() => lab.dispose())

const LEFT: Readonly<Record<RetentionKind, (store: Store) => Promise<number>>> = {
  threads: (store) => store.count(TENANT, INDEX.threads),
  disclosures: async (store) => (await store.disclosures(TENANT, 0, 9)).length,
  log_in_store: async (store) =>
    (await store.events(TENANT, 0, 1)).filter(({ number }) => number === 1).length,
  tasks: (store) => store.count(TENANT, INDEX.taskHistory('bot', 't')),
}

const left = async () => {
  const counts = RETENTION_KINDS.map(async (kind) => [kind, await LEFT[kind](deps.store)] as const)
  return Object.fromEntries(await Promise.all(counts))
}

/** Lets the longest of the least times pass, while only these kinds are short. */
async function pass(short: readonly RetentionKind[]): Promise<void> {
  const retention = retentionOf((kind) => (short.includes(kind) ? RETENTION[kind].least : 3_660 * DAY))
  const policies = { ...deps.policies, current: () => ({ retention }) as ExplainingSnapshot }
  const now = { ...deps, policies }
  lab.now += 32 * DAY
  for (let round = 0; round < 4; round++) {
    while (await FORGET.log_in_store(now, lab.tiles, TENANT));
    await runDue(now)
    lab.now += HOUR
  }
}

const ALL = { threads: 1, disclosures: 1, log_in_store: 1, tasks: 1 }

it('nothing is deleted while every retention is long', async () => {
  await pass([])
  expect(await left()).toEqual(ALL)
})

it.each(RETENTION_KINDS)('%s end with their retention', async (kind) => {
  // the history of a task ends after its records left the store
  const short = kind === 'tasks' ? ([kind, 'log_in_store'] as const) : [kind]
  await pass(short)
  expect(await left()).toEqual({ ...ALL, ...Object.fromEntries(short.map((one) => [one, 0])) })
})
