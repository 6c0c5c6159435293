import type { JsonObject, JsonValue } from '../contract/json.ts'
import { type Actor, EVIDENCE_TYPES, EVIDENCE_VERSION, type EvidenceType } from '../domain/evidence.ts'

/** A record of evidence as an export tells it: nothing of it is believed before it was looked at. */
export interface ToldRecord {
  readonly type: EvidenceType
  readonly tenant: string
  /** ms since 1970, by the store's clock. */
  readonly at: number
  readonly actor: Actor
  readonly task?: string
  readonly thread?: string
  readonly revision?: number
  readonly tool?: string
  readonly details: JsonObject
}

const ACTORS: readonly string[] = ['agent', 'reviewer', 'admin', 'gateway']
const TYPES: ReadonlySet<string> = new Set(EVIDENCE_TYPES)
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** @throws BrokenLaw for what no gateway of this version writes */
export function toldRecord(value: JsonValue): ToldRecord {
  const record = objectOf(value, 'the record')
  const { v, type, tenant, at, actor, task_id, thread_id, revision, tool, details = {} } = record
  holds(
    v === EVIDENCE_VERSION,
    `it is of version ${JSON.stringify(v)}, and only ${EVIDENCE_VERSION} is known`,
  )
  holds(typeof type === 'string' && TYPES.has(type), `nothing is known of the type ${JSON.stringify(type)}`)
  const { kind, id, key } = objectOf(actor, 'its actor')
  holds(typeof kind === 'string' && ACTORS.includes(kind), 'nobody is its actor')
  holds(revision === undefined || Number.isSafeInteger(revision), 'its revision is no number')
  return {
    type: type as EvidenceType,
    tenant: textOf(tenant, 'tenant'),
    at: momentOf(at, 'at'),
    actor: {
      kind: kind as Actor['kind'],
      id: textOf(id, 'actor'),
      ...(key === undefined ? {} : { key: textOf(key, 'key') }),
    },
    ...(task_id === undefined ? {} : { task: textOf(task_id, 'task_id') }),
    ...(thread_id === undefined ? {} : { thread: textOf(thread_id, 'thread_id') }),
    ...(revision === undefined ? {} : { revision: revision as number }),
    ...(tool === undefined ? {} : { tool: textOf(tool, 'tool') }),
    details: objectOf(details, 'its details'),
  }
}

/** What cannot have happened, in words. */
export class BrokenLaw extends Error {
  override readonly name = 'BrokenLaw'
}

/** @throws BrokenLaw saying `otherwise` when the condition does not hold */
export function holds(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new BrokenLaw(otherwise)
}

/** @throws BrokenLaw */
export function textOf(value: JsonValue | undefined, name: string): string {
  holds(typeof value === 'string' && value !== '', `its \`${name}\` is no text`)
  return value
}

/** ms since 1970. @throws BrokenLaw */
export function momentOf(value: JsonValue | undefined, name: string): number {
  const moment = typeof value === 'string' && RFC_3339.test(value) ? Date.parse(value) : Number.NaN
  holds(!Number.isNaN(moment), `its \`${name}\` is no time`)
  return moment
}

/** @throws BrokenLaw */
export function objectOf(value: JsonValue | undefined, name: string): JsonObject {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  holds(isObject, `${name} is no object`)
  return value as JsonObject
}

/** @throws BrokenLaw */
export function listOf(value: JsonValue | undefined, name: string): readonly JsonValue[] {
  holds(Array.isArray(value), `its \`${name}\` is no list`)
  return value as readonly JsonValue[]
}
