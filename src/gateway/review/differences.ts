import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ThreadSummary } from '../../contract/reviewer.ts'
import { canonicalJson } from '../../domain/digest.ts'
import { reasonValue } from '../../domain/because.ts'
import type { JsonValue } from '../../contract/json.ts'
import { fromDifference } from '../../domain/shorten.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { comparable, leavesOf } from './decided.ts'

/** Calls of one page whose payloads are compared, and values of each. */
const MOST = 25
const VALUES = 200

/** The rows. Those that look alike name the first value in which most of them differ. */
export async function withDifferences(
  deps: Deps,
  caller: Caller,
  rows: readonly ThreadSummary[],
  known: ReadonlyMap<string, Thread>,
): Promise<ThreadSummary[]> {
  const groups = new Map<string, ThreadSummary[]>()
  for (const row of rows) {
    if (row.alike === undefined) continue
    const key = canonicalJson([row.alike, row.heading.line, { ...row.because }])
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  const found = new Map<string, ThreadSummary['differs']>()
  let left = MOST
  for (const group of groups.values()) {
    const differ = new Set(group.map(({ equal, thread_id }) => equal ?? thread_id)).size > 1
    if (!differ) continue
    const some = group.slice(0, left).flatMap(({ thread_id }) => known.get(thread_id) ?? [])
    left -= some.length
    for (const [id, value] of await differencesIn(deps, caller, some)) found.set(id, value)
  }
  return rows.map((row) => {
    const differs = found.get(row.thread_id)
    return differs ? { ...row, differs } : row
  })
}

async function differencesIn(deps: Deps, caller: Caller, threads: readonly Thread[]) {
  const calls: { readonly id: string; readonly leaves: ReadonlyMap<string, string> }[] = []
  for (const thread of threads) {
    const call = await comparable(deps, caller, thread)
    await nextTurn()
    if (call) calls.push({ id: thread.thread_id, leaves: leavesOf(call.payload, [], new Set(call.masked)) })
  }
  const count = (name: string): number => new Set(calls.map(({ leaves }) => leaves.get(name))).size
  const names = [...new Set(calls.flatMap(({ leaves }) => [...leaves.keys()]))].slice(0, VALUES)
  const field = names.reduce<string | undefined>(
    (best, name) => (count(name) > (best === undefined ? 1 : count(best)) ? name : best),
    undefined,
  )
  if (field === undefined) return []
  const values = calls.map(({ leaves }) => JSON.parse(leaves.get(field) ?? 'null') as JsonValue)
  return calls.map(({ id, leaves }, i) => {
    const [value = null, other = null] = [values[i], values[i === 0 ? 1 : 0]]
    const texts = typeof value === 'string' && typeof other === 'string'
    const shown = reasonValue(texts ? fromDifference(value, other) : value)
    return [id, leaves.has(field) ? { field, value: shown } : { field, state: 'missing' as const }] as const
  })
}
