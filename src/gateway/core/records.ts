import type { Decision } from '../../contract/agent.ts'
import type { JsonObject } from '../../contract/json.ts'
import { sha256 } from '../../domain/digest.ts'
import type { Freezes } from '../../domain/freeze.ts'
import type { MerkleTree } from '../../domain/merkle.ts'
import type { Link, Session } from '../../domain/session.ts'
import type { Thread } from '../../domain/thread.ts'
import type { ApprovalToken } from '../../domain/token.ts'
import type { Destination } from '../../domain/webhook.ts'
import type { FiredRule, History } from '../../policy/evaluate/snapshot.ts'
import type { ReviewRequirement, Risk } from '../../domain/decision.ts'
import type { Guard, Store, StoredRecord, Write } from '../../store/store.ts'
import type { TraceContext } from './trace-context.ts'
import type { Heading } from '../../domain/heading.ts'

/** Every kind of record that a tenant's partition holds, by its type in the store. */
export interface Records {
  /** By SHA-256 of the credential. */
  readonly key: KeyRecord
  /** By `agent/<id>` or `reviewer/<id>`: which key is in force. */
  readonly holder: HolderRecord
  /** By SHA-256 of the credential in the cookie. It never changes, it only goes. */
  readonly session: Session
  /** By the same hash: when the session was last used. Apart from it, so that commits can guard the session. */
  readonly seen: { readonly at: number }
  /** By SHA-256 of the one-time link's token. */
  readonly link: Link
  /** By thread id. */
  readonly thread: Thread
  /** By `<thread id>/<number>`. */
  readonly revision: RevisionRecord
  /** By thread id. */
  readonly comments: Comments
  /** By what makes calls equal (src/gateway/core/equal-calls.ts): the first that waits. */
  readonly asked: { readonly thread_id: string }
  /** By SHA-256 of the approval token. */
  readonly token: ApprovalToken
  /** By `<agent>/<task>/<SHA-256 of the Idempotency-Key>`. */
  readonly answer: StoredAnswer
  /** One record for each tenant, `all`: read by every commit that tells somebody. */
  readonly destinations: { readonly destinations: readonly Destination[] }
  /** One record for each tenant, `all`: guarded by every commit that lets an agent act. */
  readonly freezes: Freezes
  /** One record for each tenant, `head`: the tree over its evidence, as far as the last checkpoint. */
  readonly tree: MerkleTree
  /** By the number of records it covers. */
  readonly checkpoint: CheckpointRecord
  /** By its id. */
  readonly delivery: DeliveryRecord
  /** In the system partition only, by the id of a gateway: what it reported last. */
  readonly instance: InstanceRecord
  /** In the system partition only: `admin` (hash of the generated admin key), `commitments` and `signing` (base64), and `log` (name of this log). */
  readonly secret: { readonly value: string }
}

export interface InstanceRecord {
  readonly host: string
  readonly version: string
  readonly started_at: number
  readonly seen_at: number
  /** Of the bundle by which it decides. */
  readonly revision?: string
  readonly commit?: string
  readonly loaded_at?: number
  readonly load_ok: boolean
}

export interface KeyRecord {
  readonly kind: 'agent' | 'reviewer'
  readonly id: string
  readonly issued_at: number
}

export interface HolderRecord {
  readonly key_hash: string
  /** The key before it, which works until then (ms since 1970). Its own record stays as it is: commits under way guard it. */
  readonly previous?: { readonly key_hash: string; readonly until: number }
}

/** Everything that was proposed in one revision, and what policy made of it. */
export interface RevisionRecord {
  readonly number: number
  readonly revision_id?: string
  readonly submitted_at: number
  /** Part of what the digest covers; never shown. */
  readonly nonce: string
  readonly digest: string
  readonly payload: JsonObject
  readonly payload_digest: string
  readonly action_hash?: string
  readonly claims: Claims
  /** What it does, in one line; absent in a revision of before this was kept. */
  readonly heading?: Heading
  readonly risk: Risk
  readonly policy_risk: Risk
  readonly message: string
  readonly by: readonly string[]
  readonly fired: readonly FiredRule[]
  readonly requirement: ReviewRequirement
  readonly policy_revision: string
  /** What was decided on of earlier calls, where the rules read it: the approval is judged again on the same facts. */
  readonly history?: History
}

/** What the agent says about its own call: shown apart from what policy assessed. */
export interface Claims {
  readonly subject?: string
  readonly preview?: string
  readonly summary?: readonly string[]
  readonly workflow_name?: string
  readonly task_label?: string
  readonly risk_level?: Risk
  readonly images?: readonly string[]
}

/** What reviewers said about a thread beside their votes, oldest first. */
export interface Comments {
  readonly comments: readonly Comment[]
}

export interface Comment {
  readonly reviewer: string
  readonly comment: string
  /** Of the thread when it was said. */
  readonly revision: number
  readonly at: number
  readonly via: string
}

/** One event for one destination. */
export interface DeliveryRecord {
  readonly destination: string
  readonly type: string
  readonly thread_id?: string
  /** What is sent, to the byte, on every try. */
  readonly body: string
  readonly created_at: number
  readonly state: 'waiting' | 'delivered' | 'dead'
  /** Tries since it was enqueued, or since somebody asked for it again. */
  readonly attempts: number
  readonly next_at?: number
  readonly last?: { readonly at: number; readonly result: string }
  /** Of what it tells of. */
  readonly trace?: TraceContext
}

export interface StoredAnswer {
  /** Digest of the request body: another body under the same key is refused. */
  readonly request_digest: string
  readonly answer: Decision
  readonly stored_at: number
  readonly policy_revision: string
  /** Of the tenant's freezes; absent when nothing had ever been frozen. */
  readonly freeze_epoch?: number
}

/** A signed tree head (docs/evidence.md). */
export interface CheckpointRecord {
  readonly size: number
  readonly root: string
  readonly at: number
  /** The C2SP signed note, to the byte. */
  readonly note: string
}

export type RecordType = keyof Records

export interface Versioned<T> extends Version {
  readonly value: T
}

/** Of a record that was read: the revision alone may come about a second time, after a store has forgotten it. */
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

/** The same, of what is read often and changes seldom: as long as the store has what is known already, its text is not looked into. */
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

/** For those who look at many records: what is wrong with one must not hide the others. A store that cannot be asked is no broken record. */
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

/** The record must still be the one that was read; undefined means it must still be absent. */
export function unchanged(type: RecordType, id: string, read: Version | undefined): Guard {
  if (read === undefined) return { type, id, revision: 0 }
  return { type, id, revision: read.revision, commitId: read.commitId }
}

/** Names of the indexes of a tenant's partition. Scores are ms since 1970 unless said otherwise. */
export const INDEX = {
  threads: 'threads',
  /** Threads, by when the timer has to look at them next; leased. */
  due: 'due',
  /** What else the timer ends or forgets, by when; leased. Members: src/gateway/core/expiry-index.ts. */
  purge: 'purge',
  status: (status: string): string => `status/${status}`,
  /** Waiting threads of one assessed risk. */
  pending: (risk: string): string => `pending/${risk}`,
  task: (agent: string, task: string): string => `task/${agent}/${task}`,
  /** Tools and labels of calls that were allowed or approved; scores of the last time. */
  taskHistory: (agent: string, task: string): string => `history/task/${agent}/${task}`,
  /** Calls that policy rejected. Score: number of the evidence record. Member: the commit's id. */
  rejected: (agent: string, task: string): string => `rejected/${agent}/${task}`,
  agentHistory: (agent: string): string => `history/agent/${agent}`,
  /** What lets a reviewer in beside a key: `session <hash>`, `link <hash>`; scores of their last moment. */
  signIns: (reviewer: string): string => `sign-ins/${reviewer}`,
  /** Deliveries to be made, leased; scored by when. */
  outbox: (destination: string): string => `outbox/${destination}`,
  /** In the system partition: gateways, scored by their last report. */
  instances: 'instances',
  /** In the system partition: tenants that ever had a webhook. */
  webhookTenants: 'webhooks',
  /** Checkpoints that are kept; scored by their size. */
  checkpoints: 'checkpoints',
  /** All deliveries that are remembered. */
  deliveries: (destination: string): string => `deliveries/${destination}`,
  /** Score: number of the first evidence record of a commit that touched the thread. Member: the commit's id. */
  evidence: (thread: string): string => `evidence/${thread}`,
} as const

/** Partition of the gateway itself: policy loads, admin acts, and the index of tenants. */
export { SYSTEM } from '../../domain/evidence.ts'
export const TENANTS_INDEX = 'tenants'

export const revisionId = (thread: string, number: number): string => `${thread}/${number}`
/** The key is the agent's own text, so it is hashed. */
export const answerId = (agent: string, task: string, key: string): string =>
  `${agent}/${task}/${sha256(key)}`
export const holderId = (kind: 'agent' | 'reviewer', id: string): string => `${kind}/${id}`
