import type { Decision } from '../../contract/agent.ts'
import type { JsonObject } from '../../contract/json.ts'
import { sha256 } from '../../domain/digest.ts'
import type { Disclosures } from '../../domain/disclosure.ts'
import type { Selection } from '../../domain/erasure.ts'
import type { Range } from '../../events/record/field.ts'
import type { Freezes } from '../../domain/freeze.ts'
import type { LegalHolds } from '../../domain/legal-hold.ts'
import type { MerkleTree } from '../../domain/merkle.ts'
import type { CountedClick, PostedMessage } from '../../domain/posted-message.ts'
import type { LinkedAccount } from '../../domain/linked-account.ts'
import type { Ended } from '../../domain/outcome.ts'
import type { Link, Session } from '../../domain/session.ts'
import type { Thread } from '../../domain/thread.ts'
import type { ApprovalToken } from '../../domain/token.ts'
import type { Destination } from '../../domain/webhook.ts'
import type { FiredRule, History } from '../../policy/language/snapshot.ts'
import type { ReviewRequirement, Risk } from '../../domain/decision.ts'
import type { Guard, IndexEntry, Store, StoredRecord, Write } from '../../store/store.ts'
import type { TraceContext } from './trace-context.ts'
import type { Heading } from '../../domain/heading.ts'

/** All record types in a tenant's partition, by their type in the store. */
export interface Records {
  /** By SHA-256 of the credential. */
  readonly key: KeyRecord
  /** The key in force, by `agent/<id>` or `reviewer/<id>`. */
  readonly holder: HolderRecord
  /** By SHA-256 of the credential in the cookie. The record never changes until it is deleted. */
  readonly session: Session
  /** Time of the session's last use, by the same hash. Kept separately, so that commits can guard the session. */
  readonly seen: { readonly at: number }
  /** By SHA-256 of the one-time link's token. */
  readonly link: Link
  /** By `<workspace>/<member>`. The record never changes until it is deleted. */
  readonly linked: LinkedAccount
  /** By `<reviewer>/<workspace>`. */
  readonly linked_in: { readonly member: string }
  /** By thread id. */
  readonly thread: Thread
  /** By `<thread id>/<number>`. */
  readonly revision: RevisionRecord
  /** By thread id. */
  readonly comments: Comments
  /** One record per tenant, `all`: threads that were opened until this time may have been deleted. */
  readonly forgotten: { readonly opened_until: number }
  /**
   * One record per tenant, `all`: disclosures of the records up to `up_to` expired, and those up to `done` are deleted.
   * Every commit that deletes or erases disclosures guards it.
   */
  readonly disclosed: { readonly up_to: number; readonly done: number }
  /** One record per tenant, `all`: an erasure in progress (src/gateway/jobs/erasing.ts). */
  readonly erasure: ErasureState
  /** By the number of a record of evidence: its disclosures after an erasure of some of them. */
  readonly erased: Disclosures
  /** The first of equal waiting calls, by their common key (src/gateway/thread/equal-calls.ts). */
  readonly asked: { readonly thread_id: string }
  /**
   * One record per tenant, `all`, once a second log was started: its number, and the number of records that the earlier
   * log had signed. Checkpoints of more records are of this log.
   */
  readonly log: { readonly number: number; readonly signed: number }
  /** By SHA-256 of the proof. */
  readonly token: ApprovalToken
  /** By `<agent>/<task>/<SHA-256 of the Idempotency-Key>`. */
  readonly answer: StoredAnswer
  /** By `<agent>/<task>/<action hash>`: a call that was allowed at once, and whose contract expects its outcome. */
  readonly call: CallRecord
  /** One record per tenant, `all`, which every commit that notifies destinations guards. */
  readonly destinations: { readonly destinations: readonly Destination[] }
  /** One record per tenant, `all`, which every commit that lets an agent act guards. */
  readonly freezes: Freezes
  /** One record per tenant, `all`, which every commit that deletes threads guards. */
  readonly legal_holds: LegalHolds
  /** One record per tenant, `head`, with the tree over its evidence up to the last checkpoint. */
  readonly tree: MerkleTree
  /** By the number of records it covers. */
  readonly checkpoint: CheckpointRecord
  /** One record per tenant, `head`: the part of its evidence that is in tiles (src/gateway/jobs/publish-tiles.ts). */
  readonly tiles: TilesRecord
  /** In the system partition only, `all`: the question whether record files are lost, which each instance answers. */
  readonly loss: LossQuestion
  /** By `chm_<tenant>_<hash>`: a message of a chat about a thread (src/gateway/chat/deliver.ts). */
  readonly posted: PostedMessage
  /** By SHA-256 of the envelope's id: a click that was counted. */
  readonly clicked: CountedClick
  /** By its id. */
  readonly delivery: DeliveryRecord
  /** In the system partition only, by the id of a gateway: its last report. */
  readonly instance: InstanceRecord
  /**
   * In the system partition only:
   * - `admin`: hash of the generated admin key
   * - `commitments` and `signing`: base64
   * - `log`: name of this log
   */
  readonly secret: { readonly value: string }
  /** In the system partition only, `all`: the last measurement (src/gateway/integrity/measure-store.ts). */
  readonly sizes: StoreSizes
  /** In the system partition only, `key`: the admin keys in force (src/gateway/core/admin-keys.ts). */
  readonly admin: HolderRecord
}

/** The steps that a part of an erasure has still to do. */
export interface ErasureState {
  readonly selection: Selection
  /** ms since 1970. A legal hold since then keeps the data that is still there. */
  readonly begun_at: number
  /** Threads to end and to delete. Some may be gone already. */
  readonly threads: readonly string[]
  /** All threads of this part, and the keys of its calls without a thread. */
  readonly deleted: readonly string[]
  readonly calls: readonly string[]
  /** Times of the first and the last erased record, ms since 1970. */
  readonly times?: readonly [since: number, until: number]
  /** Destinations whose deliveries are still to search, the first one after `after`. */
  readonly deliveries: { readonly destinations: readonly string[]; readonly after?: IndexEntry }
  /** Records of evidence to rewrite, as pairs of first and last number. */
  readonly records: readonly Range[]
}

/** Sizes of the store by kind of data. */
export interface StoreSizes {
  /** The end of the measurement, ms since 1970; 0 before the first. */
  readonly at: number
  /** An instance measures until then, ms since 1970. */
  readonly claimed_until: number
  readonly kinds: Readonly<
    Record<
      string,
      {
        readonly count: number
        readonly bytes: number
        /** Bytes of a day, since the measurement before. */
        readonly growth?: number
        /** Threads that were opened in the last day, of `index`. */
        readonly last_day?: number
      }
    >
  >
}

export interface LossQuestion {
  readonly id: string
  readonly tenant: string
  /** The last numbers of the record files. */
  readonly files: readonly number[]
  readonly at: number
}

export interface InstanceRecord {
  readonly host: string
  readonly version: string
  readonly started_at: number
  readonly seen_at: number
  /** The bundle that the instance uses for decisions. */
  readonly revision?: string
  readonly commit?: string
  readonly loaded_at?: number
  /** The rights that a newer directory takes away, as one line. */
  readonly withdrawals?: string
  /** The tiles that the instance cannot read, and since when, as one line. */
  readonly tiles_unreadable?: string
  /** Its answer to the question of a loss: the files that it cannot read. */
  readonly loss?: { readonly id: string; readonly files: readonly number[] }
  readonly load_ok: boolean
  readonly load: LoadState
}

export type LoadState = 'loading' | 'loaded' | 'failed'

export interface KeyRecord {
  readonly kind: 'agent' | 'reviewer'
  readonly id: string
  readonly issued_at: number
}

export interface HolderRecord {
  readonly key_hash: string
  /**
   * The previous key, which remains valid until `until` (ms since 1970). The record of that key is unchanged, because
   * commits in progress guard it.
   */
  readonly previous?: { readonly key_hash: string; readonly until: number }
}

/** The content of one revision, and policy's result for it. */
export interface RevisionRecord {
  readonly number: number
  readonly revision_id?: string
  readonly submitted_at: number
  /** A part of the digest that is never shown. */
  readonly nonce: string
  readonly digest: string
  readonly payload: JsonObject
  readonly payload_digest: string
  readonly action_hash?: string
  readonly claims: Claims
  /** The heading of the call. */
  readonly heading: Heading
  readonly risk: Risk
  readonly policy_risk: Risk
  readonly message: string
  readonly by: readonly string[]
  readonly fired: readonly FiredRule[]
  readonly requirement: ReviewRequirement
  readonly policy_revision: string
  /** Earlier calls that the rules read. The gateway judges the approval again by the same facts. */
  readonly history?: History
}

/** The agent's statements about its own call, shown apart from policy's assessment. */
export interface Claims {
  readonly subject?: string
  readonly preview?: string
  readonly summary?: readonly string[]
  readonly workflow_name?: string
  readonly task_label?: string
  readonly risk_level?: Risk
  readonly images?: readonly string[]
}

/** Comments of reviewers on a thread beside their votes, oldest first. */
export interface Comments {
  readonly comments: readonly Comment[]
}

export interface Comment {
  readonly reviewer: string
  readonly comment: string
  /** The thread's revision at the time of the comment. */
  readonly revision: number
  readonly at: number
  readonly via: string
}

/** One event for one destination. */
export interface DeliveryRecord {
  readonly destination: string
  readonly type: string
  readonly agent_id?: string
  readonly task_id?: string
  readonly thread_id?: string
  /** The key of the record of evidence of a call without a thread (`callKey`). */
  readonly call?: string
  /** The exact text of every attempt. */
  readonly body: string
  readonly created_at: number
  readonly state: 'waiting' | 'delivered' | 'dead'
  /** Attempts since the delivery was enqueued or last redelivered. */
  readonly attempts: number
  readonly next_at?: number
  readonly last?: { readonly at: number; readonly result: string }
  /** The trace of the event. */
  readonly trace?: TraceContext
}

export interface CallRecord {
  readonly agent: string
  readonly task_id: string
  readonly tool: string
  /** When it was allowed last, ms since 1970. */
  readonly at: number
  readonly ended: readonly Ended[]
}

export interface StoredAnswer {
  /** Digest of the request body. The gateway refuses another body with the same key. */
  readonly request_digest: string
  readonly answer: Decision
  readonly stored_at: number
  readonly policy_revision: string
  /** Epoch of the tenant's freezes; absent when the tenant had never had a freeze. */
  readonly freeze_epoch?: number
}

/** A signed checkpoint (docs/evidence.md). */
export interface CheckpointRecord {
  readonly size: number
  readonly root: string
  readonly at: number
  /** The exact C2SP signed note. */
  readonly note: string
}

export interface TilesRecord {
  /** The address of the tiles. Each address counts its own records. */
  readonly place: string
  /** The number of the log; absent for the first. Another log has its own size. */
  readonly log?: number
  /** The number of records that are published there. It never falls. */
  readonly size: number
  /** The size before that, whose partial tiles may remain. */
  readonly before: number
  /** The published note; absent before the first. */
  readonly note?: string
  /** The instance that writes now, until a time in ms since 1970. */
  readonly lease?: { readonly by: string; readonly until: number }
}

export type RecordType = keyof Records

export interface Versioned<T> extends Version {
  readonly value: T
}

/**
 * The version of a record that was read. The revision alone does not identify the version, because a store that lost a
 * revision may reuse its number.
 */
export interface Version {
  readonly revision: number
  readonly commitId: string
}

export async function read<K extends RecordType>(
  store: Store,
  tenant: string,
  type: K,
  id: string,
): Promise<Versioned<Records[K]> | undefined> {
  const record = await store.get(tenant, type, id)
  return record && parsed<K>(record)
}

function parsed<K extends RecordType>({ body, revision, commitId }: StoredRecord): Versioned<Records[K]> {
  return { value: JSON.parse(body) as Records[K], revision, commitId }
}

/**
 * Reads a record that changes rarely. Returns the known record without parsing when the store still contains that
 * version.
 */
export async function readAgain<K extends RecordType>(
  store: Store,
  tenant: string,
  [type, id]: readonly [K, string],
  known: Versioned<Records[K]> | undefined,
): Promise<Versioned<Records[K]> | undefined> {
  const record = await store.get(tenant, type, id)
  if (record === undefined) return undefined
  const isKnown = known?.revision === record.revision && known.commitId === record.commitId
  return isKnown ? known : parsed<K>(record)
}

/**
 * The result of the read, or `broken`. One broken record therefore does not hide the rest of a list. Failures of the
 * store are thrown.
 */
export async function unlessBroken<T>(reading: Promise<T>): Promise<T | 'broken'> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof SyntaxError) return 'broken'
    throw error
  }
}

export function put<K extends RecordType>(type: K, id: string, value: Records[K]): Write {
  return { op: 'put', type, id, body: JSON.stringify(value) }
}

export function remove(type: RecordType, id: string): Write {
  return { op: 'delete', type, id }
}

/** Guards that the record is unchanged since it was read; undefined means that it must still be absent. */
export function unchanged(type: RecordType, id: string, read: Version | undefined): Guard {
  if (read === undefined) return { type, id, revision: 0 }
  return { type, id, revision: read.revision, commitId: read.commitId }
}

/** Partition of the gateway itself: policy loads, acts of administrators, and the index of tenants. */
export { SYSTEM } from '../../domain/evidence.ts'

export const revisionId = (thread: string, number: number): string => `${thread}/${number}`
/** The id of a stored answer. The key is the agent's own text, so it is hashed. */
export const answerId = (agent: string, task: string, key: string): string =>
  `${agent}/${task}/${sha256(key)}`
export const holderId = (kind: 'agent' | 'reviewer', id: string): string => `${kind}/${id}`
