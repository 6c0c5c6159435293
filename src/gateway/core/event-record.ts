import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { canonicalJson } from '../../domain/digest.ts'
import { commitmentTo, type Disclosures, SEED_BYTES } from '../../domain/disclosure.ts'
import { type Actor, EVIDENCE_VERSION } from '../../domain/evidence.ts'
import type { EventDetails, EventDisclosed, EventType } from '../../events/events.ts'

/**
 * Evidence (docs/evidence.md): one record for each event, written in the commit that causes the event. The stored text
 * is RFC 8785 JSON. The gateway exports, hashes and, as part of a Merkle tree, signs the bytes of this text.
 */
export type EvidenceRecord<T extends EventType = EventType> = Happened<T> & Circumstances

/** A verb's description of an event. */
export type Happened<T extends EventType = EventType> = {
  readonly [K in T]: Logged<K> & Disclosed<K>
}[T]

type Logged<K extends EventType> =
  object extends EventDetails<K>
    ? { readonly type: K; readonly details?: EventDetails<K> }
    : { readonly type: K; readonly details: EventDetails<K> }

/** The members beside the log. A kind without such members has none. */
type Disclosed<K extends EventType> =
  object extends EventDisclosed<K>
    ? { readonly disclosed?: EventDisclosed<K> | undefined }
    : { readonly disclosed: EventDisclosed<K> }

/** Place, time and actor of an event. */
interface Circumstances {
  readonly tenant: string
  /** RFC 3339, by the store's clock. */
  readonly at: string
  readonly actor: Actor
  readonly task_id?: string | undefined
  readonly thread_id?: string | undefined
  readonly revision?: number | undefined
  readonly tool?: string | undefined
}

/** Members that identify the thread. Threads and proofs have these members. */
export interface AboutThread {
  readonly tenant: string
  readonly task_id: string
  readonly thread_id: string
  readonly revision: number
  readonly tool: string
}

/** The thread, the task or only the tenant of a record. */
type About = Omit<Circumstances, 'at' | 'actor'>

/** Evidence of an event. @param at ms since 1970, by the store's clock */
export function record<T extends EventType>(
  at: number,
  actor: Actor,
  { tenant, task_id, thread_id, revision, tool }: About,
  event: Happened<T>,
): EvidenceRecord<T> {
  // no copy of `event`, whose shape would stay in memory for each call (docs/decisions/0021)
  const { type, details, disclosed } = event
  const made = {
    type,
    tenant,
    at: isoTime(at),
    actor,
    task_id,
    thread_id,
    revision,
    tool,
    details,
    disclosed,
  }
  return made as EvidenceRecord<T>
}

export function aboutThread({ tenant, task_id, thread_id, revision, tool }: AboutThread): AboutThread {
  return { tenant, task_id, thread_id, revision, tool }
}

/** A record as the store keeps it. */
export interface EncodedRecord {
  readonly body: string
  /** The members that the commitment in `body` covers (src/domain/disclosure.ts). */
  readonly disclosures: string | undefined
}

/** Encodes a record with its disclosures, if it has any. @param random as in `Deps` */
export function discloseRecord(
  record: EvidenceRecord,
  random: (bytes: number) => Uint8Array,
  keyName?: string,
): EncodedRecord {
  const members = record.disclosed as JsonObject | undefined
  if (members === undefined || Object.values(members).every((value) => value === undefined))
    return { body: encodeEvidence(record, keyName), disclosures: undefined }
  const seed = Buffer.from(random(SEED_BYTES)).toString('base64url')
  const details = { ...record.details, commitment: commitmentTo(members, seed) }
  const body = encodeEvidence({ ...record, details } as EvidenceRecord, keyName)
  return { body, disclosures: JSON.stringify({ members, seed } satisfies Disclosures) }
}

/**
 * Encodes a record without its disclosures. The members of the record and of a decision's details are in RFC 8785
 * order, which avoids sorting.
 *
 * @param keyName the name of the caller's key, which the record of an agent or a reviewer contains, because two keys
 * may be in force
 */
export function encodeEvidence(record: EvidenceRecord, keyName?: string): string {
  const { actor, at, details, revision, task_id, tenant, thread_id, tool, type } = record
  const { id, kind } = actor
  const key = actor.key ?? (kind === 'agent' || kind === 'reviewer' ? keyName : undefined)
  const who = { id, key, kind }
  const text = {
    actor: who,
    at,
    details,
    revision,
    task_id,
    tenant,
    thread_id,
    tool,
    type,
    v: EVIDENCE_VERSION,
  }
  return canonicalJson(text as unknown as JsonValue)
}

/**
 * The key by which an erasure finds the deliveries of a call without a thread. The number of its record is not known
 * before the commit. Calls of one task in one millisecond share the key.
 *
 * @param at RFC 3339
 */
export const callKey = (at: string, agent: string, task = ''): string => `${at} ${agent} ${task}`

let lastMs = 0
let lastText = new Date(0).toISOString()

/** RFC 3339. Caches the last result, because many records share one millisecond. */
export function isoTime(ms: number): string {
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString()
    lastMs = ms
  }
  return lastText
}
