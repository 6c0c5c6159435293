import type { Actor, EvidenceType } from '../domain/evidence.ts'
import { holds, type ToldRecord } from './record.ts'

type Kind = Actor['kind']

const AGENT: readonly Kind[] = ['agent']
const REVIEWER: readonly Kind[] = ['reviewer']
const GATEWAY: readonly Kind[] = ['gateway']
/** Credentials are issued by the admin key alone (docs/operations.md). */
const ADMIN: readonly Kind[] = ['admin']
/** The admin key, or a reviewer with the admin role. */
const ADMINISTRATOR: readonly Kind[] = ['admin', 'reviewer']

/** For every type of record: who can have done what it tells. */
const ACTORS: Readonly<Record<EvidenceType, readonly Kind[]>> = {
  'decision.allowed': AGENT,
  'decision.rejected': AGENT,
  'review.pending': AGENT,
  'review.revised': AGENT,
  'review.approved': ['reviewer', 'gateway'],
  'review.rejected': ['reviewer', 'gateway'],
  'review.changes_requested': REVIEWER,
  'review.expired': GATEWAY,
  'review.frozen': GATEWAY,
  'review.withdrawn': AGENT,
  'review.reminded': GATEWAY,
  'review.escalated': GATEWAY,
  'vote.cast': REVIEWER,
  'approval.collected': AGENT,
  'approval.revoked': AGENT,
  'approval.released': GATEWAY,
  'token.minted': AGENT,
  'token.redeemed': AGENT,
  'token.refused': AGENT,
  'thread.commented': REVIEWER,
  'thread.claimed': REVIEWER,
  'thread.released': REVIEWER,
  'payload.revealed': REVIEWER,
  'webhook.created': ADMINISTRATOR,
  'webhook.secret_rotated': ADMINISTRATOR,
  'webhook.paused': [...ADMINISTRATOR, 'gateway'],
  'webhook.resumed': ADMINISTRATOR,
  'webhook.deleted': ADMINISTRATOR,
  'webhook.delivered': GATEWAY,
  'webhook.given_up': GATEWAY,
  'webhook.redelivered': ADMINISTRATOR,
  'webhook.pinged': ADMINISTRATOR,
  'agent.event': AGENT,
  'freeze.started': ADMINISTRATOR,
  'freeze.ended': ADMINISTRATOR,
  'key.issued': ADMIN,
  'key.revoked': ADMIN,
  'key.expired': GATEWAY,
  'link.issued': ADMIN,
  'session.opened': REVIEWER,
  'session.ended': ['reviewer', 'admin', 'gateway'],
  'policy.loaded': GATEWAY,
  'policy.failed': GATEWAY,
  'evidence.read': ADMINISTRATOR,
}

/** Part of the gateway that does it: neither it nor the admin key has another name, least of all that of a person. */
const PARTS: Readonly<Partial<Record<EvidenceType, readonly string[]>>> = {
  'review.approved': ['quorum'],
  'review.rejected': ['policy'],
  'review.expired': ['timer'],
  'review.frozen': ['freeze'],
  'review.reminded': ['timer'],
  'review.escalated': ['timer'],
  'approval.released': ['timer'],
  'webhook.paused': ['webhooks'],
  'webhook.delivered': ['webhooks'],
  'webhook.given_up': ['webhooks'],
  'session.ended': ['timer', 'sign-in'],
  'key.expired': ['timer'],
  'policy.loaded': ['policies'],
  'policy.failed': ['policies'],
}

/** @throws BrokenLaw */
export function holdsActor({ type, actor: { kind, id } }: ToldRecord): void {
  holds(ACTORS[type].includes(kind), `no ${kind} does that`)
  holds(kind !== 'admin' || id === 'admin', 'the admin key has no other name')
  holds(
    kind !== 'gateway' || PARTS[type]?.includes(id) === true,
    `no part of the gateway named \`${id}\` does that`,
  )
}
