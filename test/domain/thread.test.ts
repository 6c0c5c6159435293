import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  canEnd,
  changedAt,
  claimOf,
  currentVotes,
  dueAnnouncement,
  isExpired,
  isUsed,
  nextDue,
  pollAfterSeconds,
  type Thread,
  type ThreadStatus,
  type ThreadTrigger,
  transition,
  TRANSITIONS,
  upcomingAnnouncements,
  type Vote,
} from '../../src/domain/thread.ts'
import { requirement } from './arbitraries.ts'
import { runs } from '../runs.ts'

const STATUSES: readonly ThreadStatus[] = ['pending_review', 'changes_requested', 'approved', 'rejected']
const TRIGGERS: readonly ThreadTrigger[] = [
  'vote_counted',
  'quorum_met',
  'vote_reject',
  'vote_changes',
  'revise',
  'revise_rejected',
  'expire',
  'collect',
  'reissue',
  'redeem',
  'revoke',
  'freeze',
  'withdraw',
  'raise',
]

/** The whole table once more, written by hand: a change of one has to be a change of both. */
const EXPECTED: Readonly<Record<string, ThreadStatus>> = {
  'pending_review vote_counted': 'pending_review',
  'pending_review quorum_met': 'approved',
  'pending_review vote_reject': 'rejected',
  'pending_review vote_changes': 'changes_requested',
  'pending_review revise': 'pending_review',
  'pending_review revise_rejected': 'rejected',
  'pending_review expire': 'rejected',
  'pending_review freeze': 'rejected',
  'pending_review withdraw': 'rejected',
  'changes_requested revise': 'pending_review',
  'changes_requested revise_rejected': 'rejected',
  'changes_requested expire': 'rejected',
  'changes_requested freeze': 'rejected',
  'changes_requested withdraw': 'rejected',
  'approved collect': 'approved',
  'approved reissue': 'approved',
  'approved redeem': 'approved',
  'approved expire': 'rejected',
  'approved revoke': 'rejected',
  'approved freeze': 'rejected',
  'approved withdraw': 'rejected',
  'approved raise': 'pending_review',
  'approved vote_reject': 'rejected',
  'pending_review raise': 'pending_review',
}

describe('the transition table', () => {
  it.each(STATUSES.flatMap((status) => TRIGGERS.map((trigger) => [status, trigger] as const)))(
    '%s, %s',
    (status, trigger) => {
      expect(transition(status, trigger)).toBe(EXPECTED[`${status} ${trigger}`])
    },
  )

  it('has no other status and no other trigger', () => {
    expect(Object.keys(TRANSITIONS).toSorted()).toEqual([...STATUSES].toSorted())
    const triggers = Object.values(TRANSITIONS).flatMap((row) => Object.keys(row))
    expect(triggers.filter((trigger) => !TRIGGERS.includes(trigger as ThreadTrigger))).toEqual([])
  })

  it('never leaves rejected, and reaches approved only through votes', () => {
    expect(TRANSITIONS.rejected).toEqual({})
    const ways = STATUSES.flatMap((from) =>
      TRIGGERS.filter((trigger) => transition(from, trigger) === 'approved').map((trigger) => [
        from,
        trigger,
      ]),
    )
    expect(ways).toEqual([
      ['pending_review', 'quorum_met'],
      ['approved', 'collect'],
      ['approved', 'reissue'],
      ['approved', 'redeem'],
    ])
  })
})

const HOUR = 3_600_000
const thread = (change: Partial<Thread> = {}): Thread => ({
  thread_id: 'thr_1',
  tenant: 'acme',
  agent: 'bot',
  task_id: 't',
  tag_key: 'k',
  heading: { line: 'pay', segments: [{ text: 'pay' }] },
  rules_digest: 'd',
  tool: 'pay',
  path: 'v1',
  status: 'pending_review',
  created_at: 0,
  revision: 1,
  submitted_at: 0,
  digest: 'd',
  payload_digest: 'p',
  risk: 'low',
  policy_risk: 'low',
  message: '',
  requirement: {
    seats: [{ group: 'a', approvals: 1, escalate: [{ group: 'b', after_ms: 2 * HOUR }] }],
    expires_ms: 3 * HOUR,
    remind_after_ms: [HOUR],
  },
  votes: [],
  deadline: 3 * HOUR,
  announced: [],
  revision_ids: [],
  ...change,
})

const threads = fc
  .record({
    status: fc.constantFrom(...STATUSES),
    submitted_at: fc.integer({ min: 0, max: 10 * HOUR }),
    requirement,
    collected: fc.boolean(),
    announced: fc.subarray(['remind:3600000', 'remind:7200000', 'escalate:a:b:3600000']),
  })
  .map(({ status, submitted_at, requirement: required, collected, announced }) =>
    thread({
      status,
      submitted_at,
      requirement: required,
      deadline: submitted_at + required.expires_ms,
      announced,
      ...(status === 'approved'
        ? { approval: { at: submitted_at, epoch: 'e', ...(collected ? { collected_at: submitted_at } : {}) } }
        : {}),
    }),
  )

describe('time', () => {
  it('ends a waiting thread at its deadline, not one millisecond before, and no other thread', () => {
    for (const status of ['pending_review', 'changes_requested', 'approved'] as const) {
      expect(isExpired(thread({ status }), 3 * HOUR - 1)).toBe(false)
      expect(isExpired(thread({ status }), 3 * HOUR)).toBe(true)
    }
    expect(isExpired(thread({ status: 'rejected' }), 9 * HOUR)).toBe(false)
    const collected = thread({ status: 'approved', approval: { at: 0, epoch: 'e', collected_at: 1 } })
    expect(isExpired(collected, 9 * HOUR)).toBe(false)
    const { deadline: _, ...endless } = thread()
    expect(isExpired(endless, Number.MAX_SAFE_INTEGER)).toBe(false)
  })

  it('announces each reminder and escalation once, one at a time, in order, while the thread waits', () => {
    const due = (now: number, change: Partial<Thread> = {}) => {
      const { key, kind, at, group } = dueAnnouncement(thread(change), now) ?? {}
      return [key, kind, at, group]
    }
    const nothing = [undefined, undefined, undefined, undefined]
    const first = 'remind:3600000'
    const second = 'escalate:a:b:7200000'
    expect(due(HOUR - 1)).toEqual(nothing)
    expect(due(HOUR)).toEqual([first, 'reminder', HOUR, undefined])
    expect(due(2 * HOUR)).toEqual([first, 'reminder', HOUR, undefined])
    expect(due(2 * HOUR, { announced: [first] })).toEqual([second, 'escalation', 2 * HOUR, 'b'])
    expect(due(2 * HOUR - 1, { announced: [first] })).toEqual(nothing)
    expect(due(2 * HOUR, { announced: [first, second] })).toEqual(nothing)
    for (const status of ['approved', 'rejected', 'changes_requested'] as const) {
      expect(due(2 * HOUR, { status })).toEqual(nothing)
    }
    expect(due(2 * HOUR, { submitted_at: HOUR, announced: [first] })).toEqual(nothing)
  })

  it('announces simultaneous events by name, so that every instance uses the same order', () => {
    for (const groups of ['bcd', 'dcb', 'cdb']) {
      const escalate = Array.from(groups, (group) => ({ group, after_ms: HOUR }))
      const required = {
        seats: [{ group: 'a', approvals: 1, escalate }],
        expires_ms: 3 * HOUR,
        remind_after_ms: [2 * HOUR, HOUR],
      }
      expect(upcomingAnnouncements(thread({ requirement: required })).map(({ key }) => key)).toEqual([
        'escalate:a:b:3600000',
        'escalate:a:c:3600000',
        'escalate:a:d:3600000',
        'remind:3600000',
        'remind:7200000',
      ])
    }
  })

  it('nextDue is the first moment at which time alone changes a thread', () => {
    fc.assert(
      fc.property(threads, (one) => {
        const next = nextDue(one)
        const happens = (now: number): boolean =>
          isExpired(one, now) || dueAnnouncement(one, now) !== undefined
        if (next === undefined) {
          expect(happens(Number.MAX_SAFE_INTEGER)).toBe(false)
          return
        }
        expect(happens(next)).toBe(true)
        expect(happens(next - 1)).toBe(false)
      }),
      { numRuns: runs(5_000) },
    )
  })

  it('advises longer poll intervals as a thread ages, in whole seconds', () => {
    const ages = [0, 59_999, 60_000, 599_999, 600_000, 3_599_999, 3_600_000, 1e12]
    expect(ages.map(pollAfterSeconds)).toEqual([2, 2, 5, 5, 15, 15, 60, 60])
  })
})

const APPROVED = { status: 'approved', approval: { at: 1, epoch: 'e' } } as const

describe('an approval', () => {
  it('counts as used once it was redeemed, or collected without a proof', () => {
    const used = (more: object): boolean => isUsed({ at: 1, epoch: 'e', ...more })
    expect(used({})).toBe(false)
    expect(used({ token_hash: 'h' })).toBe(false)
    expect(used({ collected_at: 2, token_hash: 'h' })).toBe(false)
    expect(used({ collected_at: 2 })).toBe(true)
    expect(used({ collected_at: 2, token_hash: 'h', redeemed_at: 3 })).toBe(true)
  })

  it('can be revoked until it is redeemed; a waiting thread can always be ended, a rejected one never', () => {
    expect(canEnd(thread(APPROVED))).toBe(true)
    expect(canEnd(thread({ ...APPROVED, approval: { ...APPROVED.approval, redeemed_at: 3 } }))).toBe(false)
    expect(canEnd(thread())).toBe(true)
    expect(canEnd(thread({ status: 'changes_requested' }))).toBe(true)
    expect(canEnd(thread({ status: 'rejected' }))).toBe(false)
  })
})

describe('a claim', () => {
  it('holds until it expires, and only while the thread waits for review', () => {
    const claim = { reviewer: 'ann', expires_at: 10 }
    expect(claimOf(thread({ claim }), 9)).toEqual(claim)
    expect(claimOf(thread({ claim }), 10)).toBeUndefined()
    expect(claimOf(thread(), 9)).toBeUndefined()
    for (const status of ['approved', 'rejected', 'changes_requested'] as const)
      expect(claimOf(thread({ claim, status }), 9)).toBeUndefined()
  })
})

describe('the last change', () => {
  it('is the latest of revision, vote, end and use', () => {
    const vote: Vote = { reviewer: 'ann', decision: 'approve', revision: 1, at: 3, via: 'key' }
    const approval = { at: 3, epoch: 'e' }
    const changed = (change: Partial<Thread>): number => changedAt(thread({ submitted_at: 2, ...change }))
    expect(changed({})).toBe(2)
    expect(changed({ votes: [vote, { ...vote, at: 1 }] })).toBe(3)
    expect(changed({ votes: [vote], ended_at: 4 })).toBe(4)
    expect(changed({ ended_at: 4, approval: { ...approval, collected_at: 5 } })).toBe(5)
    expect(changed({ approval: { ...approval, collected_at: 5, redeemed_at: 6 } })).toBe(6)
  })
})

describe('votes', () => {
  it('votes count only on the current revision', () => {
    const vote = (revision: number): Vote => ({
      reviewer: 'ann',
      decision: 'approve',
      revision,
      at: 0,
      via: 'key',
    })
    const votes = [vote(1), vote(2), vote(3)]
    expect(currentVotes(thread({ revision: 2, votes }))).toEqual([vote(2)])
  })
})
