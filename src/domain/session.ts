import { hash } from 'node:crypto'
import { digestOf } from './digest.ts'

/** Sessions of reviewers in the console (docs/signing-in.md). */
export interface Session {
  readonly reviewer: string
  readonly via: 'link' | 'oidc'
  readonly opened_at: number
  /** It ends then whatever happens. */
  readonly expires_at: number
  /** Digest of the reviewer's directory entry at sign-in. */
  readonly entry: string
  /** As the identity provider said at sign-in; absent when the directory says it. */
  readonly groups?: readonly string[]
  /** SHA-256 of the secret that the page keeps: the cookie alone proves nothing (docs/signing-in.md). */
  readonly page: string
}

/** A one-time link: an administrator hands it out, or single sign-on ends with it. */
export interface Link {
  readonly reviewer: string
  readonly issued_at: number
  readonly expires_at: number
  /** Of single sign-on only. */
  readonly vouched?: Vouched
}

/** What an identity provider said of the person, for the tab that asked. */
export interface Vouched {
  readonly issuer: string
  readonly subject: string
  readonly groups?: readonly string[]
  /** `challengeOf` the verifier which that tab alone knows. */
  readonly challenge: string
}

/** As PKCE has it (RFC 7636 section 4.2): the challenge says nothing of the verifier. */
export const challengeOf = (verifier: string): string => hash('sha256', verifier, 'base64url')

/** A challenge as a page sends it. */
export const CHALLENGE = /^[A-Za-z0-9_-]{43}$/

/** Whether what came along with a link is what its kind asks for: an administrator's link has no verifier. */
export function isFor({ vouched }: Link, verifier: string | undefined): boolean {
  return vouched?.challenge === (verifier === undefined ? undefined : challengeOf(verifier))
}

export interface SessionTimes {
  /** A session ends when nothing was asked for so long, ms. */
  readonly idleMs: number
  /** And in the end whatever happens, ms after sign-in. */
  readonly lifetimeMs: number
}

/** Part of a directory entry that decides what somebody may do. */
export interface Standing {
  readonly email?: string
  readonly groups: readonly string[]
  readonly roles: readonly string[]
}

/** Why a session ended; recorded. */
export type SessionEnd =
  | 'idle'
  | 'expired'
  /** The directory no longer knows the reviewer. */
  | 'removed'
  /** The reviewer's groups, roles or address in the directory are others than at sign-in. */
  | 'changed'
  | 'signed_out'
  /** Another sign-in took its place in the same browser. */
  | 'replaced'
  | 'ended_by_admin'

/** Equal for equal groups, roles and address, in whatever order the directory lists them. */
export function entryDigest({ email, groups, roles }: Standing): string {
  return digestOf({
    groups: [...groups].sort(),
    roles: [...roles].sort(),
    ...(email === undefined ? {} : { email }),
  })
}

/** How often the last use of a session is noted, ms: seldom enough to cost nothing. An idle session may end so much early, never late. */
export function noteEveryMs({ idleMs }: SessionTimes): number {
  return Math.min(60_000, idleMs / 10)
}

/** The moment at which a session that was last used at `seen` is over by time alone. */
export function sessionOver(session: Session, seen: number, { idleMs }: SessionTimes): number {
  return Math.min(seen + idleMs, session.expires_at)
}

export interface SessionState {
  readonly session: Session
  /** When it was last used. */
  readonly seen: number
  /** The reviewer's entry in the directory in force. */
  readonly standing: Standing | undefined
}

/** Why the session is over at `now`; undefined while it holds. */
export function endOf(
  { session, seen, standing }: SessionState,
  now: number,
  times: SessionTimes,
): SessionEnd | undefined {
  if (now >= session.expires_at) return 'expired'
  if (now >= sessionOver(session, seen, times)) return 'idle'
  if (standing === undefined) return 'removed'
  return entryDigest(standing) === session.entry ? undefined : 'changed'
}
