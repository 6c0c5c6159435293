import { createHmac } from 'node:crypto'
import type { OutcomeList, OutcomeReport, OutcomesQuery, RecordedOutcome } from '../../contract/agent.ts'
import { defined } from '../../contract/defined.ts'
import { GatewayError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import { canonicalJson } from '../../domain/digest.ts'
import { agentNamed } from '../../domain/evidence.ts'
import type { Ended } from '../../domain/outcome.ts'
import { isUsed, type Thread } from '../../domain/thread.ts'
import type { Guard, Write } from '../../store/store.ts'
import { keyInForce } from '../auth/identify.ts'
import { standingOf } from '../auth/standing.ts'
import { refuseWithoutRoom } from '../core/budgets.ts'
import { type Caller, keyGuard } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { aboutThread, type EvidenceRecord, isoTime, record } from '../core/event-record.ts'
import { neverPurge } from '../core/expiry-index.ts'
import { INDEX } from '../core/indexes.ts'
import { keepsWords } from '../core/kept-words.ts'
import { put, read, unchanged } from '../core/records.ts'
import { type Committed, type Plan, storeCall, transact } from '../core/transact.ts'
import { writeThread } from '../thread/thread-records.ts'
import { keptBy } from './decision-record.ts'
import { allowsOf, callId } from './expected.ts'
import { notFound, ownThread } from './own-thread.ts'

/** A call that was allowed, with its recorded outcomes. */
interface Entry {
  readonly about: Parameters<typeof record>[2]
  readonly guard: Guard
  readonly ended: readonly Ended[]
  /** The numbers of the records that allowed the call, in order. */
  readonly allows: readonly number[]
  readonly writes: (
    ended: readonly Ended[],
    at: number,
    evidence: readonly EvidenceRecord[],
  ) => readonly Write[]
}

/**
 * Records how a call ended (docs/agent-api.md). Where the gateway has an entry, the outcome belongs to the record that
 * allowed the call. Otherwise it is recorded as `unmatched`.
 *
 * @throws GatewayError `not_found` for more outcomes than allows, `outcome_recorded`, `unauthenticated`,
 * `store_unavailable`, `outcome_unknown`
 */
export async function endCall(
  deps: Deps,
  caller: Caller,
  taskId: string,
  report: OutcomeReport,
): Promise<Committed<RecordedOutcome>> {
  standingOf(deps, caller)
  const { action_hash, thread_id, run = '1', outcome, duration_ms, reference } = report
  const said = canonicalJson(defined({ outcome, duration_ms, reference }) as JsonValue)
  const content = createHmac('sha256', deps.commitmentSecret).update(said).digest('base64url')
  return transact(deps, caller.tenant, async () => {
    const entry = await entryOf(deps, caller, { taskId, action_hash, thread_id })
    const guards = [keyGuard(caller), ...(entry === undefined ? [] : [entry.guard])]
    const before = entry?.ended.find((one) => one.run === run)
    if (entry !== undefined && before !== undefined) {
      if (before.content !== content)
        throw new GatewayError('outcome_recorded', `another outcome of run \`${run}\` was recorded before`)
      return { answer: answerOf(entry, action_hash, before), guards, replayed: true, confirmed: true }
    }
    const at = deps.store.now()
    const of = allowOf(deps, entry)
    const ended: Ended = { run, outcome, content, at, of: of ?? 0, ...defined({ duration_ms }) }
    const evidence = [recordOf(deps, caller, { entry, taskId, report }, ended)]
    return {
      answer: answerOf(entry, action_hash, ended, taskId),
      guards,
      writes: entry?.writes([...entry.ended, ended], at, evidence) ?? [],
      evidence,
      counted: true,
    } satisfies Plan<RecordedOutcome>
  })
}

/** The record whose outcome is not known yet; undefined without an entry. @throws GatewayError `not_found` */
function allowOf(deps: Deps, entry: Entry | undefined): number | undefined {
  if (entry === undefined) {
    refuseWithoutRoom(deps)
    return undefined
  }
  const of = entry.allows.find((number) => entry.ended.every((one) => one.of !== number))
  if (of === undefined) throw notFound()
  return of
}

interface Ending {
  readonly entry: Entry | undefined
  readonly taskId: string
  readonly report: OutcomeReport
}

function recordOf(
  deps: Deps,
  caller: Caller,
  { entry, taskId, report: { action_hash, reference, duration_ms } }: Ending,
  { at, of, outcome, run }: Ended,
): EvidenceRecord<'call.ended'> {
  const words = keepsWords(deps, 'agent_words')
  const hash = entry === undefined ? words : keepsHash(deps, entry.about.tool)
  const about = entry?.about ?? { tenant: caller.tenant, task_id: taskId }
  return record(at, agentNamed(caller.id), about, {
    type: 'call.ended',
    details: { outcome, duration_ms, run, ...(entry === undefined ? { unmatched: true } : { of }) },
    disclosed: { action_hash: hash ? action_hash : undefined, reference: words ? reference : undefined },
  })
}

/** The outcomes of a call that the gateway knows, and how many it expects. @throws GatewayError `not_found` */
export async function outcomesOf(
  deps: Deps,
  caller: Caller,
  taskId: string,
  { action_hash, thread_id }: OutcomesQuery,
): Promise<OutcomeList> {
  standingOf(deps, caller)
  await keyInForce(deps, caller)
  const entry = await storeCall(() => entryOf(deps, caller, { taskId, action_hash, thread_id }))
  if (entry === undefined) return { action_hash, allowed: 0, outcomes: [] }
  const outcomes = entry.ended.map((one) => answerOf(entry, action_hash, one))
  return { action_hash, allowed: entry.allows.length, outcomes }
}

function answerOf(entry: Entry | undefined, action_hash: string, ended: Ended, taskId = ''): RecordedOutcome {
  const { run, outcome, duration_ms, at, of } = ended
  const { task_id = taskId, thread_id } = entry?.about ?? {}
  const told = defined({ thread_id, duration_ms, allowed_by: of === 0 ? undefined : of })
  return { task_id, action_hash, run, outcome, recorded_at: isoTime(at), ...told }
}

/** A hash would let its reader test guesses of a value that evidence does not keep. */
function keepsHash({ policies }: Deps, tool: string | undefined): boolean {
  const { sensitive, lowered } = keptBy(tool === undefined ? undefined : policies.current()?.tools.get(tool))
  return !sensitive && !lowered
}

interface Named {
  readonly taskId: string
  readonly action_hash: string
  readonly thread_id: string | undefined
}

/** @throws GatewayError `not_found` for a thread of another call */
async function entryOf(deps: Deps, caller: Caller, named: Named): Promise<Entry | undefined> {
  const { store } = deps
  const { taskId: task_id, action_hash, thread_id } = named
  const { tenant, id: agent } = caller
  if (thread_id !== undefined) {
    const thread = await ownThread(deps, caller, { thread_id, task_id })
    if (thread.value.action_hash !== action_hash) throw notFound()
    return threadEntry(deps, thread.value, unchanged('thread', thread_id, thread))
  }
  const id = callId(agent, task_id, action_hash)
  const call = await read(store, tenant, 'call', id)
  if (call === undefined) return undefined
  const marks = await store.range(tenant, allowsOf(id), { limit: MOST_ALLOWS })
  return {
    about: { tenant, task_id, tool: call.value.tool },
    guard: unchanged('call', id, call),
    ended: call.value.ended,
    allows: marks.map(({ score }) => score),
    writes: (ended) => [
      put('call', id, { ...call.value, ended }),
      ...(ended.length < marks.length ? [] : [{ op: 'index', index: INDEX.unreported, member: id } as const]),
    ],
  }
}

/** Equal calls of a task beyond this number have no outcome. */
const MOST_ALLOWS = 1_000

async function threadEntry(deps: Deps, thread: Thread, guard: Guard): Promise<Entry> {
  const { approval, thread_id: member, ended = [] } = thread
  const known = ended.map(({ of }) => of)
  const mayRun = approval !== undefined && isUsed(approval)
  return {
    about: aboutThread(thread),
    guard,
    ended,
    allows: known.length > 0 ? known : mayRun ? await permissionOf(deps, thread) : [],
    writes: (after, at, evidence) => [
      ...writeThread(thread, { ...thread, ended: after }, { at, evidence }).writes,
      { op: 'index', index: INDEX.unreported, member },
      neverPurge('call', member),
    ],
  }
}

const PERMISSIONS: readonly string[] = [
  'token.redeemed',
  'approval.collected',
] satisfies EvidenceRecord['type'][]

/** The number of the record by which a held call may run, among the last records of its thread. */
async function permissionOf({ store }: Deps, { tenant, thread_id }: Thread): Promise<number[]> {
  const marks = await store.range(tenant, INDEX.evidence(thread_id), { reverse: true, limit: MOST_ALLOWS })
  for (const { score: number } of marks) {
    const [found] = await store.events(tenant, number - 1, 1)
    const { type = '' } = JSON.parse(found?.body ?? '{}') as Partial<EvidenceRecord>
    if (found?.number === number && PERMISSIONS.includes(type)) return [number]
  }
  return []
}
