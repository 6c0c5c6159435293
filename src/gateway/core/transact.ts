import { GatewayError } from '../../contract/errors.ts'
import { KEY_NAME_CHARS } from '../../domain/evidence.ts'
import { leafHash } from '../../domain/digest.ts'
import type { Commit, CommitResult, Guard, Write } from '../../store/store.ts'
import { StoreIndeterminate, StoreUnavailable, TilesUnavailable } from '../../store/store.ts'
import { chargeBytes, refuseOverBudget, scheduleChecks } from './budgets.ts'
import { type ProofGuard, unauthenticated } from './caller.ts'
import type { Deps, Enqueued } from './deps.ts'
import { discloseRecord, type EvidenceRecord } from './event-record.ts'
import { publicReason } from './write-refusal.ts'
import type { MakeNotice } from './notice.ts'

/** The effects of one attempt of a verb, applied as a whole or not at all. */
export interface Plan<T> {
  readonly answer: T
  /** The answer repeats the earlier answer to the same request with the same key. */
  readonly replayed?: boolean
  readonly guards?: readonly Guard[]
  readonly writes?: readonly Write[]
  readonly evidence?: readonly EvidenceRecord[]
  /** Events for the destinations of webhooks, in the same commit. */
  readonly notices?: readonly MakeNotice[]
  /**
   * Confirms the answer, because the caller may act on it. The commit takes place even without writes, so that the read
   * is as durable as a write.
   */
  readonly confirmed?: boolean
  /**
   * True when the commit's size counts toward the bytes per day of the first record's actor
   * (src/gateway/core/budgets.ts). Set for acts that agents and reviewers can repeat without limit.
   */
  readonly counted?: boolean
  /** The commit lands before this time (ms since 1970) or not at all. After this time, the verb decides again. */
  readonly before?: number
  /** Called when the commit is durable, or immediately when there is nothing to commit. */
  readonly landed?: () => void
}

export interface Committed<T> {
  readonly answer: T
  readonly replayed?: boolean
  /** Number and leaf hash of the first evidence record: the caller's receipt. */
  readonly receipt?: Receipt
}

export interface Receipt {
  readonly number: number
  readonly leaf: string
}

const ATTEMPTS = 32
const RETRY_AFTER_SECONDS = 1
/** A person brings tiles back. */
const TILES_RETRY_SECONDS = 60

/**
 * Maximum time from the start of an attempt to its commit. A process that was paused must not write outdated
 * records after newer ones. The replay of evidence relies on this bound (src/evidence/replay.ts).
 */
const LONGEST_ATTEMPT_MS = 60_000

/**
 * Optimistic atomic commit (docs/store.md). `attempt` reads and decides; the store applies its plan, or names the
 * failed guards. After a failure, the verb runs again with the failed guards. An answer is returned only once it is
 * durable.
 *
 * @throws GatewayError `store_unavailable` (not executed), `outcome_unknown` (may have been executed),
 * `unauthenticated` (the key was revoked)
 */
export async function transact<T>(
  deps: Deps,
  tenant: string,
  attempt: (failed: readonly Guard[]) => Promise<Plan<T>>,
): Promise<Committed<T>> {
  let failed: readonly Guard[] = []
  try {
    for (let i = 0; i < ATTEMPTS; i++) {
      const begun = deps.store.now()
      const result = await apply(deps, tenant, await attempt(failed), begun)
      if ('answer' in result) return result
      failed = result.failed
    }
  } catch (error) {
    throw refusalFor(error)
  }
  throw new GatewayError('store_unavailable', 'too many other requests changed the same records', {
    retryAfter: RETRY_AFTER_SECONDS,
  })
}

/**
 * True when reads may see a commit before it is durable, because replicas confirm a commit after it becomes visible. A
 * store that syncs first, or makes no promise, remains readable while writes fail.
 */
export const isReadAhead = ({ store }: Deps): boolean => store.durability === 'replicated'

/**
 * Reads a state that must survive a failover, such as the absence of a deleted key, or a proof kept outside the store.
 * A failover could undo an unconfirmed state.
 *
 * @param needsConfirmation whether the caller reports the result. An empty result of a tenant without evidence needs no
 * confirmation.
 * @throws GatewayError `store_unavailable`, `outcome_unknown`
 */
export async function readConfirmed<T>(
  deps: Deps,
  tenant: string,
  reading: () => Promise<readonly T[]>,
  needsConfirmation: (found: readonly T[]) => boolean = () => true,
): Promise<readonly T[]> {
  if (!isReadAhead(deps)) return storeCall(reading)
  const { answer } = await transact(deps, tenant, async () => {
    const epoch = await deps.store.epoch(tenant)
    const found = await reading()
    const confirmed = needsConfirmation(found) && !(isNothing(found) && (await hasNoEvidence(deps, tenant)))
    return { answer: found, guards: [{ epoch }], confirmed }
  })
  return answer
}

async function hasNoEvidence({ store }: Deps, tenant: string): Promise<boolean> {
  return isNothing(await store.events(tenant, (await store.firstEvent(tenant)) - 1, 1))
}

/** Serves as `needsConfirmation` of a verb that ends something: true when nothing is left to end. */
export const isNothing = (found: readonly unknown[]): boolean => found.length === 0

/** The result of an attempt whose guards failed in the meantime. The verb must decide again. */
interface Outdated {
  readonly failed: readonly Guard[]
}

/** True when the plan has nothing to write and nothing to confirm. */
function isIdle({ writes = [], evidence = [], confirmed = false }: Plan<unknown>): boolean {
  return writes.length === 0 && evidence.length === 0 && !confirmed
}

function atOnce<T>(plan: Plan<T>): Committed<T> {
  plan.landed?.()
  return answerOf(plan)
}

function answerOf<T>({ answer, replayed = false }: Plan<T>, receipt?: Receipt): Committed<T> {
  return { answer, ...(replayed ? { replayed } : {}), ...(receipt ? { receipt } : {}) }
}

interface Composed {
  readonly commit: Commit
  /** Called when the commit is durable. */
  readonly charged?: (() => void) | undefined
}

function commitOf<T>(
  deps: Deps,
  plan: Plan<T>,
  { tenant, outbox, begun }: { readonly tenant: string; readonly outbox: Enqueued; readonly begun: number },
): Composed {
  const { evidence = [], before = Infinity, counted = false } = plan
  const guards = [...(plan.guards ?? []), ...outbox.guards]
  const writes = [...(plan.writes ?? []), ...outbox.writes]
  const key = keyNameIn(guards)
  const records = evidence.map((record) => discloseRecord(record, (bytes) => deps.random(bytes), key))
  const events = records.map(({ body }) => body)
  const disclosures = records.map((one) => one.disclosures)
  const actor = evidence[0]?.actor
  if (counted && actor !== undefined) chargeBytes(deps, { guards, writes, events, disclosures }, begun, actor)
  const charged = scheduleChecks(deps, tenant, writes)
  const deadline = Math.min(deps.store.now() + deps.storeDeadlineMs, begun + LONGEST_ATTEMPT_MS, before - 1)
  return { commit: { commitId: deps.nextCommitId(), deadline, guards, writes, events, disclosures }, charged }
}

/** The name of the key that proves the caller; undefined for a session and for a timer. */
function keyNameIn(guards: readonly Guard[]): string | undefined {
  const proof = guards.find(isProof)
  return proof?.type === 'key' ? proof.id.slice(0, KEY_NAME_CHARS) : undefined
}

const isProof = (guard: Guard): guard is ProofGuard => 'proof' in guard

/** Applies one plan. */
async function apply<T>(
  deps: Deps,
  tenant: string,
  plan: Plan<T>,
  begun: number,
): Promise<Committed<T> | Outdated> {
  if (isIdle(plan)) return atOnce(plan)
  const { notices = [], before = Infinity } = plan
  const outbox = await deps.enqueue(deps, tenant, notices)
  try {
    const { commit, charged } = commitOf(deps, plan, { tenant, outbox, begun })
    const result = await send(deps, tenant, commit)
    if (!result.ok)
      return { failed: await failedGuards(deps, tenant, { guards: commit.guards, before }, result) }
    charged?.()
    if (outbox.writes.length > 0) deps.enqueued(tenant)
    return whenLanded(deps, plan, receiptOf(result.numbers[0], commit.events[0]))
  } finally {
    outbox.leave?.()
  }
}

function whenLanded<T>(deps: Deps, plan: Plan<T>, receipt: Receipt | undefined): Committed<T> {
  plan.landed?.()
  for (const record of plan.evidence ?? []) deps.observe({ kind: 'evidence', record, origin: deps.origin })
  return answerOf(plan, receipt)
}

/** Gives the commit to the store, and observes its time and its result. */
async function send(deps: Deps, tenant: string, commit: Commit): Promise<CommitResult> {
  const { commitId } = commit
  const start = performance.now()
  try {
    const result = await deps.store.commit(tenant, commit)
    deps.observe({ kind: 'commit', tenant, commitId, seconds: (performance.now() - start) / 1000, result })
    return result
  } catch (error) {
    deps.observe({ kind: 'commit', tenant, commitId, seconds: (performance.now() - start) / 1000, error })
    throw error
  }
}

/** The error for both causes of a late commit, which the gateway cannot distinguish. */
const TOO_LATE =
  'the commit was too late: the store is slow, or its clock is behind the last write of this tenant (`countersign doctor` compares them)'

/** Returns the failed guards when a new attempt makes sense; throws otherwise. */
async function failedGuards(
  deps: Deps,
  tenant: string,
  { guards, before }: Pick<Commit, 'guards'> & { readonly before: number },
  result: CommitResult & { readonly ok: false },
): Promise<readonly Guard[]> {
  if (result.reason === 'late') {
    if (deps.store.now() < before) throw storeUnavailable(new StoreUnavailable(TOO_LATE))
    return []
  }
  const positions = new Set(result.failed)
  const failed = guards.filter((_, i) => positions.has(i))
  if (failed.some((guard) => 'type' in guard && guard.type === 'destinations'))
    deps.destinations.delete(tenant)
  if (failed.some((guard) => 'type' in guard && guard.type === 'freezes')) deps.freezes.delete(tenant)
  if (failed.some((guard) => 'epoch' in guard)) deps.epochs.delete(tenant)
  await refuseDeadKeys(deps, tenant, failed)
  refuseOverBudget(deps, failed)
  return failed
}

function receiptOf(number: number | undefined, event: string | undefined): Receipt | undefined {
  return number === undefined || event === undefined ? undefined : { number, leaf: leafHash(event) }
}

async function refuseDeadKeys(deps: Deps, tenant: string, guards: readonly Guard[]): Promise<void> {
  const key = guards.find(isProof)
  if (key === undefined) return
  forgetKey(deps, key.id)
  const record = await storeCall(() => deps.store.get(tenant, key.type, key.id))
  if (record?.revision !== key.revision || (key.commitId ?? record.commitId) !== record.commitId)
    throw unauthenticated()
}

export function forgetKey(deps: Deps, keyHash: string): void {
  for (const [credential, caller] of deps.keys) if (caller.keyHash === keyHash) deps.keys.delete(credential)
}

/** Runs reads outside of `transact`. @throws GatewayError as `transact` does */
export async function storeCall<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw refusalFor(error)
  }
}

/**
 * True when the store is unreachable. The timer reports an unreachable store once, so other reports of the error are
 * unnecessary.
 */
export const isStoreAway = (error: unknown): boolean =>
  (error instanceof StoreUnavailable && !(error instanceof TilesUnavailable)) ||
  (error instanceof GatewayError && error.code === 'store_unavailable')

/** Maps the failures of the store and its tiles to their error codes. All other errors are returned unchanged. */
function refusalFor(error: unknown): unknown {
  if (error instanceof TilesUnavailable)
    return new GatewayError('tiles_unavailable', error.message, {
      retryAfter: TILES_RETRY_SECONDS,
      cause: error,
    })
  if (error instanceof StoreUnavailable) return storeUnavailable(error)
  if (!(error instanceof StoreIndeterminate)) return error
  return new GatewayError('outcome_unknown', 'the store did not confirm in time; do not execute', {
    retryAfter: RETRY_AFTER_SECONDS,
    cause: error,
  })
}

function storeUnavailable(cause?: unknown): GatewayError {
  const why = publicReason(cause)
  const said = why === undefined ? 'the store cannot answer now' : `the store refuses writes: ${why}`
  return new GatewayError('store_unavailable', `${said}; nothing was changed`, {
    retryAfter: RETRY_AFTER_SECONDS,
    cause,
  })
}
