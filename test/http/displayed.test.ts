// @store each, in the soak
import { displayedDigest } from '../../src/domain/digest.ts'
import type { ThreadView } from '../../src/contract/reviewer.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { describe, expect, it } from 'vitest'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import {
  type Answer,
  breakRecord,
  edited,
  held,
  openWorld,
  overriding,
  type Reviewer,
} from '../gateway-fixture.ts'

/** Levels that ask more of a vote (docs/review-api.md). */

const LEVELS = edited(
  'routing.yaml',
  'low:      { group: desk,  approvals: 1, expires: 8h }',
  'low:      { group: desk,  approvals: 1, expires: 8h, comments: [No.], require_comment: true }',
)

const PARTS = { ...LEVELS }
PARTS['routing.yaml'] = (PARTS['routing.yaml'] ?? '').replace(
  'critical: { group: board, approvals: 2, expires: 30m }',
  'critical: { group: board, approvals: 2, expires: 30m, require_displayed: true }',
)

PARTS['tools/hold.yaml'] = `tool: hold
description: Takes anything, and people always look at it.
risk: low
sensitive: [payload.secret]
input_schema: { type: object }
`

agentWorld({ files: PARTS })

describe('POST votes, in a level with require_comment', () => {
  it('400 comment_required for a rejection without a comment', async () => {
    const { thread } = await held(bot)
    for (const comment of [undefined, '', ' \n'])
      expect(
        (
          await ann.vote(thread, {
            decision: 'reject',
            revision: 1,
            ...(comment !== undefined && { comment }),
          })
        ).problem,
      ).toMatchObject({ status: 400, code: 'comment_required' })
    const { body } = await ann.vote(thread, { decision: 'reject', revision: 1, comment: 'No.' })
    expect(body.status).toBe('rejected')
  })

  it('200 for an approval without a comment, and the thread says what its level asks for', async () => {
    const { thread } = await held(bot)
    expect((await ann.show(thread)).body.review).toEqual({
      comments: ['No.'],
      require_comment: true,
      reveal: 'optional',
      require_displayed: false,
    })
    expect((await ann.vote(thread, { decision: 'approve', revision: 1 })).body.status).toBe('approved')
  })
})

const CRITICAL = { amount: 60_000, to: 'audit-7', secret: 'hush' }

type Seen = Partial<Pick<ThreadView, 'thread_id' | 'revision'> & { readonly seen: readonly string[] }>

/** The record that a page makes of a display of the thread. */
function displayedOf({ thread_id, revision, display }: ThreadView, changed: Seen = {}) {
  const { parts, ...known } = display
  const shown = { thread_id, revision, ...known, seen: parts, ...changed }
  return { digest: displayedDigest(shown), seen: [...shown.seen], unseen: [], ms: 14_000 }
}

const approving = (who: Reviewer, thread: string, displayed?: object): Promise<Answer<ThreadView>> =>
  who.vote(thread, { decision: 'approve', revision: 1, ...(displayed && { displayed }) } as never)

describe('POST votes, with displayed', () => {
  it('200 and evidence of the places that were on the screen', async () => {
    const { thread } = await held(bot)
    const { body } = await ann.show(thread)
    expect(body.display).toEqual({
      revision_digest: body.digest,
      bundle: body.policy_revision,
      level: 'low',
      reviewer: 'ann',
      parts: ['payload.amount'],
    })
    const displayed = displayedOf(body)
    const [cast] = await world.evidenceOf(() => approving(ann, thread, displayed))
    expect(cast?.record).toMatchObject({ type: 'vote.cast', details: { displayed: 'all' } })
    expect(cast?.disclosures?.members).toEqual({ display: displayed })
    expect(JSON.stringify(cast?.record)).not.toMatch(/payload\.|seen/)
  })

  it('200 and `none` in evidence for a client that says nothing', async () => {
    const { thread } = await held(bot)
    const [cast] = await world.evidenceOf(() => approving(ann, thread))
    expect(cast?.record).toMatchObject({ type: 'vote.cast', details: { displayed: 'none' } })
  })

  it('200 and a part to see that the vote names nowhere is recorded as not seen', async () => {
    const { thread } = await held(bot)
    const displayed = displayedOf((await ann.show(thread)).body, { seen: ['payload'] })
    const [cast] = await world.evidenceOf(() => approving(ann, thread, displayed))
    expect(cast?.record).toMatchObject({ details: { displayed: 'none' } })
    expect(cast?.disclosures?.members['display']).toMatchObject({
      seen: ['payload'],
      unseen: ['payload.amount'],
    })
  })

  it('200 and `some` in evidence when a part to see was not on the screen', async () => {
    const { thread } = await held(bot, { payload: CRITICAL })
    const displayed = displayedOf((await ann.show(thread)).body, { seen: ['payload.amount'] })
    const vote = { decision: 'reject', comment: 'No.', revision: 1, displayed }
    const [cast] = await world.evidenceOf(() => ann.vote(thread, vote as never))
    expect(cast?.record).toMatchObject({ details: { displayed: 'some' } })
  })

  it('400 for a place that the payload does not have, also inside a hidden value', async () => {
    const payload = { amount: 500, '': 'x', list: [{ 'marvin-42@person.example': 'read' }], secret: { a: 1 } }
    const { thread } = await held(bot, { tool_name: 'hold', payload })
    const page = await world.signIn('ben')
    const { body } = await page.show(thread)
    const seen = [
      ...body.display.parts,
      'payload',
      'payload[""]',
      'payload.list[0]["marvin-42@person.example"]',
    ]
    const none = [
      'Call me: 555-1234',
      'payload.no',
      'payload.list[1]',
      'payload.list.length',
      'payload["list"]',
    ]
    for (const place of [...none, 'payload.secret.a', 'title']) {
      const lie = displayedOf(body, { seen: [...seen, place] })
      expect((await approving(page, thread, lie)).problem, place).toMatchObject({ code: 'invalid_request' })
      const unseen = { ...displayedOf(body, { seen }), unseen: [place] }
      expect((await approving(page, thread, unseen)).status, place).toBe(400)
    }
    expect((await approving(page, thread, displayedOf(body, { seen }))).status).toBe(200)
  })

  it('412 stale_revision for the display of another thread, revision, reviewer or set of places', async () => {
    const { thread, task } = await held(bot)
    const { body } = await ann.show(thread)
    const other = await ann.show((await held(bot)).thread)
    const ben = await (await world.reviewer('ben')).show(thread)
    const lies = [
      displayedOf(other.body),
      displayedOf(ben.body),
      displayedOf(body, { revision: 2 }),
      { ...displayedOf(body), seen: ['payload.amount', 'payload.secret'] },
      { ...displayedOf(body), digest: '0'.repeat(64) },
    ]
    for (const displayed of lies)
      expect((await approving(ann, thread, displayed)).problem).toMatchObject({ code: 'stale_revision' })
    await bot.revise(task, thread, { revision_id: 'r2', request_payload: { amount: 600, to: 'x' } })
    const revised = (await ann.show(thread)).body
    expect(revised.display.parts).toEqual(['payload.amount', 'payload.to'])
    const replayed = { decision: 'approve', revision: 2, displayed: displayedOf(body) }
    expect((await ann.vote(thread, replayed as never)).problem).toMatchObject({ code: 'stale_revision' })
  })

  it('409 displayed_required in a level that requires it, until each part was seen', async () => {
    const { thread } = await held(bot, { payload: CRITICAL })
    const who = await world.signIn('ann')
    const { body } = await who.show(thread)
    expect(body.display.parts).toEqual(['payload.amount', 'payload.secret', 'payload.to'])
    const part = displayedOf(body, { seen: ['payload.amount', 'payload.to'] })
    for (const displayed of [undefined, part])
      expect((await approving(who, thread, displayed)).problem).toMatchObject({
        status: 409,
        code: 'displayed_required',
      })
    expect((await approving(who, thread, displayedOf(body))).status).toBe(200)
    const rejected = await (await world.reviewer('ben')).vote(thread, { decision: 'reject', revision: 1 })
    expect(rejected.body.status).toBe('rejected')
  })

  it.each([
    ['no digest', { seen: [], unseen: [] }],
    ['a short digest', { digest: 'abc', seen: [], unseen: [] }],
    ['too many places', { digest: '0'.repeat(64), seen: Array<string>(201).fill('a'), unseen: [] }],
    ['a long place', { digest: '0'.repeat(64), seen: ['a'.repeat(321)], unseen: [] }],
    [
      'places that no record could hold',
      { digest: '0'.repeat(64), seen: Array<string>(100).fill('ä'.repeat(310)), unseen: [] },
    ],
    ['a negative time', { digest: '0'.repeat(64), seen: [], unseen: [], ms: -1 }],
    ['a property more', { digest: '0'.repeat(64), seen: [], unseen: [], by: 'ann' }],
  ])('400 for %s', async (_, displayed) => {
    const { thread } = await held(bot)
    expect((await approving(ann, thread, displayed)).status).toBe(400)
  })
})

describe('POST votes on several calls', () => {
  interface Result {
    readonly thread_id: string
    readonly status?: string
    readonly problem?: { readonly code: string; readonly status: number }
  }
  const together = (who: Reviewer, body: object): Promise<Answer<{ readonly results: readonly Result[] }>> =>
    who.call('POST', 'votes', { body })
  const entryOf = async (thread_id: string, more = {}) => {
    const { body } = await ann.show(thread_id)
    return { thread_id, revision: 1, displayed: displayedOf(body), ...more }
  }

  it('200 with one result each: votes that count, and the codes of refused ones', async () => {
    const [first, second, decided, revised] = await Promise.all([held(bot), held(bot), held(bot), held(bot)])
    const critical = await held(bot, { payload: CRITICAL })
    const votes = [
      await entryOf(first.thread),
      await entryOf(decided.thread),
      await entryOf(revised.thread),
      await entryOf(critical.thread),
      { ...(await entryOf(second.thread)), decision: 'reject' },
      { ...(await entryOf(second.thread)), displayed: displayedOf((await ann.show(first.thread)).body) },
      { ...(await entryOf(first.thread)), thread_id: 'thr_unknown' },
      await entryOf(first.thread),
    ]
    await ann.approve(decided.thread)
    await bot.revise(revised.task, revised.thread, { revision_id: 'r2', request_payload: { amount: 600 } })
    const { status, body } = await together(ann, { decision: 'approve', comment: 'Fine.', votes })
    expect(status).toBe(200)
    expect(body.results.map(({ status, problem }) => status ?? problem?.code)).toEqual([
      'approved',
      'not_pending',
      'stale_revision',
      'vote_alone',
      'rejected',
      'not_pending',
      'not_found',
      'not_pending',
    ])
    expect(body.results[3]).toMatchObject({ thread_id: critical.thread, problem: { status: 409 } })
    expect((await ann.show(first.thread)).body.votes).toMatchObject([{ comment: 'Fine.', reviewer: 'ann' }])
  })

  it('200 and one evidence record for each vote that counted, with its own display', async () => {
    const { thread } = await held(bot)
    const entry = await entryOf(thread)
    const other = await entryOf((await held(bot)).thread)
    const wrong = { ...other, displayed: entry.displayed }
    const records = await world.evidenceOf(() =>
      together(ann, { decision: 'approve', votes: [entry, wrong] }),
    )
    expect(records.map(({ record }) => record)).toMatchObject([
      { type: 'vote.cast', thread_id: thread, details: { displayed: 'all' } },
      { type: 'review.approved', thread_id: thread },
    ])
  })

  it('200 and `internal` for a thread with a broken record, which stops no other vote', async () => {
    const [first, broken, last] = [await held(bot), await held(bot), await held(bot)]
    const votes = [
      await entryOf(first.thread),
      await entryOf(broken.thread),
      await entryOf(last.thread, { decision: 'reject' }),
    ]
    const mend = await breakRecord(world, 'thread', broken.thread)
    const { status, body } = await together(ann, { decision: 'approve', comment: 'No.', votes })
    await mend()
    expect([status, ...body.results.map(({ status, problem }) => status ?? problem?.code)]).toEqual([
      200,
      'approved',
      'internal',
      'rejected',
    ])
  })

  it('200 and `store_unavailable` for all votes after the first that the store could not take', async () => {
    let commits = 0
    let left = Infinity
    const away = await openWorld({
      wrapStore: (store) =>
        overriding(store, {
          commit: (tenant, commit) => {
            commits += 1
            return left-- > 0 ? store.commit(tenant, commit) : Promise.reject(new StoreUnavailable('away'))
          },
        }),
    })
    try {
      const [agent, cat] = [await away.agent(), await away.reviewer('cat')]
      const calls = [await held(agent), await held(agent), await held(agent), await held(agent)]
      const votes = await Promise.all(
        calls.map(async ({ thread }) => {
          const { body } = await cat.show(thread)
          return { thread_id: thread, revision: 1, displayed: displayedOf(body) }
        }),
      )
      left = 1
      commits = 0
      const { status, body } = await cat.call<{ readonly results: readonly Result[] }>('POST', 'votes', {
        body: { decision: 'approve', votes },
      })
      expect([status, ...body.results.map(({ status, problem }) => status ?? problem?.code)]).toEqual([
        200,
        'approved',
        ...Array(3).fill('store_unavailable'),
      ])
      expect(commits).toBe(2)
    } finally {
      left = Infinity
      await away.close()
    }
  })

  it('400 without a vote, for more than fifty, and for a vote without displayed', async () => {
    const entry = await entryOf((await held(bot)).thread)
    const { displayed: _, ...blind } = entry
    for (const votes of [[], Array(51).fill(entry), [blind]])
      expect((await together(ann, { decision: 'approve', votes })).status).toBe(400)
    expect((await together(ann, { votes: [entry] })).status).toBe(400)
  })
})
