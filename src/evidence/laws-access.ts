import { SYSTEM } from '../domain/evidence.ts'
import { type FreezeScope, withFreeze, withoutFreeze } from '../domain/freeze.ts'
import { holds, momentOf, textOf, type ToldRecord } from './record.ts'
import { holdsDrawn, SLACK_MS, type Told, type ToldSession } from './told.ts'

/* Who may act, and what is stopped: keys, links, sessions, freezes and webhooks (design.md sections 5 and 6). */

export function keyIssued(told: Told, { details }: ToldRecord): void {
  const { holder, key_hash } = keyIn(details)
  holds(details['rotated'] === told.keys.has(holder), 'whether it replaces a key is told wrong')
  holdsDrawn(told, key_hash, 'key')
  told.keys.set(holder, key_hash)
}

export function keyRevoked(told: Told, { details }: ToldRecord): void {
  const { holder, key_hash } = keyIn(details)
  holds(told.keys.get(holder) === key_hash, 'nobody held this key')
  told.keys.delete(holder)
}

function keyIn(details: ToldRecord['details']): { readonly holder: string; readonly key_hash: string } {
  const holder = `${textOf(details['holder'], 'holder')}:${textOf(details['id'], 'id')}`
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
  holdsDrawn(told, hash, 'session')
  if (via === 'link') {
    const link_hash = textOf(details['link_hash'], 'link_hash')
    const link = told.links.get(link_hash)
    holds(link?.reviewer === actor.id, 'its link was not issued to this reviewer, or was used')
    holds(at < link.expires_at + SLACK_MS, 'the time of its link was over')
    told.links.delete(link_hash)
  }
  const session = { reviewer: actor.id, via }
  told.sessions.set(hash, session)
  count(told, session, 1)
}

export function sessionEnded(told: Told, { details }: ToldRecord): void {
  const hash = textOf(details['session_hash'], 'session_hash')
  const session = told.sessions.get(hash)
  holds(session !== undefined && session.reviewer === details['reviewer'], 'no such session was open')
  told.sessions.delete(hash)
  count(told, session, -1)
}

/** As JSON, because a name in a file may hold anything. */
const wayOf = (...names: readonly string[]): string => JSON.stringify(names)

function count({ signedIn }: Told, { reviewer, via }: ToldSession, change: 1 | -1): void {
  for (const name of [wayOf(reviewer), wayOf(reviewer, via)]) {
    const open = (signedIn.get(name) ?? 0) + change
    if (open === 0) signedIn.delete(name)
    else signedIn.set(name, open)
  }
}

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

export function webhookCreated(told: Told, { details }: ToldRecord): void {
  const id = textOf(details['id'], 'id')
  holds(!told.webhooks.has(id), 'this webhook was created before')
  told.webhooks.add(id)
}

/** What was sent before, or is still on its way, may end when the webhook is gone. */
export function webhookKnown(told: Told, { details }: ToldRecord): void {
  holds(told.webhooks.has(webhookOf({ details })), 'this webhook was never created')
}

const webhookOf = ({ details }: Pick<ToldRecord, 'details'>): string =>
  textOf(details['webhook'] ?? details['id'], 'id')

/** What is changed of a webhook is changed in the list of those that are there. */
export function webhookChanged(told: Told, record: ToldRecord): void {
  webhookKnown(told, record)
  holds(!told.goneWebhooks.has(webhookOf(record)), 'this webhook was deleted before')
}

export function webhookDeleted(told: Told, record: ToldRecord): void {
  webhookChanged(told, record)
  told.goneWebhooks.add(webhookOf(record))
}

/** Whoever acts holds a credential: every commit guards it. @throws BrokenLaw */
export function holdsCredential(told: Told, { actor, tenant, type, details }: ToldRecord): void {
  if (tenant === SYSTEM || type === 'session.opened') return
  // there it says how the session was opened that ends, which may be that of somebody else before in the same browser
  const via = type === 'session.ended' ? undefined : details['via']
  if (actor.kind === 'agent') holds(told.keys.has(`agent:${actor.id}`), `\`${actor.id}\` held no key then`)
  if (actor.kind !== 'reviewer') return
  const byKey = via === undefined || via === 'key'
  const way = via === undefined ? wayOf(actor.id) : wayOf(actor.id, textOf(via, 'via'))
  const proved = (byKey && told.keys.has(`reviewer:${actor.id}`)) || told.signedIn.has(way)
  holds(proved, `\`${actor.id}\` held no key then, and was not signed in`)
}
