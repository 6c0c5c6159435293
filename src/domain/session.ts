import { hash } from 'node:crypto'
import { digestOf } from './digest.ts'

/** Sessions of reviewers in the console (docs/signing-in.md). */
export interface Session {
  readonly reviewer: string
  readonly via: 'link' | 'oidc'
  readonly opened_at: number
  /** Latest end of the session. */
  readonly expires_at: number
  /** Digest of the reviewer's directory entry at sign-in. */
  readonly entry: string
  /** Groups that the identity provider reported at sign-in; absent when the groups come from the directory. */
  readonly groups?: readonly string[]
  /** SHA-256 of the secret that the page keeps, because the cookie alone is not enough (docs/signing-in.md). */
  readonly page: string
}

/** A one-time link, which an administrator or single sign-on issues. */
export interface Link {
  readonly reviewer: string
  readonly issued_at: number
  readonly expires_at: number
  /** Present for single sign-on only. */
  readonly vouched?: Vouched
}

/** The identity provider's statement about the person, bound to the tab that requested it. */
export interface Vouched {
  readonly issuer: string
  readonly subject: string
  readonly groups?: readonly string[]
  /** `challengeOf` of the verifier that only this tab knows. */
  readonly challenge: string
}

/** The challenge of PKCE (RFC 7636 section 4.2), which does not reveal the verifier. */
export const challengeOf = (verifier: string): string => hash('sha256', verifier, 'base64url')

/** The format of a challenge that a page sends. */
export const CHALLENGE = /^[A-Za-z0-9_-]{43}$/

/** True when the verifier matches the link. An administrator's link has no verifier. */
export function isFor({ vouched }: Link, verifier: string | undefined): boolean {
  return vouched?.challenge === (verifier === undefined ? undefined : challengeOf(verifier))
}

/** The ways to sign in to the console, which `interactive: true` asks for. */
export const isSignIn = (via: string): via is Session['via'] => via === 'link' || via === 'oidc'

/** The section `session` of the settings. */
export interface SessionTimes {
  /** Time without requests after which a session ends, ms. */
  readonly idle: number
  /** Time after sign-in at which a session ends in any case, ms. */
  readonly lifetime: number
}

/** The parts of a directory entry that determine the reviewer's rights. */
export interface Standing {
  readonly email?: string
  readonly groups: readonly string[]
  readonly roles: readonly string[]
}

/** The reason why a session ended, as recorded in evidence. */
export type SessionEnd =
  | 'idle'
  | 'expired'
  /** The directory no longer knows the reviewer. */
  | 'removed'
  /** The reviewer's groups, roles or address in the directory have changed since sign-in. */
  | 'changed'
  | 'signed_out'
  /** Another sign-in replaced the session in the same browser. */
  | 'replaced'
  | 'ended_by_admin'
  /** A freeze stopped the reviewer. */
  | 'frozen'

/** A digest that is equal for equal groups, roles and address, in any order. */
export function entryDigest({ email, groups, roles }: Standing): string {
  return digestOf({
    groups: [...groups].sort(),
    roles: [...roles].sort(),
    ...(email === undefined ? {} : { email }),
  })
}

/**
 * Interval at which the last use of a session is stored, ms. The interval is long enough that the writes cost almost
 * nothing. An idle session may end up to this much too early, but never late.
 */
export function noteEveryMs({ idle }: SessionTimes): number {
  return Math.min(60_000, idle / 10)
}

/** The time when a session that was last used at `seen` expires. */
export function sessionOver(session: Session, seen: number, { idle }: SessionTimes): number {
  return Math.min(seen + idle, session.expires_at)
}

export interface SessionState {
  readonly session: Session
  /** Time of the last use. */
  readonly seen: number
  /** The reviewer's entry in the directory in force. */
  readonly standing: Standing | undefined
}

/** The reason why the session is over at `now`, or undefined. */
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
