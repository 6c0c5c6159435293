import { defined } from '../../contract/defined.ts'
import type { JsonObject } from '../../contract/json.ts'
import { SYSTEM } from '../../domain/evidence.ts'
import { type FreezeScope, isReviewerFrozen, withFreeze, withoutFreeze } from '../../domain/freeze.ts'
import type { SessionEnd } from '../../domain/session.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { msOf, requireThat, textOf } from '../record/require.ts'
import { NOT_VOUCHED, type Vouched } from './requirement.ts'
import { CLOCK_SKEW_MS, type Ledger, type LedgerSession, wayOf } from './ledger.ts'

/* Access: keys, links, sessions and freezes (docs/signing-in.md and docs/operations.md). */

interface KeyDetails {
  readonly holder: 'agent' | 'reviewer'
  readonly id: string
  readonly key_hash: string
}

interface KeyIssued extends KeyDetails {
  readonly rotated: boolean
  readonly old_key_until?: string | undefined
}

export function keyIssued(ledger: Ledger, { at, details }: ReadEvent<KeyIssued>): void {
  const { key_hash, rotated, old_key_until } = details
  const holder = holderIn(details)
  const before = ledger.keys.get(holder)
  requireThat(rotated === (before !== undefined), 'the record states wrongly whether it replaces a key')
  if (old_key_until === undefined) {
    ledger.keys.set(holder, { hash: key_hash })
    return
  }
  const over = msOf(old_key_until)
  requireThat(before !== undefined && over > at, 'there is no old key that could continue to work')
  ledger.keys.set(holder, { hash: key_hash, old: { hash: before.hash, until: over } })
}

interface LogDetails {
  readonly log: number
  readonly origin: string
  readonly previous: string
}

/** Each log has a higher number than those before it. A store that was set back may have forgotten some. */
export function logStarted(
  ledger: Ledger,
  { details: { log, origin, previous } }: ReadEvent<LogDetails>,
): void {
  requireThat(log > ledger.log, `log ${ledger.log} was the last one`)
  requireThat(origin.endsWith(`/${log}`), 'the origin is not that of this log')
  requireThat(previous.split('\n', 1)[0] !== origin, 'the earlier note has the origin of this log')
  ledger.log = log
}

export function keyRevoked(ledger: Ledger, { details }: ReadEvent<KeyDetails>): void {
  const holder = holderIn(details)
  requireThat(ledger.keys.get(holder)?.hash === details.key_hash, 'no holder had this key')
  ledger.keys.delete(holder)
}

/** The older of two keys ends only at its time. */
export function keyExpired(ledger: Ledger, { at, details }: ReadEvent<KeyDetails>): void {
  const holder = holderIn(details)
  const { hash, old } = ledger.keys.get(holder) ?? {}
  requireThat(hash !== undefined && old?.hash === details.key_hash, 'this was not an old key of this holder')
  requireThat(at >= old.until, 'the overlap of this key was not over')
  ledger.keys.set(holder, { hash })
}

/** Requires that the actor held the key that the record names. An act in a session names none. @throws LawBroken */
function requireKeyName(ledger: Ledger, { actor: { kind, id, key }, at }: ReadEvent): void {
  if (key === undefined) return
  const { hash, old } = ledger.keys.get(`${kind}:${id}`) ?? {}
  if (hash?.startsWith(key)) return
  requireThat(old?.hash.startsWith(key) === true, `\`${id}\` did not hold the key that the record names`)
  requireThat(at < old.until + CLOCK_SKEW_MS, `the overlap of the key of \`${id}\` was over`)
}

const holderIn = ({ holder, id }: KeyDetails): string => `${holder}:${id}`

interface LinkIssued {
  readonly link_hash: string
  readonly reviewer: string
  readonly expires_at: string
}

export function linkIssued(ledger: Ledger, { details }: ReadEvent<LinkIssued>): void {
  const { link_hash, reviewer, expires_at } = details
  ledger.links.set(link_hash, { reviewer, expires_at: msOf(expires_at) })
}

interface SessionOpened {
  readonly session_hash: string
  readonly via: 'link' | 'oidc'
  readonly expires_at: string
  readonly link_hash?: string | undefined
  readonly groups?: readonly string[] | undefined
}

export function sessionOpened(ledger: Ledger, { actor, at, details }: ReadEvent<SessionOpened>): void {
  const { session_hash, via, expires_at, link_hash, groups } = details
  if (via === 'link') {
    requireThat(link_hash !== undefined, 'its `link_hash` is missing')
    const link = ledger.links.get(link_hash)
    requireThat(link?.reviewer === actor.id, 'its link was not issued to this reviewer, or was used')
    requireThat(at < link.expires_at + CLOCK_SKEW_MS, 'its link had expired')
    ledger.links.delete(link_hash)
  }
  const session = { reviewer: actor.id, via, groups: vouched(groups, via) }
  ledger.sessions.set(session_hash, session)
  count(ledger, session, { change: 1, until: msOf(expires_at) })
}

interface SessionEnded {
  readonly session_hash: string
  readonly reviewer: string
  readonly via: 'link' | 'oidc'
  readonly reason: SessionEnd
}

export function sessionEnded(ledger: Ledger, { actor, details }: ReadEvent<SessionEnded>): void {
  const { session_hash, reviewer, via, reason } = details
  const session = ledger.sessions.get(session_hash)
  requireThat(session !== undefined && session.reviewer === reviewer, 'no such session was open')
  requireThat(session.via === via, 'the session was opened in another way')
  const isOwn = reason !== 'signed_out' || actor.id === reviewer
  requireThat(isOwn, `\`${actor.id}\` may not sign out another reviewer`)
  ledger.sessions.delete(session_hash)
  count(ledger, session, { change: -1, until: 0 })
}

interface ChatLinked {
  readonly link: string
  readonly expires_at: string
  readonly groups?: readonly string[] | undefined
}

/** A linked account is a way to vote, and proves nothing else. A session of its reviewer must have its groups. */
export function chatLinked(ledger: Ledger, { actor, details }: ReadEvent<ChatLinked>): void {
  const { link, expires_at, groups } = details
  const named = groups && JSON.stringify(groups)
  const sessions = ledger.signedIn.get(wayOf(actor.id))?.groups
  const isVouched = ledger.broken.has(`reviewer:${actor.id}`) || sessions?.has(named) === true
  requireThat(isVouched, 'no session of the reviewer had these groups')
  const account = { reviewer: actor.id, via: 'slack', groups: named }
  ledger.sessions.set(link, account)
  count(ledger, account, { change: 1, until: msOf(expires_at) })
}

interface ChatUnlinked {
  readonly link: string
  readonly reviewer: string
}

export function chatUnlinked(ledger: Ledger, { actor, details }: ReadEvent<ChatUnlinked>): void {
  const { link, reviewer } = details
  const account = ledger.sessions.get(link)
  requireThat(account?.via === 'slack' && account.reviewer === reviewer, 'no such account was linked')
  requireThat(actor.kind !== 'reviewer' || actor.id === reviewer, 'only the reviewer may unlink the account')
  ledger.sessions.delete(link)
  count(ledger, account, { change: -1, until: 0 })
}

function count(
  { signedIn }: Ledger,
  { reviewer, via, groups }: LedgerSession,
  { change, until }: { readonly change: 1 | -1; readonly until: number },
): void {
  const own = wayOf(reviewer, via)
  for (const name of via === 'slack' ? [own] : [wayOf(reviewer), own]) {
    const before = signedIn.get(name) ?? { open: 0, until: 0, groups: new Map<Vouched, number>() }
    const open = before.open + change
    if (open === 0) signedIn.delete(name)
    else signedIn.set(name, { ...before, open, until: Math.max(before.until, until) })
    const same = (before.groups.get(groups) ?? 0) + change
    if (same === 0) before.groups.delete(groups)
    else before.groups.set(groups, same)
    requireThat(before.groups.size <= MOST_VOUCHED, 'no reviewer is in so many groups at once')
  }
}

/** A number far above the groups of one person. Each vote is checked against all of these groups. */
const MOST_VOUCHED = 1_000

function vouched(groups: readonly string[] | undefined, via: string): Vouched {
  requireThat(groups === undefined || via === 'oidc', NOT_VOUCHED)
  return groups && JSON.stringify(groups)
}

/**
 * A time far longer than the time between the check of a session and the act. The body of a request may arrive late.
 */
const SESSION_SKEW_MS = 60 * 60_000

/**
 * A number far above the names that a tenant can freeze (LIMITS.FREEZES), even if that limit is raised. The cost of a
 * check is quadratic in their number.
 */
const MOST_FROZEN = 10_000

interface FreezeDetails {
  readonly epoch: number
  readonly agent?: string | undefined
  readonly tool?: string | undefined
  readonly reviewer?: string | undefined
}

/** Enters the freeze, which voids the votes of a reviewer. Its reason is not in the log. */
export function freezeStarted(ledger: Ledger, record: ReadEvent<FreezeDetails>): void {
  const { actor, at, details } = record
  const by = `${actor.kind}:${actor.id}`
  const freeze = { ...scopeOf(details), reason: '', at, by }
  const after = withFreeze(ledger.freezes, freeze)
  requireThat(after.freezes.length <= MOST_FROZEN, 'no tenant has so many frozen names')
  ledger.freezes = after
  requireEpoch(ledger, record)
}

export function freezeEnded(ledger: Ledger, record: ReadEvent<FreezeDetails>): void {
  const after = withoutFreeze(ledger.freezes, scopeOf(record.details), record.at)
  requireThat(after !== undefined, 'this scope was not frozen')
  ledger.freezes = after
  requireEpoch(ledger, record)
}

function scopeOf({ agent, tool, reviewer }: FreezeDetails): FreezeScope {
  const scope = defined({ agent, tool, reviewer })
  requireThat(Object.keys(scope).length <= 1, 'a freeze names an agent, a tool or a reviewer, but only one')
  return scope
}

function requireEpoch({ freezes }: Ledger, { details: { epoch } }: ReadEvent<FreezeDetails>): void {
  requireThat(epoch === freezes.epoch, `it is freeze ${epoch}, but ${freezes.epoch} is due`)
}

/** How the actor signed in. The end of a review names no way, and is of one commit with the vote before it. */
function viaOf({ last }: Ledger, { actor, type, at, thread, details }: ReadEvent<JsonObject>) {
  // in these records, `via` states how the ended session was opened, perhaps by another person in the same browser
  if (type === 'session.ended') return undefined
  const isOfVote = last?.type === 'vote.cast' && last.thread === thread && last.at === at
  return details['via'] ?? (isOfVote && last.actor.id === actor.id ? last.details['via'] : undefined)
}

/** Requires the actor to have a credential, because every commit guards the credential. @throws LawBroken */
export function requireCredential(ledger: Ledger, record: ReadEvent<JsonObject>): void {
  const { actor, tenant, type, at } = record
  if (tenant === SYSTEM || type === 'session.opened') return
  const via = viaOf(ledger, record)
  requireKeyName(ledger, record)
  if (actor.kind === 'agent')
    requireThat(ledger.keys.has(`agent:${actor.id}`), `\`${actor.id}\` held no key then`)
  if (actor.kind !== 'reviewer') return
  requireThat(!isReviewerFrozen(ledger.freezes, actor.id), `\`${actor.id}\` was frozen then`)
  const byKey = via === undefined || via === 'key'
  const way = via === undefined ? wayOf(actor.id) : wayOf(actor.id, textOf(via, 'via'))
  if (byKey && ledger.keys.has(`reviewer:${actor.id}`)) return
  const signedIn = ledger.signedIn.get(way)
  requireThat(signedIn !== undefined, `\`${actor.id}\` held no key then and was not signed in`)
  const over = at >= signedIn.until + SESSION_SKEW_MS
  requireThat(!over, `\`${actor.id}\` held no key then, and every session had expired`)
}
