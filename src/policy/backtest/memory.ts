import { amountIn, charged, type LimitWindow } from '../../domain/limit-window.ts'
import type { History, LimitUse, Snapshot, ToolContract } from '../language/snapshot.ts'
import { remember } from '../language/remember.ts'

const AGENT_WINDOW_MS = 24 * 3_600_000
/** The charge for an unknown amount. */
const ANY_AMOUNT = Number.MAX_SAFE_INTEGER

/** The calls that certainly or possibly ran before a moment, in a replay under one bundle. */
export interface Memory {
  history(
    who: Who,
    at: number,
  ): { readonly history: History; readonly isVague: { task: boolean; agent: boolean } }
  /** Returns the smallest and the largest total that may be charged to a counter. */
  used(
    use: Pick<LimitUse, 'id' | 'limit' | 'windowMs'>,
    at: number,
  ): { readonly least: number; readonly most: number }
  note(who: Who, at: number, sure: boolean): void
  charge(uses: readonly LimitUse[], at: number, sure: boolean): void
  /** Charges an unknown amount to an unknown counter of the limit. */
  chargeVaguely(id: string, windowMs: number, at: number): void
  release(uses: readonly LimitUse[], chargedAt: number, at: number): void
}

export interface Who {
  readonly tenant: string
  readonly agent: string
  readonly task: string
  readonly tool: string
}

export function createMemory(snapshot: Snapshot): Memory {
  const sure = createNotes(snapshot)
  const vague = createNotes(snapshot)
  const windows = new Map<string, LimitWindow | undefined>()
  const perhaps = new Map<string, LimitWindow | undefined>()
  const add = (
    counters: Map<string, LimitWindow | undefined>,
    name: string,
    { windowMs, at, amount, now }: { windowMs: number; at: number; amount: number; now: number },
  ): void => void counters.set(name, charged(counters.get(name), { windowMs, at, amount }, now))

  return {
    history(who, at) {
      const history = sure.of(who, at)
      const also = vague.of(who, at)
      return {
        history,
        isVague: {
          task: also.taskTools.some((tool) => !history.taskTools.includes(tool)),
          agent: also.agentTools.some((tool) => !history.agentTools.includes(tool)),
        },
      }
    },
    used({ id, limit, windowMs }, at) {
      const least = amountIn(windows.get(limit), windowMs, at)
      const most =
        least + amountIn(perhaps.get(limit), windowMs, at) + amountIn(perhaps.get(someOf(id)), windowMs, at)
      return { least, most }
    },
    note(who, at, isSure) {
      ;(isSure ? sure : vague).add(who, at)
    },
    charge(uses, at, isSure) {
      for (const { limit, windowMs, amount } of uses)
        add(isSure ? windows : perhaps, limit, { windowMs, at, amount, now: at })
    },
    chargeVaguely(id, windowMs, at) {
      add(perhaps, someOf(id), { windowMs, at, amount: ANY_AMOUNT, now: at })
    },
    release(uses, chargedAt, at) {
      for (const { limit, windowMs, amount } of uses)
        add(windows, limit, { windowMs, at: chargedAt, amount: -amount, now: at })
    },
  }
}

/** Returns a counter name that no call uses, for charges to an unknown counter. */
const someOf = (id: string): string => `${id} *`

interface Notes {
  add(who: Who, at: number): void
  of(who: Who, at: number): History
}

/**
 * Records the tools used: without expiry for each task, and for a day for each agent. Labels come from the contracts.
 */
function createNotes({ tools }: Snapshot): Notes {
  const tasks = new Map<string, Set<string>>()
  const agents = new Map<string, Map<string, number>>()
  const taskOf = ({ tenant, agent, task }: Who): string => JSON.stringify([tenant, agent, task])
  const agentOf = ({ tenant, agent }: Who): string => JSON.stringify([tenant, agent])
  return {
    add(who, at) {
      remember(tasks, taskOf(who), () => new Set()).add(who.tool)
      remember(agents, agentOf(who), () => new Map()).set(who.tool, at)
    },
    of(who, at) {
      const taskTools = [...(tasks.get(taskOf(who)) ?? [])].sort()
      const recent = [...(agents.get(agentOf(who)) ?? [])].filter(([, last]) => at - last <= AGENT_WINDOW_MS)
      const agentTools = recent.map(([tool]) => tool).sort()
      return {
        taskTools,
        taskLabels: labelsOf(taskTools, tools),
        agentTools,
        agentLabels: labelsOf(agentTools, tools),
      }
    },
  }
}

function labelsOf(used: readonly string[], tools: ReadonlyMap<string, ToolContract>): readonly string[] {
  return [...new Set(used.flatMap((tool) => tools.get(tool)?.labels ?? []))].sort()
}
