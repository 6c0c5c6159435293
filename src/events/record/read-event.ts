import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { type Actor, EVIDENCE_VERSION } from '../../domain/evidence.ts'
import { isMoment, msOf, objectOf, requireThat, textOf } from './require.ts'

/**
 * A parsed record of an export. Every part of the record is checked before use.
 *
 * @typeParam D its details: a law reads them as the row of its kind declares them
 */
export interface ReadEvent<D extends object = object> {
  readonly type: string
  readonly tenant: string
  /** ms since 1970, by the store's clock. */
  readonly at: number
  readonly actor: Actor
  readonly task?: string
  readonly thread?: string
  readonly revision?: number
  readonly tool?: string
  readonly details: D
  /** The members beside the log, where the export has them. No law but that of votes reads them. */
  readonly disclosed?: JsonObject | undefined
}

/** The actor as rows name it: the gateway with its part. */
export const whoOf = ({ kind, id }: Actor): string => (kind === 'gateway' ? `gateway:${id}` : kind)

const ACTORS: readonly string[] = ['agent', 'reviewer', 'admin', 'gateway']

/** Parses a record. @throws LawBroken for a record that this version never writes */
export function readEvent(value: JsonValue): ReadEvent<JsonObject> {
  const record = objectOf(value, 'the record')
  const { v, type, tenant, at, actor, task_id, thread_id, revision, tool, details = {} } = record
  requireThat(
    v === EVIDENCE_VERSION,
    `it has version ${JSON.stringify(v)}, but only ${EVIDENCE_VERSION} is known`,
  )
  requireThat(typeof type === 'string', `the type ${JSON.stringify(type)} is unknown`)
  const { kind, id, key } = objectOf(actor, 'its actor')
  requireThat(typeof kind === 'string' && ACTORS.includes(kind), 'it has no actor')
  requireThat(isMoment(at), 'its `at` is not a time')
  requireThat(revision === undefined || Number.isSafeInteger(revision), 'its revision is not a number')
  return {
    type,
    tenant: textOf(tenant, 'tenant'),
    at: msOf(at),
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
