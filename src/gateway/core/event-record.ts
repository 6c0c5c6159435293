import type { JsonValue } from '../../contract/json.ts'
import { canonicalJson } from '../../domain/digest.ts'
import { type Actor, EVIDENCE_VERSION } from '../../domain/evidence.ts'
import type { EventDetails, EventType } from '../../events/events.ts'

/**
 * Evidence (docs/evidence.md): one record for everything that matters, written in the commit that it describes.
 * The stored text is RFC 8785 JSON; its bytes are what is exported, hashed and, as a Merkle leaf, signed.
 */
export type EvidenceRecord<T extends EventType = EventType> = Happened<T> & Circumstances

/** What a verb says of an event. */
export type Happened<T extends EventType = EventType> = {
  readonly [K in T]: object extends EventDetails<K>
    ? { readonly type: K; readonly details?: EventDetails<K> }
    : { readonly type: K; readonly details: EventDetails<K> }
}[T]

/** Where, when and by whom. */
interface Circumstances {
  readonly tenant: string
  /** RFC 3339, by the store's clock. */
  readonly at: string
  readonly actor: Actor
  readonly task_id?: string
  readonly thread_id?: string
  readonly revision?: number
  readonly tool?: string
}

/** What a record says of the thread that it is about: a thread says it, and its token does. */
export type AboutThread = Required<
  Pick<Circumstances, 'tenant' | 'task_id' | 'thread_id' | 'revision' | 'tool'>
>

export function aboutThread({ tenant, task_id, thread_id, revision, tool }: AboutThread): AboutThread {
  return { tenant, task_id, thread_id, revision, tool }
}

/** The members stand in RFC 8785 order, here and in the details of a decision, because then nothing is left to sort. */
export function encodeEvidence(record: EvidenceRecord): string {
  const { actor, at, details, revision, task_id, tenant, thread_id, tool, type } = record
  const who =
    actor.key === undefined
      ? { id: actor.id, kind: actor.kind }
      : { id: actor.id, key: actor.key, kind: actor.kind }
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

let lastMs = 0
let lastText = new Date(0).toISOString()

/** RFC 3339. Many records fall into one millisecond, so the last answer is kept. */
export function isoTime(ms: number): string {
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString()
    lastMs = ms
  }
  return lastText
}
