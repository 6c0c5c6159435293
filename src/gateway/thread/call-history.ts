import type { History, HistoryNeeds, Snapshot, ToolUse } from '../../policy/language/snapshot.ts'
import type { Guard, Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import type { Noted } from '../core/caches.ts'
import { INDEX } from '../core/indexes.ts'

/** A call, without its content: who uses which tool in which task. */
export interface Doer {
  readonly tenant: string
  readonly agent: string
  readonly task: string
  readonly tool: string
}

/** The period that `agent.tools` and `agent.labels` cover (docs/policy-language.md). */
const AGENT_WINDOW_MS = 24 * 3_600_000
/** Shortest time between two history entries of one agent and tool. The margin that extends every such period. */
const REFRESH_MS = 60_000
const MOST_ENTRIES = 10_000
const REMEMBERED_NOTES = 50_000

const TOOL = 't '
const LABEL = 'l '

/** The tool that an entry of the history names; undefined for a label. */
export function toolOf(member: string): string | undefined {
  return member.startsWith(TOOL) ? member.slice(TOOL.length) : undefined
}

/**
 * The earlier calls that the tool's rules read. Labels come from the contracts at the call and from the current
 * contracts. A label added to a tool later therefore counts for earlier calls, too. The result is undefined when the
 * rules read no history.
 */
export async function historyFor(
  deps: Deps,
  { snapshot, use }: Judging,
  doer: Doer,
): Promise<History | undefined> {
  // refuses an agent that may not use the tool without reading history, which takes as long as for an unknown tool
  if (snapshot === undefined || use?.permitted !== true) return undefined
  const needs = snapshot.historyNeeds(doer.tool)
  if (!needs.task && !needs.agent) return undefined
  return readHistory(deps, snapshot, { doer, needs })
}

/** The bundle in force, and what the agent may do with the tool. */
interface Judging {
  readonly snapshot: Snapshot | undefined
  readonly use: ToolUse | undefined
}

async function readHistory(
  deps: Deps,
  snapshot: Snapshot,
  { doer: { tenant, agent, task }, needs }: { readonly doer: Doer; readonly needs: HistoryNeeds },
): Promise<History | undefined> {
  const since = deps.store.now() - AGENT_WINDOW_MS - REFRESH_MS
  const [ofTask, ofAgent] = await Promise.all([
    needs.task ? members(deps, tenant, INDEX.taskHistory(agent, task)) : [],
    needs.agent ? members(deps, tenant, INDEX.agentHistory(agent), since) : [],
  ])
  // A truncated history cannot be checked, so the gateway decides against the agent.
  if (ofTask.length >= MOST_ENTRIES || ofAgent.length >= MOST_ENTRIES) return undefined
  const [taskFacts, agentFacts] = [factsOf(snapshot, ofTask), factsOf(snapshot, ofAgent)]
  return {
    taskTools: taskFacts.tools,
    taskLabels: taskFacts.labels,
    agentTools: agentFacts.tools,
    agentLabels: agentFacts.labels,
  }
}

async function members(
  deps: Deps,
  tenant: string,
  index: string,
  min = Number.NEGATIVE_INFINITY,
): Promise<readonly string[]> {
  const entries = await deps.store.range(tenant, index, { min, limit: MOST_ENTRIES })
  return entries.map(({ member }) => member)
}

function factsOf(
  snapshot: Snapshot,
  noted: readonly string[],
): { readonly tools: readonly string[]; readonly labels: readonly string[] } {
  const tools = noted.filter((one) => one.startsWith(TOOL)).map((one) => one.slice(TOOL.length))
  const then = noted.filter((one) => one.startsWith(LABEL)).map((one) => one.slice(LABEL.length))
  const now = tools.flatMap((tool) => snapshot.tools.get(tool)?.labels ?? [])
  return { tools: tools.sort(), labels: [...new Set([...then, ...now])].sort() }
}

/**
 * Index writes, and the cache update for when the writes are durable. The commit guards no history record, so that
 * calls of one task never conflict.
 */
export interface Noting {
  readonly writes: readonly Write[]
  /** Guards that replace the omitted writes. */
  readonly guards: readonly Guard[]
  readonly landed: () => void
}

/** Reads the epoch, and caches it for the next calls, which guard it. */
export async function epochNow(deps: Deps, tenant: string): Promise<string> {
  const epoch = await deps.store.epoch(tenant)
  deps.epochs.set(tenant, epoch)
  return epoch
}

/**
 * Adds a call to the history that was allowed or approved at `now.at`. Skips a call that was added a moment ago in the
 * same epoch.
 */
export function noteHistory(deps: Deps, snapshot: Snapshot | undefined, doer: Doer, now: Noted): Noting {
  const { tenant, agent, task, tool } = doer
  const labels = snapshot?.tools.get(tool)?.labels ?? []
  const key = JSON.stringify([tenant, agent, task, tool, labels])
  const { at, epoch } = now
  const noted = deps.noted.get(key)
  if (noted?.epoch === epoch && at - noted.at < REFRESH_MS)
    return { writes: [], guards: [{ epoch }], landed: () => {} }
  const marks = [TOOL + tool, ...labels.map((label) => LABEL + label)]
  const writes = [INDEX.taskHistory(agent, task), INDEX.agentHistory(agent)].flatMap((index) =>
    marks.map((member): Write => ({ op: 'index', index, member, to: at })),
  )
  return { writes, guards: [], landed: () => remember(deps, key, now) }
}

function remember(deps: Deps, key: string, now: Noted): void {
  if (deps.noted.size >= REMEMBERED_NOTES) deps.noted.clear()
  deps.noted.set(key, now)
}
