import { alone, event, type Who } from './event.ts'
import { flag, moment, number, oneOf, optional, text, texts } from '../record/field.ts'
import {
  chatLinked,
  chatUnlinked,
  freezeEnded,
  freezeStarted,
  keyExpired,
  keyIssued,
  keyRevoked,
  linkIssued,
  logStarted,
  sessionEnded,
  sessionOpened,
} from '../laws/access.ts'
import { legalHoldEnded, legalHoldStarted } from '../laws/legal-holds.ts'
import { UNLINK_REASONS, type UnlinkReason } from '../../domain/linked-account.ts'
import type { SessionEnd } from '../../domain/session.ts'

const reviewer = text('the reviewer')
const link = text('a random name of the link')
const session_hash = text('SHA-256 of the session')
const via = oneOf(['link', 'oidc'], 'the kind of sign-in')

const KEY = {
  holder: oneOf(['agent', 'reviewer'], 'the kind of holder of the key'),
  id: text('the holder of the key'),
  key_hash: text('SHA-256 of the key'),
}

const FREEZE = {
  agent: optional(text('the agent')),
  epoch: number('the freeze epoch that began'),
  reviewer: optional(text('the reviewer')),
  tool: optional(text('the tool')),
}

const REASON = { reason: text("the administrator's reason") }
const LEGAL_HOLD = {
  agent: optional(text('the agent')),
  task_id: optional(text('the task')),
  thread_id: optional(text('the thread')),
}

const LOAD = {
  commit: optional(text('the commit of the bundle')),
  files: optional(number('files of the bundle')),
  revision: optional(text('the bundle revision')),
  rules: optional(number('rules of the bundle')),
}

const ERRORS = { errors: optional(texts('the first errors')) }

const TIMER: readonly Who[] = ['gateway:timer']

/** Another sign-in in the same browser may belong to another person, even of another tenant. */
const SESSION_ENDS: Readonly<Record<SessionEnd, readonly Who[]>> = {
  idle: TIMER,
  expired: TIMER,
  removed: TIMER,
  changed: TIMER,
  signed_out: ['reviewer'],
  replaced: ['reviewer', 'gateway:sign-in'],
  ended_by_admin: ['admin'],
  frozen: ['gateway:freeze'],
}

const UNLINKS: Readonly<Record<UnlinkReason, readonly Who[]>> = {
  unlinked: ['reviewer'],
  signed_out: ['reviewer'],
  renewed: ['reviewer'],
  ended_by_admin: ['admin'],
  frozen: ['gateway:freeze'],
  expired: TIMER,
  removed: TIMER,
  changed: TIMER,
}

const actorsOf = (ends: Readonly<Record<string, readonly Who[]>>): readonly Who[] => [
  ...new Set(Object.values(ends).flat()),
]

export const ACCESS = {
  'freeze.started': event({
    of: 'freeze',
    says: 'began',
    by: ['admin', 'reviewer'],
    logged: FREEZE,
    disclosed: REASON,
    law: freezeStarted,
  }),
  'freeze.ended': event({
    of: 'freeze',
    says: 'ended',
    by: ['admin', 'reviewer'],
    logged: FREEZE,
    disclosed: REASON,
    law: freezeEnded,
  }),
  'legal_hold.started': event({
    of: 'legal hold',
    says: 'began',
    by: ['admin'],
    logged: LEGAL_HOLD,
    disclosed: REASON,
    law: legalHoldStarted,
  }),
  'legal_hold.ended': event({
    of: 'legal hold',
    says: 'ended',
    by: ['admin'],
    logged: LEGAL_HOLD,
    disclosed: REASON,
    law: legalHoldEnded,
  }),
  'key.issued': event({
    of: 'key',
    says: 'was issued',
    by: ['admin'],
    logged: {
      ...KEY,
      old_key_until: optional(moment('the end of the old key')),
      rotated: flag('whether the new key replaces another key'),
    },
    fresh: ['key_hash', 'key'],
    law: keyIssued,
  }),
  'admin_key.rotated': event({
    of: 'admin key',
    says: 'was rotated',
    by: ['admin'],
    system: true,
    logged: {
      key_name: text('the first characters of SHA-256 of the new key'),
      old_key_until: optional(moment('the end of the old key')),
    },
    law: alone,
  }),
  'log.started': event({
    of: 'new log of evidence',
    says: 'was started',
    by: ['admin'],
    system: 'too',
    logged: {
      log: number('the number of the log'),
      origin: text('the origin of its checkpoints'),
      previous: text('the last note of the log before it'),
    },
    disclosed: REASON,
    law: logStarted,
  }),
  'key.revoked': event({ of: 'key', says: 'was revoked', by: ['admin'], logged: KEY, law: keyRevoked }),
  'key.expired': event({
    of: 'old key',
    says: 'expired',
    by: ['gateway:timer'],
    logged: KEY,
    law: keyExpired,
  }),
  'link.issued': event({
    of: 'link',
    says: 'was issued',
    by: ['admin'],
    logged: {
      expires_at: moment('the expiry of the link'),
      link_hash: text('SHA-256 of the link'),
      reviewer,
    },
    fresh: ['link_hash', 'link'],
    law: linkIssued,
  }),
  'session.opened': event({
    of: 'session',
    says: 'began',
    by: ['reviewer'],
    logged: {
      expires_at: moment('the expiry of the session'),
      groups: optional(texts('groups of the reviewer, from the identity provider')),
      issuer: optional(text('the identity provider')),
      link_hash: optional(text('SHA-256 of the link that opened the session')),
      session_hash,
      via,
    },
    disclosed: { subject: optional(text("the identity provider's name of the reviewer")) },
    fresh: ['session_hash', 'session'],
    law: sessionOpened,
    count: (meter, { details: { via } }) => meter.count('signIns', { via, result: 'ok' }),
  }),
  'session.ended': event({
    of: 'session',
    says: 'ended',
    by: actorsOf(SESSION_ENDS),
    ends: ['session', SESSION_ENDS],
    logged: { reason: oneOf(Object.keys(SESSION_ENDS) as SessionEnd[], 'why'), reviewer, session_hash, via },
    law: sessionEnded,
  }),
  'chat.linked': event({
    of: 'linked account',
    says: 'was made',
    by: ['reviewer'],
    logged: {
      expires_at: moment('the latest end of the link'),
      groups: optional(texts('groups of the reviewer, from the identity provider')),
      link,
    },
    disclosed: {
      member: text("the chat's id of the member"),
      workspace: text("the chat's id of the workspace"),
    },
    fresh: ['link', 'link'],
    law: chatLinked,
  }),
  'chat.unlinked': event({
    of: 'linked account',
    says: 'ended',
    by: actorsOf(UNLINKS),
    ends: ['link', UNLINKS],
    logged: { link, reason: oneOf(UNLINK_REASONS, 'why'), reviewer },
    law: chatUnlinked,
  }),
  'policy.loaded': event({
    of: 'bundle',
    says: 'is in force',
    by: ['gateway:policies'],
    system: true,
    logged: LOAD,
    disclosed: ERRORS,
    law: alone,
  }),
  'policy.failed': event({
    of: 'bundle',
    says: 'was refused',
    by: ['gateway:policies'],
    system: true,
    logged: LOAD,
    disclosed: ERRORS,
    law: alone,
  }),
  'policy.withdrawn': event({
    of: 'bundle',
    says: 'gives less, because a newer directory takes away',
    by: ['gateway:policies'],
    system: true,
    logged: {
      agents: number('agents that lost a tool or every right'),
      directory: text('SHA-256 of the newer directory.yaml'),
      reviewers: number('reviewers who lost a group, a role or every right'),
      revision: text('the bundle revision'),
    },
    law: alone,
  }),
  'evidence.read': event({
    of: 'evidence',
    says: 'was read',
    by: ['admin', 'reviewer'],
    system: true,
    logged: {
      after: number('records above this number'),
      disclosures: optional(flag('`true`: with their disclosures')),
      limit: number('the most records'),
      tenant: text('the tenant whose records were read'),
    },
    law: alone,
  }),
}
