import { SYSTEM } from '../domain/evidence.ts'
import { type FreezeScope, withFreeze, withoutFreeze } from '../domain/freeze.ts'
import { groupsEver } from '../domain/quorum.ts'
import type { SessionEnd } from '../domain/session.ts'
import { holds, listOf, momentOf, textOf, type ToldRecord } from './record.ts'
import type { ToldPerson, ToldRequirement } from './requirement.ts'
import { holdsDrawn, SLACK_MS, type Told, type ToldSession, type Vouched } from './told.ts'

/* Who may act, and what is stopped: keys, links, sessions and freezes (docs/signing-in.md and docs/operations.md). */

const HOLDERS: readonly string[] = ['agent', 'reviewer']
const WAYS: readonly string[] = ['link', 'oidc']

export function keyIssued(told: Told, { at, details }: ToldRecord): void {
  const { holder, key_hash } = keyIn(details)
  const before = told.keys.get(holder)
  holds(details['rotated'] === (before !== undefined), 'whether it replaces a key is told wrong')
  holdsDrawn(told, key_hash, 'key')
  const until = details['old_key_until']
  if (until === undefined) {
    told.keys.set(holder, { hash: key_hash })
    return
  }
  const over = momentOf(until, 'old_key_until')
  holds(before !== undefined && over > at, 'there is no old key that could go on')
  told.keys.set(holder, { hash: key_hash, old: { hash: before.hash, until: over } })
}

export function keyRevoked(told: Told, { details }: ToldRecord): void {
  const { holder, key_hash } = keyIn(details)
  holds(told.keys.get(holder)?.hash === key_hash, 'nobody held this key')
  told.keys.delete(holder)
}

/** The old key of two ends by its time alone. */
export function keyExpired(told: Told, { at, details }: ToldRecord): void {
  const { holder, key_hash } = keyIn(details)
  const { hash, old } = told.keys.get(holder) ?? {}
  holds(hash !== undefined && old?.hash === key_hash, 'this was no old key of this holder')
  holds(at >= old.until, 'the overlap of this key was not over')
  told.keys.set(holder, { hash })
}

/** The key under which the record's actor acts: the one that is named, or the only one. */
export function keyHeld(told: Told, { actor: { kind, id, key } }: ToldRecord): string | undefined {
  const { hash, old } = told.keys.get(`${kind}:${id}`) ?? {}
  return key !== undefined && old?.hash.startsWith(key) === true ? old.hash : hash
}

/** Which of the keys the record names; records of before this was kept name none. @throws BrokenLaw */
function holdsKeyName(told: Told, { actor: { kind, id, key }, at }: ToldRecord): void {
  if (key === undefined) return
  const { hash, old } = told.keys.get(`${kind}:${id}`) ?? {}
  if (hash?.startsWith(key)) return
  holds(old?.hash.startsWith(key) === true, `\`${id}\` did not hold the key that it names`)
  holds(at < old.until + SLACK_MS, `the overlap of the key of \`${id}\` was over`)
}

function keyIn(details: ToldRecord['details']): { readonly holder: string; readonly key_hash: string } {
  const kind = textOf(details['holder'], 'holder')
  holds(HOLDERS.includes(kind), 'only agents and reviewers hold keys')
  const holder = `${kind}:${textOf(details['id'], 'id')}`
  return { holder, key_hash: textOf(details['key_hash'], 'key_hash') }
}

export function linkIssued(told: Told, { details }: ToldRecord): void {
  const hash = textOf(details['link_hash'], 'link_hash')
  holdsDrawn(told, hash, 'link')
  told.links.set(hash, {
    reviewer: textOf(details['reviewer'], 'reviewer'),
    expires_at: momentOf(details['expires_at'], 'expires_at'),
  })
}

export function sessionOpened(told: Told, { actor, at, details }: ToldRecord): void {
  const hash = textOf(details['session_hash'], 'session_hash')
  const via = textOf(details['via'], 'via')
  holds(WAYS.includes(via), `nobody signs in by ${JSON.stringify(via)}`)
  const expires_at = momentOf(details['expires_at'], 'expires_at')
  holdsDrawn(told, hash, 'session')
  if (via === 'link') {
    const link_hash = textOf(details['link_hash'], 'link_hash')
    const link = told.links.get(link_hash)
    holds(link?.reviewer === actor.id, 'its link was not issued to this reviewer, or was used')
    holds(at < link.expires_at + SLACK_MS, 'the time of its link was over')
    told.links.delete(link_hash)
  }
  const session = { reviewer: actor.id, via, groups: vouchedIn(details, via) }
  told.sessions.set(hash, session)
  count(told, session, { change: 1, until: expires_at })
}

export function sessionEnded(told: Told, record: ToldRecord): void {
  const { details } = record
  const hash = textOf(details['session_hash'], 'session_hash')
  const session = told.sessions.get(hash)
  const { reviewer, via } = details
  holds(session !== undefined && session.reviewer === reviewer, 'no such session was open')
  holds(session.via === via, 'it was opened by another way')
  holdsEnd(record)
  told.sessions.delete(hash)
  count(told, session, { change: -1, until: 0 })
}

/** Who ends a session, by why it ends. Another sign-in in the same browser may be of somebody else, and of another tenant. */
const ENDS: Readonly<Record<SessionEnd, readonly string[]>> = {
  idle: ['gateway:timer'],
  expired: ['gateway:timer'],
  removed: ['gateway:timer'],
  changed: ['gateway:timer'],
  signed_out: ['reviewer'],
  replaced: ['reviewer', 'gateway:sign-in'],
  ended_by_admin: ['admin'],
}

function holdsEnd({ actor: { kind, id }, details: { reason, reviewer } }: ToldRecord): void {
  const known = typeof reason === 'string' && Object.hasOwn(ENDS, reason)
  holds(known, `no session ends as ${JSON.stringify(reason)}`)
  const who = kind === 'gateway' ? `gateway:${id}` : kind
  holds(ENDS[reason as SessionEnd].includes(who), `\`${id}\` ends no session as \`${reason}\``)
  holds(reason !== 'signed_out' || id === reviewer, `\`${id}\` signs nobody else out`)
}

/** As JSON, because a name in a file may hold anything. */
const wayOf = (...names: readonly string[]): string => JSON.stringify(names)

function count(
  { signedIn }: Told,
  { reviewer, via, groups }: ToldSession,
  { change, until }: { readonly change: 1 | -1; readonly until: number },
): void {
  for (const name of [wayOf(reviewer), wayOf(reviewer, via)]) {
    const before = signedIn.get(name) ?? { open: 0, until: 0, groups: new Map<Vouched, number>() }
    const open = before.open + change
    if (open === 0) signedIn.delete(name)
    else signedIn.set(name, { ...before, open, until: Math.max(before.until, until) })
    const same = (before.groups.get(groups) ?? 0) + change
    if (same === 0) before.groups.delete(groups)
    else before.groups.set(groups, same)
    holds(before.groups.size <= MOST_VOUCHED, 'nobody is in so many groups at once')
  }
}

/** Far more than one person can be told to be in at the same time: each vote is held against all of them. */
const MOST_VOUCHED = 1_000

function vouchedIn({ groups }: ToldRecord['details'], via: string): Vouched {
  if (groups === undefined) return undefined
  holds(via === 'oidc', NOT_VOUCHED)
  return JSON.stringify(listOf(groups, 'groups').map((one) => textOf(one, 'groups')))
}

const NOT_VOUCHED = 'only a single sign-on vouches for groups'

/** The groups beside a vote are those of a session of that person, as far as they can fill a seat: none is added, and none kept quiet about. @throws BrokenLaw */
export function holdsVouched(
  told: Told,
  { reviewer, via, groups }: ToldPerson & { readonly via: string },
  requirement: ToldRequirement,
): void {
  if (via !== 'oidc') return holds(groups === undefined, NOT_VOUCHED)
  const wanted = new Set(groupsEver(requirement))
  const text = groups && JSON.stringify(groups)
  const sessions = told.signedIn.get(wayOf(reviewer, via))?.groups.keys() ?? []
  const vouched = [...sessions].some((all) => thatCount(all, wanted) === text)
  holds(vouched, `no single sign-on of \`${reviewer}\` vouched for these groups`)
}

function thatCount(all: Vouched, wanted: ReadonlySet<string>): Vouched {
  return all && JSON.stringify((JSON.parse(all) as string[]).filter((group) => wanted.has(group)))
}

/** Much more than lies between the look at a session and what it does: its body may be slow to come. */
const SESSION_SLACK_MS = 60 * 60_000

/** Far more names than a tenant can freeze (LIMITS.FREEZES), whatever that becomes: each of them costs as much as all before it. */
const MOST_FROZEN = 10_000

export function freezeStarted(told: Told, record: ToldRecord): void {
  const { actor, at, details } = record
  const by = `${actor.kind}:${actor.id}`
  const freeze = { ...scopeOf(record), reason: textOf(details['reason'], 'reason'), at, by }
  const after = withFreeze(told.freezes, freeze)
  holds(after.freezes.length <= MOST_FROZEN, 'no tenant has so many frozen names')
  told.freezes = after
  holdsEpoch(told, record)
}

export function freezeEnded(told: Told, record: ToldRecord): void {
  const after = withoutFreeze(told.freezes, scopeOf(record), record.at)
  holds(after !== undefined, 'this was not frozen')
  told.freezes = after
  holdsEpoch(told, record)
}

function scopeOf({ details: { agent, tool } }: ToldRecord): FreezeScope {
  holds(agent === undefined || tool === undefined, 'a freeze is of an agent or of a tool')
  return {
    ...(agent === undefined ? {} : { agent: textOf(agent, 'agent') }),
    ...(tool === undefined ? {} : { tool: textOf(tool, 'tool') }),
  }
}

function holdsEpoch({ freezes }: Told, { details: { epoch } }: ToldRecord): void {
  holds(epoch === freezes.epoch, `it is freeze ${JSON.stringify(epoch)}, and ${freezes.epoch} is due`)
}

/** Whoever acts holds a credential: every commit guards it. @throws BrokenLaw */
export function holdsCredential(told: Told, record: ToldRecord): void {
  const { actor, tenant, type, at, details } = record
  if (tenant === SYSTEM || type === 'session.opened') return
  // there it says how the session was opened that ends, which may be that of somebody else before in the same browser
  const via = type === 'session.ended' ? undefined : details['via']
  holdsKeyName(told, record)
  if (actor.kind === 'agent') holds(told.keys.has(`agent:${actor.id}`), `\`${actor.id}\` held no key then`)
  if (actor.kind !== 'reviewer') return
  const byKey = via === undefined || via === 'key'
  const way = via === undefined ? wayOf(actor.id) : wayOf(actor.id, textOf(via, 'via'))
  if (byKey && told.keys.has(`reviewer:${actor.id}`)) return
  const signedIn = told.signedIn.get(way)
  holds(signedIn !== undefined, `\`${actor.id}\` held no key then, and was not signed in`)
  const over = at >= signedIn.until + SESSION_SLACK_MS
  holds(!over, `\`${actor.id}\` held no key then, and the time of every session was over`)
}
