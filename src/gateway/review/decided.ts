import { type JsonObject, type JsonValue, pointerStep } from '../../contract/json.ts'
import { canonicalJson } from '../../domain/digest.ts'
import type { Thread } from '../../domain/thread.ts'
import { payloadName } from '../../policy/language/fields.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { INDEX } from '../core/indexes.ts'
import { read, revisionId } from '../core/records.ts'
import { readableThreads } from '../thread/thread-records.ts'
import { shownPayload } from './show-payload.ts'

/** Decided calls of the tool that are looked at. */
const MOST = 200
const CHUNK = 50

/** Other decided calls of the tool that fit, latest first. */
export async function decidedBefore(
  deps: Deps,
  { tenant, tool, thread_id }: Thread,
  fits: (thread: Thread) => boolean,
  most: number,
): Promise<Thread[]> {
  const bounds = { reverse: true, limit: MOST }
  const entries = await deps.store.range(tenant, INDEX.decided(tool), bounds)
  const ids = entries.map(({ member }) => member).filter((id) => id !== thread_id)
  const found: Thread[] = []
  for (let at = 0; at < ids.length && found.length < most; at += CHUNK)
    found.push(...(await readableThreads(deps, tenant, ids.slice(at, at + CHUNK))).filter(fits))
  return found.slice(0, most)
}

/** A call as the caller may compare it with others. */
export interface Comparable {
  readonly payload: JsonObject
  /** JSON Pointers to the hidden values, of which the caller may not even learn that they are equal. */
  readonly masked: readonly string[]
}

/** The current revision of a call, without the files of a command, whose bytes may differ in equal commands. */
export async function comparable(
  deps: Deps,
  caller: Caller,
  thread: Thread,
): Promise<Comparable | undefined> {
  const { tenant, thread_id, revision } = thread
  const record = await read(deps.store, tenant, 'revision', revisionId(thread_id, revision))
  if (record === undefined) return undefined
  const { payload, masked } = shownPayload(deps, caller, thread, record.value)
  const { files: _, ...rest } = payload as JsonObject
  return { payload: 'command' in rest ? rest : (payload as JsonObject), masked }
}

/** Values in which nearly equal calls differ. */
const FEW = 2

/**
 * The names of the values in which two calls differ: none for equal calls, and undefined for calls that are not nearly
 * equal. Nearly equal calls differ in one or two values, and have as many in common. Hidden values are not compared.
 */
export function nearlyEqual(before: Comparable, now: Comparable): string[] | undefined {
  const hidden = new Set([...before.masked, ...now.masked])
  const [old, current] = [before, now].map(({ payload }) => leavesOf(payload, [], hidden)) as [Leaves, Leaves]
  const names = [...new Set([...old.keys(), ...current.keys()])]
  const differing = names.filter((name) => old.get(name) !== current.get(name))
  const isNear = differing.length <= FEW && differing.length <= names.length - differing.length
  return isNear && names.length > 0 ? differing : undefined
}

type Leaves = Map<string, string>

/** Canonical texts of texts, numbers and the like, and of empty containers, by name. */
export function leavesOf(
  value: JsonValue,
  at: readonly (string | number)[],
  hidden: ReadonlySet<string>,
  found: Leaves = new Map(),
): Leaves {
  if (hidden.has(at.map(pointerStep).join(''))) return found
  const inside = value !== null && typeof value === 'object' ? Object.entries(value as JsonObject) : []
  if (inside.length === 0) return found.set(payloadName(at), canonicalJson(value))
  for (const [name, one] of inside)
    leavesOf(one, [...at, Array.isArray(value) ? Number(name) : name], hidden, found)
  return found
}
