import type { Observation, Deps } from '../gateway/core/deps.ts'
import { randomFillSync } from 'node:crypto'
import { successor, timeOrderedId } from '../domain/id.ts'
import { createByteSemaphore } from '../gateway/core/byte-semaphore.ts'
import { enqueue } from '../gateway/webhooks/outbox.ts'
import { budgetsOf, type Config } from '../settings/settings.ts'

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
    legalHolds: new Map(),
    sweeps: new Map(),
    outboxRoom: createByteSemaphore(),
    epochs: new Map(),
    enqueue,
    enqueued: provided.enqueued,
    threadUrl: provided.threadUrl,
    sessions: { idle: config.sessionIdle, lifetime: config.sessionLifetime },
    chatLinkMs: config.chatLinkLifetime,
    budgets: budgetsOf(config),
    storeDeadlineMs: config.storeDeadline,
    observe: provided.observe,
  }
}

/** Ids and secrets of the gateway. */

const ID_RANDOM_BYTES = 10

/** The size of a block. Random bytes come from the system in blocks, and each byte is used once. */
const RANDOM_BLOCK_BYTES = 4_096

export function randomSource(): (bytes: number) => Uint8Array {
  const block = new Uint8Array(RANDOM_BLOCK_BYTES)
  let used = block.length
  return (bytes) => {
    if (used + bytes > block.length) {
      randomFillSync(block)
      used = 0
    }
    const taken = block.slice(used, used + bytes)
    block.fill(0, used, used + bytes)
    used += bytes
    return taken
  }
}

/** Creates a source of commit ids, unique by 96 random bits per process and by a counter. */
export function commitIds(random: (bytes: number) => Uint8Array): () => string {
  const instance = Buffer.from(random(12)).toString('base64url')
  let count = 0
  return () => `${instance}.${(count++).toString(36)}`
}

/** Creates a source of ids that sort by age, even within one millisecond, so that a task's newest thread is last. */
export function orderedIds(now: () => number, random: (bytes: number) => Uint8Array): () => string {
  let last = Number.NEGATIVE_INFINITY
  let tail: Uint8Array = new Uint8Array(ID_RANDOM_BYTES)
  return () => {
    const time = now()
    tail = time === last ? successor(tail) : random(ID_RANDOM_BYTES)
    last = time
    return timeOrderedId(time, tail)
  }
}

type Kind = Observation['kind']
type Heard = (observation: never) => void
type Listener<K extends Kind = Kind> = (observation: Extract<Observation, { kind: K }>) => void

/** The channel on which verbs publish their observations. The parts of the gateway subscribe as they open. */
export interface Channel {
  readonly publish: (observation: Observation) => void
  /** Adds a listener, which must not throw. */
  subscribe(listener: Listener): void
  /** Adds a listener to observations of one kind, which hears them after the listeners to all. */
  on<K extends Kind>(kind: K, listener: Listener<K>): void
}

const NOBODY: readonly Heard[] = []

export function createChannel(): Channel {
  const listeners: Listener[] = []
  const ofKind = new Map<Kind, Heard[]>()
  return {
    publish(observation) {
      for (const listener of listeners) listener(observation)
      for (const listener of ofKind.get(observation.kind) ?? NOBODY) listener(observation as never)
    },
    subscribe: (listener) => void listeners.push(listener),
    on: (kind, listener) => void ofKind.set(kind, [...(ofKind.get(kind) ?? NOBODY), listener]),
  }
}
