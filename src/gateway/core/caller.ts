import { GatewayError } from '../../contract/errors.ts'
import type { AgentEntry, Snapshot } from '../../policy/language/snapshot.ts'
import type { RecordGuard } from '../../store/store.ts'

/** The caller, as proved by a key or a session, and by nothing else. */
export interface Caller {
  readonly tenant: string
  readonly id: string
  /** The kind of credential; recorded with votes. */
  readonly via: Via
  /** SHA-256 of the credential; the id of a linked account. */
  readonly keyHash: string
  /** The revision of the key's or session's record, which the caller's commits guard. */
  readonly keyRevision: number
  /** The commit of that revision. Present for a linked account, whose record has the same id when it is made again. */
  readonly keyCommit?: string
  /** When the older of two keys expires, ms since 1970. Every other credential has `Infinity`. */
  readonly keyUntil?: number
  /** Present for a session, and for a linked account. */
  readonly session?: CallerSession
  /** Present for an agent: its standing when the request was admitted. */
  readonly standing?: Standing
}

/** The bundle in force and the agent's entry in it; both undefined without a bundle. */
export interface Standing {
  readonly snapshot: Snapshot | undefined
  readonly entry: AgentEntry | undefined
}

export type Via = 'key' | 'link' | 'oidc' | 'slack'

export interface CallerSession {
  readonly expiresAt: number
  /**
   * Digest of the reviewer's directory entry at sign-in. When the directory entry changes, the reviewer must sign in
   * again.
   */
  readonly entry: string
  /** Groups that the identity provider reported, which replace those of the directory. */
  readonly groups?: readonly string[]
}

/** The type of the record that proves the caller. */
export const proofOf = ({ via }: Caller): 'key' | 'session' | 'linked' =>
  via === 'key' ? 'key' : via === 'slack' ? 'linked' : 'session'

/**
 * A guard of the caller's credential record, which never changes until it is deleted. When the guard fails, the caller
 * is unauthenticated.
 */
export interface ProofGuard extends RecordGuard {
  readonly proof: true
}

/**
 * The guard that makes a revocation take effect immediately. The store refuses a commit under a deleted key or session.
 */
export function keyGuard(caller: Caller): ProofGuard {
  const { keyHash: id, keyRevision: revision, keyCommit: commitId } = caller
  return { proof: true, type: proofOf(caller), id, revision, ...(commitId === undefined ? {} : { commitId }) }
}

export function unauthenticated(): GatewayError {
  return new GatewayError('unauthenticated', 'a valid key is needed: Authorization: Bearer <key>')
}
