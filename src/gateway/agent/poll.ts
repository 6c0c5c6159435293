import { agentNamed } from '../../domain/evidence.ts'
import { defined } from '../../contract/defined.ts'
import type { Decision } from '../../contract/agent.ts'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import { TASK_ID } from '../../domain/id.ts'
import { isAbandoned, type Thread } from '../../domain/thread.ts'
import type { AgentEntry } from '../../policy/language/snapshot.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime, record } from '../core/event-record.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { freezeGuard, freezesNow, frozenMessage } from '../core/freezes.ts'
import type { Caller } from '../core/caller.ts'
import { keyInForce } from '../auth/identify.ts'
import { standingOf } from '../auth/standing.ts'
import { traceOf } from '../core/trace-context.ts'
import type { Wait } from '../core/wait.ts'
import { noteAsked } from '../thread/asked.ts'
import { settleThread } from '../thread/settle-thread.ts'
import { unchanged, type Versioned } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { filledNow } from '../thread/approval-effects.ts'
import { beforeDeadline, moved, rescheduled, writeThread } from '../thread/thread-records.ts'
import { type Committed, type Plan, storeCall, transact } from '../core/transact.ts'
import { asRead, decisionOn, type Named, notFound, ownThread } from './own-thread.ts'
import { expectingThread } from './expected.ts'
import { drawProof, judgeAgain } from './proof.ts'

export interface PollTarget {
  readonly thread_id?: string
  readonly task_id?: string
}

/** The reader of the answer. */
export interface Reader {
  /** True when the reader has disconnected. The gateway then mints no proof. */
  callerGone(): boolean
  /** Absent for an immediate answer. */
  readonly wait?: Wait
}

/**
 * Reads the decision on a thread (docs/agent-api.md, GET decisions). The first read of a signed approval mints the
 * proof and records it in one commit. Only one of two concurrent polls receives the proof.
 *
 * @throws GatewayError `missing_identifier`, `not_found`, `not_ready`, `unauthenticated`, `store_unavailable`,
 * `outcome_unknown`; `request_timeout` to a disconnected reader
 */
export async function poll(
  deps: Deps,
  caller: Caller,
  target: PollTarget,
  reader: Reader,
): Promise<Committed<Decision>> {
  standingOf(deps, caller)
  await keyInForce(deps, caller)
  const located = (): Promise<Named> => storeCall(() => locate(deps, caller, target))
  if (reader.wait) await settled(deps, caller, located, reader.wait)
  refuseGone(reader)
  // the task may have a newer thread after the wait
  const named = await located()
  for (;;) {
    const { answer, ...receipt } = await transact(deps, caller.tenant, () =>
      look(deps, caller, named, reader),
    )
    if (answer === 'look again') continue
    const seen = deps.threads.get(named.thread_id)
    if (seen) await noteAsked(deps, seen.value)
    return { answer, ...receipt }
  }
}

function refuseGone(reader: Reader): void {
  if (reader.callerGone()) throw new GatewayError('request_timeout', 'the caller has disconnected')
}

/**
 * Reads the decision once. Before that, approves a thread whose quorum is filled but that has no approval yet. The next
 * read returns the approval with its proof.
 */
async function look(
  deps: Deps,
  caller: Caller,
  named: Named,
  reader: Reader,
): Promise<Plan<Decision | 'look again'>> {
  const { entry } = standingOf(deps, caller)
  const [thread, freezes] = await Promise.all([
    ownThread(deps, caller, named),
    freezesNow(deps, caller.tenant),
  ])
  const become = await settleThread(deps, thread, freezes)
  if (become?.answer.status === 'approved') return { ...become, answer: 'look again' }
  if (become) return { ...become, answer: decisionOn(become.answer, deps.store.now()) }
  if (isLeft(thread.value)) return { ...resumed(thread), answer: 'look again' }
  if (thread.value.status !== 'approved' || thread.value.approval?.redeemed_at !== undefined)
    return asRead(deps, thread)
  const plan = await approvedRead(deps, caller, thread, { entry, reader, freezes })
  return { ...plan, guards: [...(plan.guards ?? []), freezeGuard(freezes)] }
}

const isLeft = ({ left_until, approval }: Thread): boolean =>
  left_until !== undefined && approval?.collected_at === undefined

/** Keeps a call that its agent left and asks about again. */
async function comeBack(deps: Deps, caller: Caller, named: Named): Promise<void> {
  await transact(deps, caller.tenant, async () => {
    const thread = await ownThread(deps, caller, named)
    return isLeft(thread.value) ? resumed(thread) : { answer: undefined }
  })
}

/** The agent is back, so its call is not withdrawn. */
function resumed(read: Versioned<Thread>): Plan<undefined> {
  const { left_until: _, ...thread } = read.value
  return {
    answer: undefined,
    guards: [unchanged('thread', thread.thread_id, read)],
    writes: rescheduled(read.value, thread),
  }
}

/** The thread to poll. For a poll by task alone, this is the newest thread of that task and agent. */
async function locate(deps: Deps, caller: Caller, target: PollTarget): Promise<Named> {
  const { thread_id, task_id } = target
  if (thread_id === undefined && task_id === undefined) {
    throw new GatewayError('missing_identifier', 'give thread_id or task_id')
  }
  return { thread_id: thread_id ?? (await newestOf(deps, caller, task_id ?? '')), task_id }
}

async function newestOf(deps: Deps, caller: Caller, task: string): Promise<string> {
  if (!TASK_ID.test(task)) throw notFound()
  const [newest] = await deps.store.range(caller.tenant, INDEX.task(caller.id, task), {
    reverse: true,
    limit: 1,
  })
  if (newest === undefined) throw notFound()
  return newest.member
}

/**
 * Maximum time between two reads of the thread while waiting. A wake-up may be missed, and a revoked key or a changed
 * directory causes no wake-up.
 */
const LOOK_AGAIN_MS = 1_000
/**
 * Maximum number of reads per second by all waiting requests of an instance. The more requests wait, the less often
 * each reads; a change to its thread still wakes a request immediately.
 */
const LOOKS_PER_SECOND = 500

/**
 * Resolves when the thread is no longer pending, its deadline passed, its reader's key was revoked, or the wait is
 * over.
 *
 * @param located returns the thread as it is now
 */
async function settled(deps: Deps, caller: Caller, located: () => Promise<Named>, wait: Wait): Promise<void> {
  const until = deps.store.now() + wait.ms
  // a wait that began before its agent left does not bring the agent back
  for (let begins = true; !wait.signal.aborted; begins = false) {
    if (deps.store.now() >= until) return
    const named = await located()
    const round = within(wait.signal)
    try {
      const woken = deps.store
        .watch(caller.tenant, round.signal, { type: 'thread', id: named.thread_id })
        .catch(() => undefined)
      const thread = await waiting(deps, caller, named)
      if (thread === undefined) return
      if (begins && isLeft(thread)) await comeBack(deps, caller, named)
      const { deadline = Infinity } = thread
      round.endIn(Math.min(lookAgainMs(wait), Math.min(until, deadline) - deps.store.now()))
      await woken
    } finally {
      round.end()
    }
  }
}

const lookAgainMs = (wait: Wait): number =>
  Math.max(LOOK_AGAIN_MS, (wait.waiting() / LOOKS_PER_SECOND) * 1_000)

/** The thread, while it waits and time alone has not ended it. */
async function waiting(deps: Deps, caller: Caller, named: Named): Promise<Thread | undefined> {
  await keyInForce(deps, caller)
  const { value: thread } = await storeCall(() => ownThread(deps, caller, named))
  const freezes = await storeCall(() => freezesNow(deps, caller.tenant))
  if (frozenMessage(freezes, thread) !== undefined) return undefined
  if ((await storeCall(() => filledNow(deps, thread, freezes))) !== undefined) return undefined
  const now = deps.store.now()
  const isOver = now >= (thread.deadline ?? Infinity) || isAbandoned(thread, now)
  return thread.status === 'pending_review' && !isOver ? thread : undefined
}

/**
 * A signal that aborts with `parent`, after the time passed to `endIn`, or on a call of `end`. AbortSignal.any with
 * AbortSignal.timeout does not work here. Node garbage-collects a timeout that only such a signal references, and the
 * wait would never end.
 */
function within(parent: AbortSignal): { readonly signal: AbortSignal; endIn(ms: number): void; end(): void } {
  const controller = new AbortController()
  const abort = (): void => controller.abort()
  let timer: NodeJS.Timeout | undefined
  parent.addEventListener('abort', abort, { once: true })
  if (parent.aborted) abort()
  return {
    signal: controller.signal,
    endIn(ms) {
      timer = setTimeout(abort, ms)
    },
    end() {
      clearTimeout(timer)
      parent.removeEventListener('abort', abort)
      abort()
    },
  }
}

interface Reading {
  readonly entry: AgentEntry | undefined
  readonly reader: Reader
  readonly freezes: KnownFreezes
}

/** Judges an approval again before returning it. When the approval is no longer valid, the thread ends. */
async function approvedRead(
  deps: Deps,
  caller: Caller,
  thread: Versioned<Thread>,
  { entry, reader, freezes }: Reading,
): Promise<Plan<Decision>> {
  const { value } = thread
  deps.origin?.span?.goesOn(traceOf(value))
  const { guards, epoch, ended } = await judgeAgain(deps, caller, { thread, freezes })
  if (ended) return ended
  if (value.approval?.collected_at !== undefined)
    return { answer: decisionOn(value, deps.store.now()), guards, confirmed: true }
  // a paused or slow gateway learns of the disconnect only now
  refuseGone(reader)
  const plan =
    entry?.signedApprovals === false
      ? collect(deps, value, epoch)
      : mint(deps, caller, value, { entry, epoch })
  return {
    ...plan,
    guards: [...guards, ...(plan.guards ?? [])],
    ...beforeDeadline(value),
  }
}

/** Records the first read of an unsigned approval, which needs no proof. */
function collect(deps: Deps, thread: Thread, epoch: string): Plan<Decision> {
  const collected_at = deps.store.now()
  const approval = { ...thread.approval, at: thread.approval?.at ?? collected_at, epoch, collected_at }
  const evidence = [
    record(deps.store.now(), agentNamed(thread.agent), thread, {
      type: 'approval.collected',
      details: { signed: false },
    }),
  ]
  const written = writeThread(thread, moved(thread, 'collect', { approval }), { at: collected_at, evidence })
  return {
    answer: decisionOn(written.thread, collected_at),
    writes: [...written.writes, ...expectingThread(deps, thread, collected_at)],
    evidence,
  }
}

interface Minting {
  readonly entry: AgentEntry | undefined
  readonly epoch: string
}

function mint(deps: Deps, caller: Caller, thread: Thread, { entry, epoch }: Minting): Plan<Decision> {
  const now = deps.store.now()
  const expires_at = now + (entry?.tokenTtlMs ?? LIMITS.TOKEN_TTL_MS)
  const { answer, known, ...drawn } = drawProof(deps, caller, thread, { expires_at, epoch })
  const { at = now, seated, rules } = thread.approval ?? {}
  const approval = { at, epoch, collected_at: now, ...known, ...defined({ seated, rules }) }
  const details = { token_hash: known.token_hash, expires_at: isoTime(expires_at) }
  const evidence = [
    record(deps.store.now(), agentNamed(thread.agent), thread, { type: 'token.minted', details }),
  ]
  const written = writeThread(thread, moved(thread, 'collect', { approval }), { at: now, evidence })
  return {
    answer: { ...answer, ...decisionOn(written.thread, now) },
    guards: drawn.guards,
    writes: [...written.writes, ...drawn.writes],
    evidence,
  }
}
