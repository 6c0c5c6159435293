import type { Deps } from '../gateway/core/deps.ts'
import { createByteSemaphore } from '../gateway/core/byte-semaphore.ts'
import { enqueue } from '../gateway/webhooks/outbox.ts'
import { budgetsOf, type Config } from '../settings/settings.ts'
import { orderedIds } from './ids.ts'

/** The members that other parts of the gateway provide. */
type Provided = Pick<
  Deps,
  'store' | 'policies' | 'random' | 'nextCommitId' | 'commitmentSecret' | 'enqueued' | 'threadUrl' | 'observe'
>

/** Builds the dependencies of all verbs. Caches start empty. */
export function depsOf(config: Config, provided: Provided): Deps {
  const { store, random } = provided
  return {
    store,
    policies: provided.policies,
    keys: new Map(),
    noted: new Map(),
    scheduled: new Map(),
    requeued: new Map(),
    forgetting: new Map(),
    // these members differ for each request, and copying plain values is cheap (docs/decisions/0021)
    origin: undefined,
    threads: new Map(),
    shown: new Map(),
    asking: new Map(),
    random,
    nextId: orderedIds(() => store.now(), random),
    nextCommitId: provided.nextCommitId,
    commitmentSecret: provided.commitmentSecret,
    destinations: new Map(),
    freezes: new Map(),
    sweeps: new Map(),
    outboxRoom: createByteSemaphore(),
    epochs: new Map(),
    enqueue,
    enqueued: provided.enqueued,
    threadUrl: provided.threadUrl,
    sessions: { idleMs: config.sessionIdle, lifetimeMs: config.sessionLifetime },
    budgets: budgetsOf(config),
    storeDeadlineMs: config.storeDeadline,
    observe: provided.observe,
  }
}
