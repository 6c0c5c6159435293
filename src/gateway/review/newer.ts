import { defined } from '../../contract/defined.ts'
import type { Precedents } from '../../contract/precedents.ts'
import { isUsed, type Thread } from '../../domain/thread.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime } from '../core/event-record.ts'
import { comparable, type Comparable, decidedBefore, leavesOf } from './decided.ts'

/** Newer calls of the tool that are compared. */
const MOST = 10

/**
 * The latest newer call of the tool that ran for the same subject, such as another version of one service. Its leading
 * values are equal, in the order of the heading and then of the contract, and one of them is text.
 */
export async function newerThatRan(
  deps: Deps,
  caller: Caller,
  thread: Thread,
): Promise<Precedents['newer'] | undefined> {
  const isNewer = ({ created_at, approval }: Thread): boolean =>
    created_at > thread.created_at && approval !== undefined && isUsed(approval)
  const found = await decidedBefore(deps, thread, isNewer, MOST)
  const now = found.length === 0 ? undefined : await comparable(deps, caller, thread)
  if (now === undefined) return undefined
  const order = fieldsOf(deps, thread)
  for (const one of found) {
    const other = await comparable(deps, caller, one)
    const differs = other && firstDifference(now, other, order)
    if (differs === undefined) continue
    const { redeemed_at, collected_at = one.created_at } = one.approval ?? {}
    const at = isoTime(redeemed_at ?? collected_at)
    return { thread_id: one.thread_id, agent: one.agent, at, ...differs }
  }
  return undefined
}

function fieldsOf(deps: Deps, { tool, heading }: Thread): string[] {
  const { properties = {} } = deps.policies.current()?.tools.get(tool)?.inputSchema ?? {}
  return [
    ...heading.segments.flatMap(({ field }) => field ?? []),
    ...Object.keys(properties as object).map((name) => `payload.${name}`),
  ]
}

/** The first value that differs after equal leading ones; undefined when the calls concern different subjects. */
function firstDifference(now: Comparable, other: Comparable, order: readonly string[]) {
  const hidden = new Set([...now.masked, ...other.masked])
  const mine = leavesOf(now.payload, [], hidden)
  const theirs = leavesOf(other.payload, [], hidden)
  const rank = (name: string): number => {
    const at = order.findIndex((field) => name === field || /^[.[]/.test(name.replace(field, '')))
    return at === -1 ? order.length : at
  }
  const names = [...new Set([...mine.keys(), ...theirs.keys()])].sort((a, b) => rank(a) - rank(b))
  const at = names.findIndex((name) => mine.get(name) !== theirs.get(name))
  const leading = at === -1 ? names : names.slice(0, at)
  const begins = leading[0] !== undefined && rank(leading[0]) === 0
  if (!begins || !leading.some((name) => mine.get(name)?.startsWith('"'))) return undefined
  const field = names[at]
  const value = field === undefined ? undefined : theirs.get(field)
  return defined({ field, value: value?.replaceAll(/^"|"$/g, '').slice(0, VALUE_CHARS) })
}

const VALUE_CHARS = 200
