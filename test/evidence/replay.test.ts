import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import { displayedDigest, type ShownParts } from '../../src/domain/digest.ts'
import { EVENTS, kindOf } from '../../src/events/events.ts'
import { Replay } from '../../src/evidence/replay.ts'
import { IS_SOAK } from '../runs.ts'
import {
  APPROVED,
  approved,
  ASKED,
  at,
  decided,
  freeze,
  legalHold,
  keyOf,
  KEYS,
  minted,
  pending,
  record,
  REDEEMED,
  redeemed,
  reissued,
  ruled,
  TOKEN_HASH,
  refused,
  revised,
  THREAD,
  reported,
  voted,
} from './records.ts'

/** Each kind of record has one law: possible records pass, and each clause of the law refuses an impossible record. */

const first = (records: readonly JsonObject[]): string | undefined => {
  const replay = new Replay()
  const faults = [...KEYS, ...records].map((one) => replay.take(one, one['disclosed'] as JsonObject))
  return [...faults, replay.end()].find((fault) => fault !== undefined)
}

const ANN = 'reviewer:ann'
const BEN = 'reviewer:ben'
const TIMER = 'gateway:timer'
const SECONDS = { late: 62, expired: 32 }
const TWO = { expires_ms: 60_000, seats: [{ approvals: 2, escalate: [], group: 'desk' }] }
const ESCALATING = {
  ...TWO,
  seats: [{ approvals: 2, escalate: [{ after_ms: 10_000, group: 'leads' }], group: 'desk' }],
}
const BOTH = {
  expires_ms: 60_000,
  seats: [
    { approvals: 1, escalate: [], group: 'desk' },
    { approvals: 1, escalate: [], group: 'legal' },
  ],
}
const SIGNED_TWO = { ...TWO, interactive: true }
const SIGNED_IN = { ...ASKED, interactive: true }
const plain = { task_id: undefined, thread_id: undefined, revision: undefined, tool: undefined }

const rejectedBy = (by: string, details: JsonObject = {}): JsonObject =>
  record('review.rejected', { by, details: { voters: ['ann'], digest: 'd', waited_ms: 0, ...details } })
const changes = (by: string, details: JsonObject = {}): JsonObject =>
  record('review.changes_requested', {
    by,
    details: { voters: ['ann'], digest: 'd', waited_ms: 0, ...details },
  })
const expired = (was: string, seconds: number = SECONDS.late): JsonObject =>
  record('review.expired', { by: TIMER, at: seconds, details: { was, waited_ms: (seconds - 1) * 1_000 } })
const frozen = (was: string): JsonObject =>
  record('review.frozen', { by: 'gateway:freeze', details: { was, waited_ms: 0 } })
const withdrawn = (was: string, parts: Parameters<typeof record>[1] = {}): JsonObject =>
  record('review.withdrawn', { details: { was, waited_ms: 0, commitment: 'c' }, ...parts })
const reminded = (seconds = 1): JsonObject =>
  record('review.reminded', { by: TIMER, details: { due_at: at(seconds), groups: ['desk'] } })
/** Ten seconds after the request, unless said otherwise. */
const escalated = (to: string, seconds = 11): JsonObject =>
  record('review.escalated', {
    by: TIMER,
    at: seconds,
    details: { due_at: at(seconds), groups: ['desk'], to },
  })
/** A session whose groups an identity provider vouches for. */
const signedInOf = (groups: string[], by = ANN): JsonObject =>
  opened(`sso of ${by}`, { via: 'oidc', groups }, by)
const votedOf = (groups: string[], parts: Parameters<typeof voted>[2] = {}, by = ANN): JsonObject =>
  voted(by, 'approve', { ...parts, details: { via: 'oidc', groups } })
const raisedTo = (requirement: JsonObject): JsonObject =>
  record('requirement.raised', { by: 'gateway:policies', details: { policy: 'b', requirement } })
const collected = (): JsonObject => record('approval.collected', { details: { signed: false } })
/** An outcome of a thread; the records of KEYS come first. */
const over = (of: number | undefined, parts: Parameters<typeof record>[1] = {}): JsonObject =>
  record('call.ended', {
    ...parts,
    details: { outcome: 'executed', run: '1', ...(of !== undefined && { of }), ...parts.details },
  })
const atOnce = { thread_id: undefined, revision: undefined }
const EXPECTED = decided('allow', ['a'], { details: { outcome_by: at(600) } })
const UNMATCHED = { details: { unmatched: true } }
const NOT_ALLOWED = (of: number): string =>
  `record ${of} did not allow this call, or its outcome was recorded before`
const revoked = (): JsonObject => record('approval.revoked', { details: { code: 'policy_changed' } })
const released = (seconds: number): JsonObject => record('approval.released', { by: TIMER, at: seconds })
const desk = (
  type: 'thread.commented' | 'thread.claimed' | 'thread.released' | 'payload.revealed',
  more = {},
) => record(type, { by: ANN, details: { via: 'key' }, ...more })
const link = (hash: string, reviewer = 'ann'): JsonObject =>
  record('link.issued', {
    ...plain,
    by: 'admin:admin',
    details: { link_hash: hash, reviewer, expires_at: at(50) },
  })
const opened = (hash: string, details: JsonObject = { via: 'link', link_hash: 'l' }, by = ANN): JsonObject =>
  record('session.opened', {
    ...plain,
    by,
    details: { session_hash: hash, expires_at: at(3_600), ...details },
  })
const ended = (hash: string, details: JsonObject = {}, by = TIMER): JsonObject =>
  record('session.ended', {
    ...plain,
    by,
    details: { session_hash: hash, reviewer: 'ann', via: 'oidc', reason: 'idle', ...details },
  })
const linked = (name: string, details: JsonObject = {}): JsonObject =>
  record('chat.linked', {
    ...plain,
    by: ANN,
    details: { link: name, expires_at: at(3_600), commitment: 'c', ...details },
  })
const SIGNED = opened('for the link', { via: 'oidc' })
const unlinked = (name: string, reason: string, by: string, reviewer = 'ann'): JsonObject =>
  record('chat.unlinked', { ...plain, by, details: { link: name, reviewer, reason } })
const keyGone = (holder: string, id: string, key_hash = `key of ${id}`): JsonObject =>
  record('key.revoked', { ...plain, by: 'admin:admin', details: { holder, id, key_hash } })
const keyOver = (id: string, seconds: number): JsonObject =>
  record('key.expired', {
    ...plain,
    by: TIMER,
    at: seconds,
    details: { holder: 'agent', id, key_hash: `key of ${id}` },
  })
/** A new key for the bot, whose old one works for five seconds more. */
const OVERLAP = keyOf('agent', 'bot', { rotated: true, key_hash: 'new', old_key_until: at(6) })
/** The record, with the key that its actor names. */
const named = (key: string, of: JsonObject): JsonObject => ({
  ...of,
  actor: { ...(of['actor'] as object), key },
})
const webhook = (
  what: 'created' | 'secret_rotated' | 'paused' | 'resumed' | 'deleted' | 'pinged' | 'redelivered',
  details: JsonObject,
): JsonObject => record(`webhook.${what}`, { ...plain, by: 'admin:admin', details })
const FORM = { format: 'event', payload: 'thin', url: 'https://hooks.example' }
const lapsed = (up_to: number): JsonObject =>
  record('disclosures.expired', { ...plain, by: 'gateway:timer', details: { up_to } })
const erased = (records: JsonValue, members = 9): JsonObject =>
  record('disclosures.erased', {
    ...plain,
    by: 'admin:admin',
    details: { members, reason: 'asked for', records, threads: 0 },
  })
const lost = (from: number, to: number, roots = 1): JsonObject =>
  record('log.lost', {
    ...plain,
    by: 'admin:admin',
    details: { from, reason: 'a fire', roots: Array.from({ length: roots }, () => 'r'), to },
  })
const FILE = Array.from({ length: 256 }, () => decided('allow'))
const WEBHOOK = webhook('created', { id: 'w', ...FORM })
const SETTLED = { ...plain, by: 'gateway:webhooks' }
const DELIVERY = { webhook: 'w', delivery: 'd1', attempts: 9, result: '500' }
/** To the webhook `w`; of THREAD unless said otherwise. */
const delivered = (
  delivery: string,
  event: string,
  details: JsonObject = { thread_id: THREAD },
): JsonObject =>
  record('webhook.delivered', {
    ...SETTLED,
    details: { webhook: 'w', delivery, event, attempts: 1, result: '200', ...details },
  })
const used = (details: JsonObject): Parameters<typeof decided>[2] => ({
  details: { limits: [{ amount: 1, id: 'many', over: true }], ...details },
})
const COMMENT = { details: { commitment: 'c', via: 'key' } }
/** No policy was asked. */
const resumed = (by = 'gateway:freeze'): JsonObject =>
  record('review.resumed', { by, details: { risk: 'low' } })
const FROZEN = decided('reject', ['frozen'], { details: { policy: 'none', rules: [] } })
/** By a rule that had not fired before. */
const REJECTED_REVISION = revised(ASKED, { details: { verdict: 'reject', by: ['q'], rules: ['q'] } })
const HIGH = { risk: 'high', policy_risk: 'high' }
const SSO = { details: { via: 'oidc' } }

/** The values that ann's page displayed of the first revision. */
const displayed = (known: Partial<ShownParts> = {}, more: JsonObject = {}, extent = 'all') => {
  const shown = {
    thread_id: THREAD,
    revision: 1,
    revision_digest: 'd',
    bundle: 'bundle',
    level: 'low',
    reviewer: 'ann',
  }
  const seen = ['payload.amount']
  const digest = displayedDigest({ ...shown, seen, ...known })
  const display: JsonObject = { digest, seen, unseen: ['payload.to'], ms: 14, ...more }
  return { details: { displayed: extent, commitment: 'c' }, disclosed: { display } }
}
const NOTHING_SHOWN = { details: { displayed: 'none' } }
const DISPLAYED = { ...ASKED, require_displayed: true }
const COMMENTED = { ...ASKED, require_comment: true }

const logStarted = (log: number, details: JsonObject = {}): JsonObject =>
  record('log.started', {
    ...plain,
    by: 'admin:admin',
    details: {
      log,
      origin: `countersign/x/acme/${log}`,
      previous: `countersign/x/acme${log === 2 ? '' : `/${log - 1}`}\n7\n`,
      ...details,
    },
  })

const POSSIBLE: readonly [string, JsonObject[]][] = [
  ['two losses of record files', [...FILE, ...FILE, decided('allow'), lost(257, 512), lost(1, 256)]],
  ['calls in three logs', [decided('allow'), logStarted(2), decided('allow'), logStarted(4)]],
  ['calls decided at once', [decided('allow'), decided('reject')]],
  ['approved, collected, redeemed', [...REDEEMED, refused('used')]],
  [
    'lost proofs replaced, and the last one redeemed',
    [
      ...APPROVED,
      minted(),
      reissued(TOKEN_HASH, 'u'),
      reissued('u', 'v'),
      refused('invalid', { thread_id: undefined, revision: undefined }),
      redeemed({ details: { token_hash: 'v' } }),
    ],
  ],
  ['approved by a rule, collected, redeemed', [ruled(), minted(), redeemed(), refused('used')]],
  ['approved by a rule, never collected', [ruled(), expired('approved')]],
  ['approved by two', [pending(TWO), voted(ANN), voted(BEN), approved(BEN, ['ann', 'ben'])]],
  [
    'approved by an escalation',
    [
      pending(ESCALATING),
      voted(ANN),
      voted(BEN),
      escalated('leads'),
      approved('gateway:quorum', ['ann', 'ben']),
    ],
  ],
  [
    'raised after its approval, and approved by two, one of them again',
    [
      ...APPROVED,
      raisedTo(SIGNED_TWO),
      opened('s of ann', { via: 'oidc', groups: ['desk'] }),
      opened('s of ben', { via: 'oidc', groups: ['desk'] }, BEN),
      votedOf(['desk']),
      votedOf(['desk'], {}, BEN),
      approved(BEN, ['ann', 'ben']),
    ],
  ],
  ['taken back by its reviewer', [...APPROVED, voted(ANN, 'reject'), rejectedBy(ANN)]],
  [
    'taken back after its proof was handed out',
    [...APPROVED, minted(), voted(BEN, 'reject'), rejectedBy(BEN, { voters: ['ann', 'ben'] })],
  ],
  ['approved without proof', [...APPROVED, collected()]],
  ['approved after a display', [pending(), voted(ANN, 'approve', displayed()), approved(ANN, ['ann'])]],
  [
    'approved after a display, with the template of the heading',
    [
      pending(DISPLAYED, { details: { template: 't' } }),
      voted(ANN, 'approve', displayed({ template: 't' })),
      approved(ANN, ['ann']),
    ],
  ],
  [
    'rejected with the comment that its level requires',
    [
      pending(COMMENTED),
      voted(ANN, 'reject', { details: { commented: true, commitment: 'c' } }),
      rejectedBy(ANN),
    ],
  ],
  [
    'approved by a client that says nothing',
    [pending(), voted(ANN, 'approve', NOTHING_SHOWN), approved(ANN, ['ann'])],
  ],
  ['rejected by a person', [pending(), desk('thread.claimed'), voted(ANN, 'reject'), rejectedBy(ANN)]],
  [
    'changes requested, revised, approved',
    [
      pending(),
      voted(ANN, 'request_changes'),
      changes(ANN),
      revised(TWO),
      voted(ANN, 'approve', { revision: 2, details: { digest: 'e' } }),
      voted(BEN, 'approve', { revision: 2, details: { digest: 'e' } }),
      approved(BEN, ['ann', 'ben'], { revision: 2, details: { digest: 'e' } }),
      desk('thread.commented', COMMENT),
    ],
  ],
  [
    'revised, and rejected by policy',
    [
      pending(),
      REJECTED_REVISION,
      record('review.rejected', { by: 'gateway:policy', revision: 2, details: { by: ['q'] } }),
    ],
  ],
  ['expired while it waited', [pending(), reminded(), expired('pending_review')]],
  ['expired before it was collected', [...APPROVED, expired('approved')]],
  ['revoked when it was collected', [...APPROVED, revoked()]],
  [
    'never redeemed',
    [...APPROVED, minted(), refused('expired', { at: SECONDS.expired }), released(SECONDS.expired)],
  ],
  ['redeemed, and its outcome', [...REDEEMED, over(8)]],
  ['an approval without a proof, and its outcome', [...APPROVED, collected(), over(7)]],
  ['an expected outcome', [EXPECTED, EXPECTED, over(5, atOnce), over(4, atOnce)]],
  ['an unmatched outcome', [over(undefined, { ...atOnce, ...UNMATCHED })]],
  ['a refusal that names no thread', [refused('invalid', { thread_id: undefined, revision: undefined })]],
  [
    'under a legal hold',
    [
      pending(),
      legalHold({ thread_id: 'thr_1' }),
      legalHold({ task_id: 'task' }),
      legalHold({ task_id: 'task' }, 'ended'),
    ],
  ],
  ['frozen while it waited', [pending(), freeze(1, { tool: 'pay' }), frozen('pending_review')]],
  [
    'approved, and waiting again after a freeze of its reviewer',
    [
      ...APPROVED,
      freeze(1, { reviewer: 'ann' }),
      resumed(),
      freeze(2, { reviewer: 'ann' }, 'ended'),
      voted(ANN),
      approved(ANN, ['ann']),
      minted(),
      redeemed(),
    ],
  ],
  ['approved, and waiting again after a withdrawal', [...APPROVED, resumed('gateway:policies')]],
  ['withdrawn while it waited', [pending(), voted(ANN, 'approve'), withdrawn('pending_review')]],
  ['withdrawn by time', [pending(), withdrawn('pending_review', { by: TIMER })]],
  ['withdrawn with its proof', [...APPROVED, minted(), withdrawn('approved'), refused('invalid')]],
  [
    'frozen, lifted, and asked anew',
    [
      freeze(1),
      FROZEN,
      freeze(2, {}, 'ended'),
      decided('allow'),
      pending(),
      freeze(3, { agent: 'other' }),
      voted(ANN),
      approved(ANN, ['ann']),
    ],
  ],
  ['a key replaced', [keyOf('agent', 'bot', { rotated: true, key_hash: 'new' }), decided('allow')]],
  [
    'signed in, by a link and by a provider',
    [
      link('l'),
      opened('s'),
      opened('o', { via: 'oidc' }),
      pending(SIGNED_IN),
      voted(ANN, 'approve', SSO),
      approved(ANN, ['ann']),
      ended('s', { via: 'link', reason: 'signed_out' }, ANN),
      ended('o'),
    ],
  ],
  [
    'a session replaced by that of somebody else in the same browser, by another way',
    [
      keyGone('reviewer', 'ben'),
      opened('o', { via: 'oidc' }),
      link('l', 'ben'),
      opened('s', undefined, BEN),
      ended('o', { reason: 'replaced' }, BEN),
    ],
  ],
  [
    'rejected by a rule of the name of a freeze',
    [decided('reject', ['frozen'], { details: { policy: 'bundle' } })],
  ],
  [
    'sensitive values shown to a reviewer',
    [
      pending(),
      desk('payload.revealed', { details: { fields: ['iban'], via: 'key', revealed_revision: 1 } }),
    ],
  ],
  ['a report of an agent', [reported('done')]],
  ['an old key that expired', [OVERLAP, keyOver('bot', 9)]],
  [
    'a webhook that failed, paused, and worked again',
    [
      WEBHOOK,
      decided('allow'),
      record('webhook.given_up', { ...SETTLED, details: { ...DELIVERY, event: 'decision.allowed' } }),
      webhook('paused', { id: 'w', reason: 'failing' }),
      webhook('secret_rotated', { id: 'w', overlap_ms: 60_000 }),
      webhook('resumed', { id: 'w' }),
    ],
  ],
  [
    'a webhook',
    [
      WEBHOOK,
      decided('allow'),
      webhook('paused', { id: 'w', reason: 'admin' }),
      webhook('pinged', { id: 'w' }),
      webhook('deleted', { id: 'w' }),
      delivered('d1', 'decision.allowed', {}),
      delivered('d2', 'webhook.ping', {}),
    ],
  ],
  [
    'a webhook that is told of all that becomes of a thread, some of it again',
    [
      WEBHOOK,
      pending(),
      delivered('d1', 'review.pending'),
      reminded(),
      delivered('d2', 'review.reminded'),
      voted(ANN, 'request_changes'),
      changes(ANN),
      revised(),
      freeze(1),
      { ...frozen('pending_review'), revision: 2 },
      delivered('d4', 'review.rejected'),
      delivered('d3', 'review.changes_requested'),
      webhook('redelivered', { id: 'w', delivery: 'd1' }),
      webhook('redelivered', { id: 'w', delivery: 'd1' }),
      delivered('d1', 'review.pending'),
    ],
  ],
  [
    'a webhook that is told of a use, and of an approval that was taken back',
    [
      WEBHOOK,
      ...REDEEMED,
      delivered('d1', 'token.redeemed'),
      delivered('d2', 'review.approved'),
      pending(ASKED, { thread_id: 'other' }),
      voted(ANN, 'approve', { thread_id: 'other' }),
      approved(ANN, ['ann'], { thread_id: 'other' }),
      record('approval.revoked', { thread_id: 'other', details: { code: 'policy_changed' } }),
      delivered('d3', 'review.rejected', { thread_id: 'other' }),
    ],
  ],
  ['a call that a limit on trial would have stopped', [decided('allow', ['a'], used({ shadow: ['many'] }))]],
  ['a call beyond a limit', [decided('reject', ['many'], used({}))]],
  [
    'a claim that somebody took over, and gave back',
    [
      pending(),
      desk('thread.claimed'),
      desk('thread.claimed', { by: BEN, details: { from: 'ann', via: 'key' } }),
      desk('thread.released', { by: BEN }),
    ],
  ],
  [
    'an act in the last moment of a session',
    [
      keyGone('reviewer', 'ann'),
      opened('s', { via: 'oidc' }),
      pending(SIGNED_IN, { at: 3_599 }),
      voted(ANN, 'approve', { ...SSO, at: 3_602 }),
      approved(ANN, ['ann'], { at: 3_602, details: { waited_ms: 3_000 } }),
    ],
  ],
  [
    'a vote in a chat, by a linked account that was renewed and ended',
    [
      SIGNED,
      linked('one'),
      unlinked('one', 'renewed', ANN),
      linked('two'),
      keyGone('reviewer', 'ann'),
      pending(),
      voted(ANN, 'approve', { details: { via: 'slack' } }),
      approved(ANN, ['ann']),
      unlinked('two', 'ended_by_admin', 'admin:admin'),
    ],
  ],
  [
    'a session ended, and another one',
    [opened('o', { via: 'oidc' }), ended('o'), opened('p', { via: 'oidc' })],
  ],
  [
    'a group that stands beside the vote',
    [
      signedInOf(['x', 'desk']),
      opened('o', { via: 'oidc' }),
      ended('o'),
      pending(),
      votedOf(['desk']),
      approved(ANN, ['ann']),
    ],
  ],
  [
    'a revision of more risk, reminded again',
    [
      pending(),
      reminded(),
      revised(ASKED, { details: { risk: 'high' } }),
      record('review.reminded', {
        by: TIMER,
        revision: 2,
        details: { due_at: at(1), groups: ['desk'], risk: 'high' },
      }),
    ],
  ],
  [
    'a group that stands beside one vote of two',
    [signedInOf(['legal']), pending(BOTH), votedOf(['legal']), voted(BEN), approved(BEN, ['ann', 'ben'])],
  ],
  [
    'a revision that asks more people',
    [
      signedInOf(['legal']),
      pending(),
      revised(BOTH),
      votedOf(['legal'], { revision: 2 }),
      voted(BEN, 'approve', { revision: 2 }),
    ],
  ],
  [
    'a rule that allows, up to some risk, and one of that name in another bundle',
    [
      decided('allow', ['a']),
      pending(ASKED, { details: { by: ['a', 'allow_up_to'], rules: ['a'] } }),
      decided('reject', ['a'], { details: { policy: 'other bundle' } }),
      decided('reject', ['q', 'unmatched'], { details: { rules: ['a', 'q'] } }),
      decided('allow', ['unmatched'], { details: { rules: [] } }),
      decided('reject', ['unknown_tool'], { details: { rules: [] } }),
    ],
  ],
  [
    'a rule of the name of what is above some risk',
    [
      pending(ASKED, { details: { by: ['allow_up_to'], rules: ['allow_up_to'] } }),
      pending(ASKED, {
        thread_id: 'other',
        details: { by: ['allow_up_to', 'b'], rules: ['allow_up_to', 'b'] },
      }),
    ],
  ],
  [
    'disclosures that expired, and some that were erased',
    [
      lapsed(1),
      erased([
        [1, 1],
        [3, 4],
      ]),
      lapsed(4),
      erased([[1, 4]]),
    ],
  ],
  [
    'records of an earlier version, with every value in clear',
    [
      decided('allow', ['a'], { details: { limits: [{ id: 'l', amount: 5 }] } }),
      pending(COMMENTED, { details: { hashed: true, template: 't' } }),
      voted(ANN, 'reject', { details: { commented: true, commitment: 'c' } }),
      rejectedBy(ANN),
      desk('thread.commented', { details: { commitment: 'c', via: 'key' } }),
    ],
  ],
  [
    'a call whose values are all sensitive',
    [decided('allow', ['a'], { details: { commitment: undefined as never, masked: ['payload'] } })],
  ],
  [
    'a call with what is sensitive, of the risk that the agent claims',
    [
      decided('allow', ['a'], {
        details: { risk: 'high', claimed_risk: 'high' },
      }),
    ],
  ],
]

describe('a possible history', () => {
  it.each(POSSIBLE)('%s', (_, records) => {
    expect(first(records)).toBeUndefined()
  })
})

/** The shortest history with each kind of record, and its place there. */
const SHORTEST = new Map(
  POSSIBLE.map(([, history]) => history)
    .toSorted((one, other) => other.length - one.length)
    .flatMap((history) => history.map((one, index) => [one['type'] as string, [history, index]] as const)),
)
const required = (type: string): string[] =>
  Object.entries(kindOf(type)?.logged ?? {}).flatMap(([name, { optional }]) => (optional ? [] : [name]))

it('a record without a member that its kind requires is impossible', () => {
  const without = [...SHORTEST].flatMap(([of, [history, index]]) => {
    const one = history[index] as JsonObject & { readonly details: JsonObject }
    return required(of).map((name) => {
      const { [name]: _, ...details } = one.details
      return { name, of, fault: first(history.with(index, { ...one, details })) }
    })
  })
  expect(without.length).toBeGreaterThan(100)
  expect(without.filter(({ fault }) => fault === undefined)).toEqual([])
})

/** Records of the whole gateway, which are evidence of their own. */
const OF_SYSTEM = [
  record('admin_key.rotated', {
    ...plain,
    tenant: '_system',
    by: 'admin:admin',
    details: { key_name: 'k', old_key_until: at(9) },
  }),
  record('policy.loaded', { ...plain, tenant: '_system', by: 'gateway:policies' }),
  record('policy.failed', { ...plain, tenant: '_system', by: 'gateway:policies' }),
  record('policy.withdrawn', {
    ...plain,
    tenant: '_system',
    by: 'gateway:policies',
    details: { revision: 'r', directory: 'd', reviewers: 2, agents: 0 },
  }),
  record('evidence.read', {
    ...plain,
    tenant: '_system',
    by: 'admin:admin',
    details: { after: 0, limit: 100, tenant: 'acme' },
  }),
]

it('records of the whole gateway are possible in any order', () => {
  const replay = new Replay()
  expect([...OF_SYSTEM, ...OF_SYSTEM.toReversed()].map((one) => replay.take(one))).toEqual(
    Array.from({ length: 2 * OF_SYSTEM.length }),
  )
})

it('each kind of record has a possible history', () => {
  const shown = new Set([...POSSIBLE.flatMap(([, history]) => history), ...OF_SYSTEM].map(({ type }) => type))
  expect(Object.keys(EVENTS).filter((type) => !shown.has(type))).toEqual([])
})

const WITHOUT = (index: number): JsonObject[] => REDEEMED.toSpliced(index, 1)
const AGAIN = (index: number): JsonObject[] => REDEEMED.toSpliced(index, 0, REDEEMED[index] as JsonObject)

describe('an impossible history', () => {
  it.each<[string, JsonObject[], string]>([
    ['a thread that nobody opened', WITHOUT(0), 'its thread was never opened'],
    ['an approval without its vote', WITHOUT(1), 'the vote that caused it is not the previous record'],
    ['a proof without an approval', WITHOUT(2), 'its thread was pending_review at that time'],
    ['a redemption without its proof', WITHOUT(3), 'its token was never minted'],
    ['a log that began before', [logStarted(2), logStarted(2)], 'log 2 was the last one'],
    [
      'a log of another name',
      [logStarted(2, { origin: 'countersign/x/acme/3' })],
      'the origin is not that of this log',
    ],
    [
      'a log that follows itself',
      [logStarted(2, { previous: 'countersign/x/acme/2\n7\n' })],
      'the earlier note has the origin of this log',
    ],
    ['a thread opened twice', AGAIN(0), 'its thread was opened before'],
    ['a vote cast twice', AGAIN(1), 'the same reviewer has voted on this revision'],
    ['a proof minted twice', AGAIN(3), 'its approval had been collected'],
    ['an outcome of no record', [...REDEEMED, over(undefined)], 'it names no record that allowed its call'],
    ['an outcome before the redemption', [...APPROVED, minted(), over(7)], NOT_ALLOWED(7)],
    ['an outcome of another record', [...REDEEMED, over(7)], NOT_ALLOWED(7)],
    ['an outcome twice', [...REDEEMED, over(8), over(8)], NOT_ALLOWED(8)],
    [
      'an outcome by another agent',
      [...REDEEMED, keyOf('agent', 'b'), over(8, { by: 'agent:b' })],
      'its thread belongs to agent `bot`',
    ],
    ['an outcome that policy does not expect', [decided('allow'), over(4, atOnce)], NOT_ALLOWED(4)],
    ['an expected outcome twice', [EXPECTED, over(4, atOnce), over(4, atOnce)], NOT_ALLOWED(4)],
    ['an expected outcome of another task', [EXPECTED, over(4, { ...atOnce, task_id: 'b' })], NOT_ALLOWED(4)],
    [
      'an unmatched outcome of a thread',
      [...REDEEMED, over(undefined, UNMATCHED)],
      'it is unmatched, but names a thread',
    ],
    [
      'an unmatched outcome of a record',
      [over(4, { ...atOnce, ...UNMATCHED })],
      'it is unmatched, but names a record',
    ],
    ['a proof redeemed twice', AGAIN(4), 'its token had been redeemed'],
    [
      'another verdict',
      [decided('allow', ['a'], { details: { verdict: 'reject' } })],
      'its verdict is `reject`',
    ],
    [
      'a call by a person',
      [decided('allow', ['a'], { by: ANN })],
      'an actor of kind reviewer cannot do that',
    ],
    [
      'a thread that begins in the middle',
      [pending(ASKED, { revision: 2 })],
      'a thread begins with revision 1',
    ],
    [
      'an allow of a failed engine',
      [decided('allow', ['a'], { details: { fault: 'engine_error' } })],
      'the rules engine had failed',
    ],
    [
      'an allow beyond a limit',
      [decided('allow', ['a'], used({ rules: ['a', 'many'] }))],
      'there was no room in the limit "many"',
    ],
    [
      'a tenant that loads policy',
      [record('policy.loaded', { ...plain, by: 'gateway:policies' })],
      'no record of `acme` has this type',
    ],
    [
      'a vote on what an earlier revision showed',
      [pending(TWO), voted(ANN), revised(TWO), voted(BEN, 'approve', { revision: 2 })],
      'the voter saw an earlier revision',
    ],
    [
      'a rejection by one who did not vote',
      [pending(), voted(ANN, 'reject'), rejectedBy(ANN, { voters: ['ann', 'ben'] })],
      'its voters are not the reviewers who voted on this revision',
    ],
    [
      'a rejection of something else',
      [pending(), voted(ANN, 'reject'), rejectedBy(ANN, { digest: 'e' })],
      'its digest is not the digest that the voters saw',
    ],
    [
      'changes asked for by one who did not vote',
      [pending(), voted(ANN, 'request_changes'), changes(ANN, { voters: ['ben'] })],
      'its voters are not the reviewers who voted on this revision',
    ],
    ['a raise that asks for less', [pending(TWO), raisedTo(ASKED)], 'it is less strict than before'],
    ['a raise that asks for the same', [pending(TWO), raisedTo(TWO)], 'it asks for nothing more'],
    [
      'a raise of an approval that was collected',
      [...APPROVED, minted(), raisedTo(TWO)],
      'its approval had been collected',
    ],
    [
      'a proof of a raised approval',
      [...APPROVED, raisedTo(TWO), minted()],
      'its thread was pending_review at that time',
    ],
    [
      'an approval that was taken back after its use',
      [...REDEEMED, voted(ANN, 'reject')],
      'its approval had been used',
    ],
    [
      'an approval with a vote by key of before a raise',
      [...APPROVED, raisedTo(SIGNED_IN), approved('gateway:quorum', ['ann'])],
      '0 approved, but 1 must approve',
    ],
    [
      'a call without risk',
      [decided('allow', ['a'], { details: { risk: 'none' } })],
      'its `risk` is not one of low, medium, high, critical',
    ],
    [
      'a call of less risk than policy said',
      [decided('allow', ['a'], { details: { policy_risk: 'high' } })],
      'policy assessed a higher risk',
    ],
    [
      'a revision of less risk',
      [pending(ASKED, { details: HIGH }), revised()],
      'its risk is lower than before',
    ],
    [
      'an approval of another risk',
      [pending(ASKED, { details: HIGH }), voted(ANN), approved(ANN, ['ann'])],
      'its thread had high risk',
    ],
    [
      'a rejection by policy of another risk',
      [
        pending(),
        revised(ASKED, { details: { verdict: 'reject', by: ['q'], rules: ['q'], risk: 'high' } }),
        record('review.rejected', { by: 'gateway:policy', revision: 2, details: { by: ['q'] } }),
      ],
      'its thread had high risk',
    ],
    [
      'an end of another risk',
      [pending(ASKED, { details: HIGH }), expired('pending_review')],
      'its thread had high risk',
    ],
    ['a reminder that is said twice', [pending(), reminded(), reminded()], 'it was announced before'],
    [
      'an escalation that is said twice',
      [pending(ESCALATING), escalated('leads'), escalated('leads')],
      'it was announced before',
    ],
    [
      'a group that a key vouches for',
      [pending(), voted(ANN, 'approve', { details: { groups: ['desk'] } })],
      'only a single sign-on vouches for groups',
    ],
    [
      'a group that nobody vouched for',
      [signedInOf(['x']), pending(), votedOf(['desk'])],
      'no single sign-on of `ann` vouched for these groups',
    ],
    [
      'a vote that keeps quiet about its groups',
      [signedInOf(['x']), pending(), voted(ANN, 'approve', SSO)],
      'no single sign-on of `ann` vouched for these groups',
    ],
    [
      'a group of a session that has ended',
      [
        signedInOf(['desk']),
        ended(`sso of ${ANN}`),
        opened('o', { via: 'oidc' }),
        pending(),
        votedOf(['desk']),
      ],
      'no single sign-on of `ann` vouched for these groups',
    ],
    [
      'a link that vouches for groups',
      [link('l'), opened('s', { via: 'link', link_hash: 'l', groups: ['desk'] })],
      'only a single sign-on vouches for groups',
    ],
    [
      'a call decided at once that belongs to a thread',
      [decided('allow', ['a'], { thread_id: THREAD })],
      'a call that is decided at once belongs to no thread',
    ],
    [
      'a claim given back by somebody else',
      [pending(), desk('thread.claimed'), desk('thread.released', { by: BEN })],
      'another reviewer had claimed it, or none',
    ],
    [
      'a claim given back twice',
      [pending(), desk('thread.claimed'), desk('thread.released'), desk('thread.released')],
      'another reviewer had claimed it, or none',
    ],
    [
      'a claim taken over from nobody',
      [pending(), desk('thread.claimed', { details: { from: 'ben', via: 'key' } })],
      'no reviewer of that name had claimed it',
    ],
    [
      'a key of a person unknown to us',
      [keyOf('owner' as 'agent', 'eve')],
      'its `holder` is not one of agent, reviewer',
    ],
    [
      'a session by a way that there is not',
      [opened('s', { via: 'key' })],
      'its `via` is not one of link, oidc',
    ],
    [
      'a session for ever',
      [opened('s', { via: 'oidc', expires_at: null })],
      'its `expires_at` is not a time',
    ],
    [
      'an act long after its session',
      [
        keyGone('reviewer', 'ann'),
        opened('s', { via: 'oidc' }),
        pending(SIGNED_IN, { at: 7_199 }),
        voted(ANN, 'approve', { ...SSO, at: 7_200 }),
      ],
      '`ann` held no key then, and every session had expired',
    ],
    [
      'a delivery of a thread that never was',
      [WEBHOOK, delivered('d1', 'review.pending')],
      'the delivery names thr_1, which was never opened',
    ],
    [
      'a delivery of what has not happened to its thread',
      [WEBHOOK, pending(), delivered('d1', 'review.approved')],
      'the delivery announces `review.approved`, which has not happened to thr_1',
    ],
    [
      'a delivery of more calls than there were',
      [
        WEBHOOK,
        decided('allow'),
        delivered('d1', 'decision.allowed', {}),
        delivered('d2', 'decision.allowed', {}),
      ],
      'deliveries of `decision.allowed`: 2, but it happened 1 times',
    ],
    [
      'a delivery of a ping that nobody asked for',
      [WEBHOOK, delivered('d1', 'webhook.ping', {})],
      'deliveries of `webhook.ping`: 1, but it happened 0 times',
    ],
    [
      'a delivery of something else',
      [WEBHOOK, delivered('d1', 'agent.event', {})],
      'a delivery of `agent.event` must name its thread',
    ],
    [
      'a delivery that comes to its end twice',
      [WEBHOOK, pending(), delivered('d1', 'review.pending'), delivered('d1', 'review.pending')],
      'this delivery had already ended',
    ],
    ['a review without what it asks for', [pending(null)], 'its `requirement` is not an object'],
    ['a review that asks nobody', [pending({ ...ASKED, seats: [] })], 'no reviewer would have to approve'],
    ['a seat for nobody', [pending({ ...ASKED, seats: [{ approvals: 0 }] })], 'a seat accepts no reviewer'],
    ['a review for ever', [pending({ ...ASKED, expires_ms: 0 })], 'its thread would never expire'],
    [
      'another task',
      [pending(), voted(ANN, 'approve', { task_id: 'other' })],
      'its thread belongs to another task',
    ],
    [
      'another tool',
      [pending(), voted(ANN, 'approve', { tool: 'other' })],
      'its thread is about another tool',
    ],
    [
      'a revision that never was',
      [pending(), desk('thread.commented', { revision: 2, details: { commitment: 'c', via: 'key' } })],
      'its thread has no revision 2',
    ],
    [
      'a vote on what was revised',
      [pending(), revised(), voted(ANN)],
      'its thread was at revision 2 at that time',
    ],
    ['a vote by an agent', [pending(), voted('agent:bot')], 'an actor of kind agent cannot do that'],
    [
      'a vote for something else',
      [pending(), voted(ANN, 'abstain')],
      'its `decision` is not one of approve, reject, request_changes',
    ],
    [
      'a vote when the time was up',
      [pending(), voted(ANN, 'approve', { at: SECONDS.late })],
      'its thread had expired',
    ],
    [
      'a vote by a key where a person has to sign in',
      [pending(SIGNED_IN), voted(ANN)],
      'only a sign-in to the console can vote when one is required',
    ],
    [
      'votes on different things',
      [pending(TWO), voted(ANN), voted(BEN, 'approve', { details: { digest: 'e' } })],
      'the voters on this revision saw different content',
    ],
    ...[
      displayed({ thread_id: 'other' }),
      displayed({ revision: 2 }),
      displayed({ revision_digest: 'e' }),
      displayed({ bundle: 'other' }),
      displayed({ level: 'high' }),
      displayed({ reviewer: 'ben' }),
      displayed({ template: 't' }),
      displayed({ seen: [] }),
      displayed({}, { digest: 'd' }),
    ].map((parts, i): [string, JsonObject[], string] => [
      `a vote on another display (${i})`,
      [pending(), voted(ANN, 'approve', parts)],
      'something else was displayed than the revision of the vote, or to another reviewer',
    ]),
    [
      'a display without its time',
      [pending(), voted(ANN, 'approve', displayed({}, { ms: 'x' }))],
      'its time on the screen is missing',
    ],
    [
      'an approval without a display that its level requires',
      [pending(DISPLAYED), voted(ANN, 'approve', NOTHING_SHOWN)],
      'not all was displayed, although its level requires it',
    ],
    [
      'an approval after a part of the display that its level requires',
      [pending(DISPLAYED), voted(ANN, 'approve', displayed({}, {}, 'some'))],
      'not all was displayed, although its level requires it',
    ],
    [
      'a rejection without a comment that its level requires',
      [pending(COMMENTED), voted(ANN, 'reject')],
      'a rejection without a comment, although its level requires one',
    ],
    ['a vote on what is decided', [...APPROVED, voted(BEN)], 'its thread was approved at that time'],
    [
      'an approval by too few',
      [pending(TWO), voted(ANN), approved(ANN, ['ann'])],
      '1 approved, but 2 must approve',
    ],
    [
      'an approval by one who did not vote',
      [pending(), voted(ANN), approved(ANN, ['ann', 'ben'])],
      'its voters are not the reviewers who voted on this revision',
    ],
    [
      'an approval by the next person',
      [pending(), voted(ANN), approved(BEN, ['ann'])],
      'the vote that caused it is not the previous record',
    ],
    [
      'an approval of something else',
      [pending(), voted(ANN), approved(ANN, ['ann'], { details: { digest: 'e' } })],
      'its digest is not the digest that the voters saw',
    ],
    [
      'an approval that the votes of an earlier revision carry',
      [pending(), voted(ANN), revised(), approved('gateway:quorum', ['ann'], { revision: 2 })],
      'its voters are not the reviewers who voted on this revision',
    ],
    [
      'a rejection that does not follow',
      [pending(), voted(ANN, 'reject'), desk('thread.commented')],
      `\`review.rejected\` of ${THREAD} is due here: it is written together with the previous record`,
    ],
    [
      'a rejection without a vote',
      [pending(), rejectedBy(ANN)],
      'the vote that caused it is not the previous record',
    ],
    [
      'a rejection that does not follow at the end',
      [pending(), voted(ANN, 'reject')],
      `the export ends before \`review.rejected\` of ${THREAD}, which is written together with its last record`,
    ],
    [
      'changes that nobody asked for',
      [pending(), voted(ANN), changes(ANN)],
      'the vote that caused it is not the previous record',
    ],
    [
      'a revision by another agent',
      [keyOf('agent', 'other'), pending(), revised(ASKED, { by: 'agent:other' })],
      'its thread belongs to agent `bot`',
    ],
    [
      'a revision that leaves one out',
      [pending(), revised(ASKED, { revision: 3 })],
      'its thread has no revision 2',
    ],
    [
      'a revision that asks for fewer',
      [pending(TWO), revised(ASKED)],
      'it is less strict than the previous revision',
    ],
    [
      'a revision with more time',
      [pending(), revised({ ...ASKED, expires_ms: 61_000 })],
      'it is less strict than the previous revision',
    ],
    [
      'a revision without a sign-in',
      [pending(SIGNED_IN), revised(ASKED)],
      'it is less strict than the previous revision',
    ],
    [
      'a revision on the other path',
      [pending(), revised(ASKED, { details: { hashed: true } })],
      'its thread takes revisions with an action hash or without one, not both',
    ],
    ['a revision of what is decided', [...APPROVED, revised()], 'its thread was approved at that time'],
    ['expiry before its time', [pending(), expired('pending_review', 50)], 'it had not expired'],
    [
      'expiry of what was collected',
      [...APPROVED, minted(), expired('approved')],
      'its approval had been collected, so only its token can expire',
    ],
    [
      'an end of what was something else',
      [pending(), expired('approved')],
      'its thread was pending_review at that time',
    ],
    [
      'an end of what had ended',
      [pending(), voted(ANN, 'reject'), rejectedBy(ANN), expired('rejected')],
      'its `was` is not one of pending_review, changes_requested, approved',
    ],
    ['an end of what was used', [...REDEEMED, freeze(1), frozen('approved')], 'its thread had ended'],
    [
      'a withdrawal by time of a collected approval',
      [...APPROVED, minted(), withdrawn('approved', { by: TIMER })],
      'its approval had been collected',
    ],
    ['a withdrawal of what was used', [...REDEEMED, withdrawn('approved')], 'its thread had ended'],
    [
      'a withdrawal of what was collected without a proof',
      [...APPROVED, collected(), withdrawn('approved')],
      'its approval had been used',
    ],
    [
      'a withdrawal by another agent',
      [keyOf('agent', 'other'), pending(), withdrawn('pending_review', { by: 'agent:other' })],
      'its thread belongs to agent `bot`',
    ],
    [
      'a withdrawal after the time',
      [
        pending(),
        withdrawn('pending_review', {
          at: SECONDS.late,
          details: { was: 'pending_review', waited_ms: 61_000, commitment: 'c' },
        }),
      ],
      'its thread had expired',
    ],
    ['disclosures that expired twice', [lapsed(3), lapsed(3)], 'those disclosures had expired before'],
    [
      'a loss of a part of a file',
      [...FILE, decided('allow'), lost(1, 255)],
      'its hashes are not of its record files',
    ],
    ['a loss that is not yet written', [...FILE, lost(257, 512)], 'its records did not exist yet'],
    [
      'a loss that was accepted twice',
      [...FILE, decided('allow'), lost(1, 256), lost(1, 256)],
      'a part of it was lost before',
    ],
    ['disclosures that expire before they exist', [lapsed(9_999)], 'those disclosures did not exist yet'],
    ['an erasure in advance', [erased([[1, 2 ** 53 - 1]], 2 ** 53 - 1)], 'its records did not exist yet'],
    ['an erasure of records backwards', [erased([[4, 3]])], 'its records are out of order'],
    [
      'an erasure of a record twice',
      [
        erased([
          [1, 3],
          [3, 4],
        ]),
      ],
      'its records are out of order',
    ],
    ['an erasure of too little', [erased([[1, 3]], 2)], 'it erased fewer members than records'],
    ['an erasure of something else', [erased([[1, '2']])], 'its `records` is not a list of pairs of numbers'],
    [
      'a reason beside its commitment',
      [
        pending(),
        withdrawn('pending_review', {
          details: { was: 'pending_review', waited_ms: 0, commitment: 'c', reason: 'stopped' },
        }),
      ],
      'such a record cannot have `reason`',
    ],
    [
      'values beside their commitment',
      [decided('allow', ['a'], { details: { payload_digest: 'p', reads: [] } })],
      'such a record cannot have `payload_digest`',
    ],
    [
      'a vote on what was withdrawn',
      [pending(), withdrawn('pending_review'), voted(ANN)],
      'its thread was rejected at that time',
    ],
    [
      'a redemption of what was withdrawn',
      [...APPROVED, minted(), withdrawn('approved'), redeemed()],
      'its thread was rejected at that time',
    ],
    ['a reminder of what is decided', [...APPROVED, reminded()], 'its thread was approved at that time'],
    [
      'a claim of what is decided',
      [...APPROVED, desk('thread.claimed')],
      'its thread was approved at that time',
    ],
    [
      'a proof for another agent',
      [keyOf('agent', 'other'), ...APPROVED, minted({ by: 'agent:other' })],
      'its thread belongs to agent `bot`',
    ],
    [
      'a proof when the time was up',
      [...APPROVED, minted({ at: SECONDS.late, details: { expires_at: at(99) } })],
      'its thread had expired',
    ],
    [
      'a proof that had expired',
      [...APPROVED, minted({ details: { expires_at: at(1) } })],
      'its token had already expired when it was minted',
    ],
    [
      'a redemption too late',
      [...APPROVED, minted(), redeemed({ at: SECONDS.expired })],
      'its token had expired',
    ],
    [
      'a redemption of another proof',
      [...APPROVED, minted(), redeemed({ details: { token_hash: 'u' } })],
      'its token was never minted',
    ],
    [
      'an approval by a rule that rejects',
      [ruled({ details: { verdict: 'reject' } })],
      'its verdict is `reject`',
    ],
    [
      'an approval by a rule of a frozen tool',
      [freeze(1, { tool: 'pay' }), ruled()],
      'its agent, tool or tenant was frozen',
    ],
    ['an approval by a rule in a known thread', [ruled(), ruled()], 'its thread was opened before'],
    ['a vote on a call that a rule approved', [ruled(), voted(ANN)], 'its thread was approved at that time'],
    [
      'a redemption of a proof that was replaced',
      [...APPROVED, minted(), reissued(TOKEN_HASH, 'u'), redeemed()],
      'its token was never minted',
    ],
    [
      'a new proof in place of another one',
      [...APPROVED, minted(), reissued('other', 'u')],
      'the token that it replaces was not in force',
    ],
    [
      'a new proof after the redemption',
      [...REDEEMED, reissued(TOKEN_HASH, 'u')],
      'its token had been redeemed',
    ],
    [
      'a new proof that lives longer',
      [...APPROVED, minted(), reissued(TOKEN_HASH, 'u', { details: { expires_at: at(31) } })],
      'the new token expires at another time',
    ],
    [
      'a new proof too late',
      [...APPROVED, minted(), reissued(TOKEN_HASH, 'u', { at: SECONDS.expired })],
      'its token had expired',
    ],
    [
      'a new proof for another key',
      [
        ...APPROVED,
        minted(),
        keyOf('agent', 'bot', { rotated: true, key_hash: 'new' }),
        reissued(TOKEN_HASH, 'u'),
      ],
      'the key for which its token was minted had been replaced',
    ],
    [
      'a sixth new proof',
      [
        ...APPROVED,
        minted(),
        ...['u', 'v', 'w', 'x', 'y', 'z'].map((hash, i, all) => reissued(all[i - 1] ?? TOKEN_HASH, hash)),
      ],
      'its token had been replaced too often',
    ],
    [
      'a redemption under another key',
      [...APPROVED, minted(), keyOf('agent', 'bot', { rotated: true, key_hash: 'new' }), redeemed()],
      'the key for which its token was minted had been replaced',
    ],
    [
      'a redemption under the new key of what was minted under the old one',
      [...APPROVED, named('key of bot', minted()), OVERLAP, named('new', redeemed())],
      'the key for which its token was minted had been replaced',
    ],
    [
      'an act under a key that the agent never held',
      [...APPROVED, named('other', minted())],
      '`bot` did not hold the key that the record names',
    ],
    [
      'an act under an old key long after its overlap',
      [...APPROVED, OVERLAP, named('key of bot', record('agent.event', { at: 10_000 }))],
      'the overlap of the key of `bot` was over',
    ],
    ['an old key that ends too early', [OVERLAP, keyOver('bot', 1)], 'the overlap of this key was not over'],
    ['an old key that ends and was none', [keyOver('bot', 9)], 'this was not an old key of this holder'],
    [
      'an overlap without an old key',
      [keyOf('agent', 'newcomer', { old_key_until: at(9) })],
      'there is no old key that could continue to work',
    ],
    [
      'a refusal as used of what was not',
      [...APPROVED, minted(), refused('used')],
      'its token had not been redeemed',
    ],
    [
      'a refusal as expired of what was not',
      [...APPROVED, minted(), refused('expired')],
      'its token had not expired',
    ],
    ['a refusal of a proof that never was', [...APPROVED, refused('invalid')], 'its token was never minted'],
    [
      'a refusal as used of nobody knows what',
      [refused('used', { thread_id: undefined, revision: undefined })],
      'the record names no token of the agent',
    ],
    ['a revocation of what was used', [...REDEEMED, revoked()], 'its approval had been used'],
    ['a revocation of what waits', [pending(), revoked()], 'its thread was pending_review at that time'],
    ['a release of what was used', [...REDEEMED, released(SECONDS.expired)], 'its approval had been used'],
    ['a release too early', [...APPROVED, minted(), released(5)], 'its token had not expired'],
    [
      'a release of what had ended',
      [...APPROVED, minted(), freeze(1), frozen('approved'), released(40)],
      'its thread was rejected at that time',
    ],
    [
      'a release twice',
      [...APPROVED, minted(), released(40), released(40)],
      'its charges had been taken back already',
    ],
    [
      'a call that a freeze stops',
      [freeze(1, { agent: 'bot' }), decided('allow')],
      'its agent, tool or tenant was frozen',
    ],
    ['a thread that a freeze stops', [freeze(1), pending()], 'its agent, tool or tenant was frozen'],
    [
      'a rejection that hides the freeze',
      [freeze(1), decided('reject')],
      'a freeze was in force, but the record does not say so',
    ],
    ['a rejection by no freeze', [FROZEN], 'nothing was frozen'],
    [
      'a vote on what a freeze ended',
      [pending(), freeze(1), freeze(2, {}, 'ended'), voted(ANN)],
      'a freeze had ended its thread',
    ],
    [
      'a proof of what a freeze ended',
      [...APPROVED, freeze(1, { tool: 'pay' }), freeze(2, { tool: 'pay' }, 'ended'), minted()],
      'a freeze had ended its thread',
    ],
    [
      'a redemption of what a freeze ended',
      [...APPROVED, minted(), freeze(1), redeemed()],
      'a freeze had ended its thread',
    ],
    [
      'an end by no freeze',
      [pending(), freeze(1, { tool: 'other' }), frozen('pending_review')],
      'no freeze has hit its thread',
    ],
    [
      'a redemption by the vote of a frozen reviewer',
      [...APPROVED, minted(), freeze(1, { reviewer: 'ann' }), redeemed()],
      '0 approved, but 1 must approve',
    ],
    [
      'a proof by a vote that a freeze voided, after its end',
      [...APPROVED, freeze(1, { reviewer: 'ann' }), freeze(2, { reviewer: 'ann' }, 'ended'), minted()],
      '0 approved, but 1 must approve',
    ],
    [
      'a vote of a frozen reviewer',
      [pending(), freeze(1, { reviewer: 'ann' }), voted(ANN)],
      '`ann` was frozen then',
    ],
    ['a wait again without a freeze', [...APPROVED, resumed()], 'no reviewer of its approval was frozen'],
    [
      'a wait again after its proof was collected',
      [...APPROVED, minted(), freeze(1, { reviewer: 'ann' }), resumed()],
      'its approval had been collected',
    ],
    ['a freeze that is missing', [freeze(2)], 'it is freeze 2, but 1 is due'],
    [
      'more frozen names than a tenant can have',
      Array.from({ length: 10_001 }, (_, i) => freeze(i + 1, { tool: `t${i}` })),
      'no tenant has so many frozen names',
    ],
    ['a lifting of nothing', [freeze(1, {}, 'ended')], 'this scope was not frozen'],
    [
      'the end of another legal hold',
      [legalHold({ agent: 'bot' }), legalHold({}, 'ended')],
      'this scope was under no legal hold',
    ],
    [
      'a legal hold of a task and an agent',
      [legalHold({ agent: 'bot', task_id: 'task' })],
      'a legal hold names a thread, a task or an agent, but only one of them',
    ],
    [
      'more legal holds than a tenant can have',
      Array.from({ length: 2_001 }, (_, i) => legalHold({ agent: `a${i}` })),
      'no tenant has so many legal holds',
    ],
    [
      'a refusal for another reason',
      [...APPROVED, minted(), refused('odd')],
      'its `reason` is not one of invalid, used, expired',
    ],
    [
      'a revision without a verdict',
      [pending(), revised(ASKED, { details: { verdict: 'odd' } })],
      'its `verdict` is not one of allow, review, reject',
    ],
    ['a call without a key', [keyGone('agent', 'bot'), decided('allow')], '`bot` held no key then'],
    [
      'a vote without a key',
      [pending(), keyGone('reviewer', 'ann'), voted(ANN)],
      '`ann` held no key then and was not signed in',
    ],
    [
      'a vote without a session',
      [pending(), voted(ANN, 'approve', SSO)],
      '`ann` held no key then and was not signed in',
    ],
    ['a key that was never issued', [keyGone('agent', 'nobody')], 'no holder had this key'],
    ['a key that is another', [keyGone('agent', 'bot', 'other')], 'no holder had this key'],
    [
      'a key that replaces none',
      [keyOf('agent', 'new', { rotated: true })],
      'the record states wrongly whether it replaces a key',
    ],
    ['a session by no link', [opened('s')], 'its link was not issued to this reviewer, or was used'],
    [
      'a session by a link of somebody else',
      [link('l', 'ben'), opened('s')],
      'its link was not issued to this reviewer, or was used',
    ],
    [
      'two sessions by one link',
      [link('l'), opened('s'), opened('t')],
      'its link was not issued to this reviewer, or was used',
    ],
    ['a link made twice', [SIGNED, linked('one'), linked('one')], 'this link appeared before'],
    ['the end of no link', [unlinked('one', 'expired', TIMER)], 'no such account was linked'],
    [
      'a link that another reviewer ended',
      [SIGNED, linked('one'), unlinked('one', 'unlinked', BEN)],
      'only the reviewer may unlink the account',
    ],
    [
      'a link that the timer signed out',
      [SIGNED, linked('one'), unlinked('one', 'signed_out', TIMER)],
      '`timer` ends no link as `signed_out`',
    ],
    [
      'groups that no session of the reviewer had',
      [SIGNED, linked('one', { groups: ['desk'] })],
      'no session of the reviewer had these groups',
    ],
    [
      'a vote in a chat after its link ended',
      [
        SIGNED,
        linked('one'),
        unlinked('one', 'unlinked', ANN),
        keyGone('reviewer', 'ann'),
        pending(),
        voted(ANN, 'approve', { details: { via: 'slack' } }),
      ],
      '`ann` held no key then and was not signed in',
    ],
    [
      'a comment by no key, beside a vote in a chat',
      [
        SIGNED,
        linked('one'),
        keyGone('reviewer', 'ann'),
        pending(TWO),
        voted(ANN, 'approve', { details: { via: 'slack' } }),
        desk('thread.commented', COMMENT),
      ],
      '`ann` held no key then and was not signed in',
    ],
    [
      'a vote in a chat where a sign-in is required',
      [SIGNED, linked('one'), pending(SIGNED_IN), voted(ANN, 'approve', { details: { via: 'slack' } })],
      'only a sign-in to the console can vote when one is required',
    ],
    [
      'a session opened twice',
      [opened('s', { via: 'oidc' }), opened('s', { via: 'oidc' })],
      'this session appeared before',
    ],
    ['a link after its time', [link('l'), { ...opened('s'), at: at(SECONDS.late) }], 'its link had expired'],
    [
      'a key that an agent issued',
      [{ ...keyOf('agent', 'x'), actor: { kind: 'agent', id: 'bot' } }],
      'an actor of kind agent cannot do that',
    ],
    [
      'a freeze that an agent lifted',
      [freeze(1), { ...freeze(2, {}, 'ended'), actor: { kind: 'agent', id: 'bot' } }],
      'an actor of kind agent cannot do that',
    ],
    [
      'an end by a person',
      [pending(), { ...expired('pending_review'), actor: { kind: 'reviewer', id: 'ann' } }],
      'an actor of kind reviewer cannot do that',
    ],
    [
      'a vote that is a word of JavaScript',
      [pending(), voted(ANN, 'constructor')],
      'its `decision` is not one of approve, reject, request_changes',
    ],
    [
      'a session of an agent',
      [opened('s', { via: 'oidc' }, 'agent:bot')],
      'an actor of kind agent cannot do that',
    ],
    ['the end of no session', [ended('s')], 'no such session was open'],
    ['a webhook created twice', [WEBHOOK, WEBHOOK], 'this webhook was created before'],
    ['a delivery to no webhook', [delivered('d1', 'review.pending')], 'this webhook was never created'],
    [
      'another tenant',
      [{ ...decided('allow'), tenant: 'globex' }],
      'it belongs to tenant `globex`, but the first record belongs to `acme`',
    ],
    [
      'a time long before another',
      [decided('allow', ['a'], { at: 400 }), decided('allow')],
      `an earlier record has the time ${at(400)}`,
    ],
    [
      'a call that no policy allowed',
      [decided('allow', ['a'], { details: { policy: 'none' } })],
      'no policy was in force',
    ],
    [
      'a call without a tool, which no freeze of a tool would stop',
      [freeze(1, { tool: 'pay' }), decided('allow', ['a'], { tool: undefined })],
      'its `tool` is not a text',
    ],
    ['a call of no task', [decided('allow', ['a'], { task_id: undefined })], 'its `task_id` is not a text'],
    [
      'a call that no bundle is named for',
      [decided('allow', ['a'], { details: { policy: undefined as never } })],
      'its `policy` is missing',
    ],
    [
      'a revision that no bundle is named for',
      [pending(), revised(ASKED, { details: { policy: undefined as never } })],
      'its `policy` is missing',
    ],
    ['a reminder too early', [pending(), reminded(20)], 'it was not due'],
    [
      'an escalation too early',
      [pending(ESCALATING), escalated('leads', 5)],
      'no seat escalates to `leads` at that time',
    ],
    [
      'an escalation to a group that was never named',
      [pending(ESCALATING), escalated('interns')],
      'no seat escalates to `interns` at that time',
    ],
    [
      'a vote out of another group',
      [signedInOf(['interns']), pending(), votedOf(['interns'])],
      '`ann` was in no group that may vote',
    ],
    [
      'a vote out of a group that is asked later',
      [signedInOf(['leads']), pending(ESCALATING), votedOf(['leads'])],
      '`ann` was in no group that may vote',
    ],
    [
      'an approval by two of one group where two are asked',
      [
        signedInOf(['desk']),
        signedInOf(['desk'], BEN),
        pending(BOTH),
        votedOf(['desk']),
        votedOf(['desk'], {}, BEN),
        approved(BEN, ['ann', 'ben']),
      ],
      'the reviewers who approved are not in the groups that may vote',
    ],
    [
      'a revision that asks another group',
      [pending(), revised({ ...ASKED, seats: [{ approvals: 1, escalate: [], group: 'interns' }] })],
      'it is less strict than the previous revision',
    ],
    [
      'a revision that escalates sooner',
      [pending(TWO), revised(ESCALATING)],
      'it is less strict than the previous revision',
    ],
    [
      'a seat for more than there are',
      [pending({ ...ASKED, seats: [{ approvals: 1_001, escalate: [], group: 'desk' }] })],
      'it requires more reviewers than exist',
    ],
    [
      'one proof for two threads',
      [
        ...REDEEMED,
        ...APPROVED.map((one) => ({ ...one, thread_id: 'other' })),
        minted({ thread_id: 'other' }),
      ],
      'this token appeared before',
    ],
    [
      'a key of two holders',
      [keyOf('agent', 'other', { key_hash: 'key of bot' })],
      'this key appeared before',
    ],
    [
      'a key that comes back',
      [
        keyOf('agent', 'bot', { rotated: true, key_hash: 'new' }),
        keyOf('agent', 'bot', { rotated: true, key_hash: 'key of bot' }),
      ],
      'this key appeared before',
    ],
    ['a link issued again', [link('l'), opened('s'), link('l')], 'this link appeared before'],
    [
      'a session that comes back',
      [opened('s', { via: 'oidc' }), ended('s'), opened('s', { via: 'oidc' })],
      'this session appeared before',
    ],
    [
      'a webhook that works when it was deleted',
      [WEBHOOK, webhook('deleted', { id: 'w' }), webhook('paused', { id: 'w', reason: 'admin' })],
      'this webhook was deleted before',
    ],
    [
      'a webhook deleted twice',
      [WEBHOOK, webhook('deleted', { id: 'w' }), webhook('deleted', { id: 'w' })],
      'this webhook was deleted before',
    ],
    [
      'a freeze of an agent and a tool',
      [freeze(1, { agent: 'bot', tool: 'pay' })],
      'a freeze names an agent, a tool or a reviewer, but only one',
    ],
    ['another version', [{ ...decided('allow'), v: 2 }], 'it has version 2, but only 1 is known'],
    ['an unknown type', [{ ...decided('allow'), type: 'x' }], 'the type "x" is unknown'],
    ['a time that is none', [{ ...decided('allow'), at: 'now' }], 'its `at` is not a time'],
    ['nobody', [{ ...decided('allow'), actor: { kind: 'x', id: 'x' } }], 'it has no actor'],
    ['half a revision', [{ ...pending(), revision: 1.5 }], 'its revision is not a number'],
    ['a name that is none', [{ ...decided('allow'), tenant: 1 }], 'its `tenant` is not a text'],
    [
      'an allow by a rule that did not fire',
      [decided('allow', ['a'], { details: { rules: ['b'] } })],
      '"a" had not fired',
    ],
    [
      'an allow by what only rejects',
      [decided('allow', ['unknown_tool'], { details: { rules: [] } })],
      '"unknown_tool" had not fired',
    ],
    [
      'an allow above the risk up to which calls are allowed',
      [decided('allow', ['a', 'allow_up_to'], { details: { rules: ['a'] } })],
      '"allow_up_to" had not fired',
    ],
    ['an allow by nothing', [decided('allow', [])], 'nothing decided it'],
    [
      'an allow beside a rule that did not allow',
      [decided('allow', ['a'], { details: { rules: ['a', 'q'] } })],
      'the rule "q" fired but did not decide',
    ],
    [
      'a review for its risk beside a rule that did not allow',
      [pending(ASKED, { details: { by: ['a', 'allow_up_to'], rules: ['a', 'q'] } })],
      'the rule "q" fired but did not decide',
    ],
    [
      'an allow by a rule that rejects',
      [decided('reject', ['q']), decided('allow', ['q'])],
      'the rule "q" of this bundle gave `reject` before',
    ],
    [
      'a revision by a rule that allows',
      [decided('allow', ['r']), pending(ASKED, { details: { by: ['s'], rules: ['s'] } }), revised()],
      'the rule "r" of this bundle gave `allow` before',
    ],
    [
      'a review although a rule fired that rejects',
      [decided('reject', ['q']), pending(ASKED, { details: { rules: ['q', 'r'] } })],
      'the rule "q" of this bundle gave `reject` before, and it fired',
    ],
    [
      'a limit without room that did not fire',
      [decided('allow', ['a'], used({}))],
      'the record contradicts itself about room in the limit "many"',
    ],
    [
      'a limit with room that fired',
      [decided('reject', ['many'], { details: { limits: [{ amount: 1, id: 'many' }] } })],
      'the record contradicts itself about room in the limit "many"',
    ],
    [
      'a call of a risk that nobody said',
      [decided('allow', ['a'], { details: { risk: 'high', claimed_risk: 'medium' } })],
      'neither policy nor the agent stated that risk',
    ],
    [
      'a revision of less risk than policy said',
      [pending(), revised(ASKED, { details: { policy_risk: 'high' } })],
      'policy assessed a higher risk',
    ],
    [
      'a call for nobody knows what',
      [decided('allow', ['a'], { details: { commitment: undefined as never } })],
      'its `commitment` is missing',
    ],
    [
      'an approval after another time',
      [pending(), voted(ANN), approved(ANN, ['ann'], { details: { waited_ms: 60_000 } })],
      'it had waited 0 ms',
    ],
    [
      'an end after another time',
      [pending(), { ...expired('pending_review'), at: at(63) }],
      'it had waited 62000 ms',
    ],
    [
      'an approval at another time than its vote',
      [pending(), voted(ANN, 'approve', { at: 2 }), approved(ANN, ['ann'])],
      'the vote that caused it is not the previous record',
    ],
    [
      'a rejection by a person that the gateway is said to be',
      [
        keyOf('reviewer', 'policy'),
        pending(),
        voted('reviewer:policy', 'reject'),
        rejectedBy('gateway:policy', { voters: ['policy'] }),
      ],
      'the vote that caused it is not the previous record',
    ],
    [
      'a rejection by policy for another reason',
      [
        pending(),
        REJECTED_REVISION,
        record('review.rejected', { by: 'gateway:policy', revision: 2, details: { by: ['r'] } }),
      ],
      'the revision that policy rejected is not the previous record',
    ],
    [
      'a person in the place of the gateway',
      [pending(), { ...expired('pending_review'), actor: { kind: 'gateway', id: 'ann' } }],
      'the gateway has no part `ann` that does that',
    ],
    [
      'a person in the place of the admin key',
      [{ ...freeze(1), actor: { kind: 'admin', id: 'ann' } }],
      'the admin key has only one name',
    ],
    [
      'a reminder of those who are not asked',
      [pending(), record('review.reminded', { by: TIMER, details: { due_at: at(1), groups: ['leads'] } })],
      'its groups are not the groups that may vote',
    ],
    [
      'a look at a revision that never was',
      [pending(), desk('payload.revealed', { details: { via: 'key', revealed_revision: 2, fields: [] } })],
      'its thread has no revision 2',
    ],
    [
      'the end of a session that was opened by another way',
      [opened('o', { via: 'oidc' }), ended('o', { via: 'link' })],
      'the session was opened in another way',
    ],
    [
      'the end of a session for no reason',
      [opened('o', { via: 'oidc' }), ended('o', { reason: 'constructor' })],
      'its `reason` is not one of idle, expired, removed, changed, signed_out, replaced, ended_by_admin, frozen',
    ],
    [
      'a session that an administrator is said to have ended',
      [opened('o', { via: 'oidc' }), ended('o', { reason: 'ended_by_admin' })],
      '`timer` ends no session as `ended_by_admin`',
    ],
    [
      'a person signed out by another one',
      [opened('o', { via: 'oidc' }), ended('o', { reason: 'signed_out' }, BEN)],
      '`ben` may not sign out another reviewer',
    ],
    [
      'a member that no such record has',
      [decided('allow', ['a'], { details: { waited_ms: 0 } })],
      'such a record cannot have `waited_ms`',
    ],
    [
      'a member of another form',
      [pending(), desk('thread.commented', { details: { commitment: 1, via: 'key' } })],
      'its `commitment` is not a text',
    ],
    [
      'a member with none of its values',
      [webhook('created', { id: 'w', ...FORM, format: 'fax' })],
      'its `format` is not one of event, chat, teams, slack-app',
    ],
    ['a record of no kind', [record('constructor' as 'agent.event')], 'the type "constructor" is unknown'],
    [
      'reasons that are none',
      [decided('reject', [], { details: { by: null } })],
      'its `by` is not a list of texts',
    ],
  ])('%s', (_, records, fault) => {
    expect(first(records)).toBe(fault)
  })

  it.runIf(IS_SOAK)('takes linear time for a file with any number of sessions', () => {
    const cpuOf = (count: number): number => {
      const replay = new Replay()
      const sessions = Array.from({ length: count }, (_, i) =>
        opened(`s${i}`, { via: 'oidc' }, `reviewer:r${i}`),
      )
      const acts = sessions.map(({ actor }) =>
        record('webhook.created', { ...plain, actor, details: { id: JSON.stringify(actor), ...FORM } }),
      )
      const before = process.cpuUsage()
      const faults = [...sessions, ...acts.toReversed()].map((one) => replay.take(one))
      const { user } = process.cpuUsage(before)
      expect(faults.filter((fault) => fault !== undefined)).toEqual([])
      return user
    }
    cpuOf(2_000)
    // linear is 10, a look at all sessions 100
    expect(cpuOf(40_000) / cpuOf(4_000)).toBeLessThan(40)
  })

  it('reports an actor without a credential once', () => {
    const replay = new Replay()
    const faults = [decided('allow'), decided('reject'), decided('allow')].map((one) => replay.take(one))
    expect(faults).toEqual(['`bot` held no key then', undefined, undefined])
    expect(replay.story()).toMatchObject({ allowed: 2, rejected: 1 })
  })

  it('reports no consequences of a fault', () => {
    const faultsIn = (records: readonly JsonObject[]): (string | undefined)[] => {
      const replay = new Replay()
      return records.map((one) => replay.take(one)).filter((fault) => fault !== undefined)
    }
    expect(faultsIn([...KEYS.slice(1), ...REDEEMED])).toEqual(['`bot` held no key then'])
    const other = record('vote.cast', {
      by: BEN,
      thread_id: 'other',
      details: { decision: 'reject', digest: 'd', via: 'key', displayed: 'none' },
    })
    const cut = [...KEYS, pending(ASKED, { thread_id: 'other' }), other, ...REDEEMED]
    expect(faultsIn(cut)).toEqual([
      '`review.rejected` of other is due here: it is written together with the previous record',
    ])
    const future = [...KEYS, decided('allow', ['a'], { at: 4_000 }), ...REDEEMED]
    expect(faultsIn(future)).toEqual([`an earlier record has the time ${at(4_000)}`])
  })

  it('reports no fault for later mentions of a broken thread', () => {
    const replay = new Replay()
    const told = [...KEYS, WEBHOOK, ...WITHOUT(1), delivered('d1', 'review.approved')]
    expect(told.map((one) => replay.take(one)).filter((fault) => fault !== undefined)).toHaveLength(1)
  })

  it('reports a broken thread once, because later records depend on it', () => {
    const replay = new Replay()
    const faults = [...KEYS, ...WITHOUT(1), ...REDEEMED].map((one) => replay.take(one))
    expect(faults.filter((fault) => fault !== undefined)).toHaveLength(1)
  })
})
