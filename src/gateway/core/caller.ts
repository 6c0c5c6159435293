import type { AgentEntry, Snapshot } from '../../policy/evaluate/snapshot.ts'

/** Who is calling, as proved by a key or a session. Nothing here ever comes from anywhere else. */
export interface Caller {
  readonly tenant: string
  readonly id: string
  /** How that was proved; recorded with votes. */
  readonly via: Via
  /** SHA-256 of the credential. */
  readonly keyHash: string
  /** Of the record of the key or session: every commit under it guards it. */
  readonly keyRevision: number
  /** The old key of two works until then, ms since 1970; Infinity for any other. */
  readonly keyUntil?: number
  /** Of a session only. */
  readonly session?: CallerSession
  /** Of an agent, as its request was admitted. */
  readonly standing?: Standing
}

/** The bundle in force, and the agent's entry in it; both undefined while none is. */
export interface Standing {
  readonly snapshot: Snapshot | undefined
  readonly entry: AgentEntry | undefined
}

export type Via = 'key' | 'link' | 'oidc'

export interface CallerSession {
  readonly expiresAt: number
  /** Digest of the directory entry that signed in: whoever has another one by now must sign in again. */
  readonly entry: string
  /** As the identity provider said, in place of the directory's. */
  readonly groups?: readonly string[]
}

/** The type of the record that proves the caller. */
export const proofOf = ({ via }: Caller): 'key' | 'session' => (via === 'key' ? 'key' : 'session')
