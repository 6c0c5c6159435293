// @store each, in the soak
import { beforeAll, describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import { INDEX } from '../../src/gateway/core/indexes.ts'
import { fileWorld, world } from '../agent-world.ts'
import {
  type Agent,
  approved,
  breakRecord,
  edited,
  HASH,
  held,
  HOUR,
  MINUTE,
  newTask,
  openWorld,
  REVIEWED,
  type Reviewer,
} from '../gateway-fixture.ts'

/** The review plane (docs/review-api.md). */

let bot: Agent
const people: Record<string, Reviewer> = {}
const by = (name: string): Reviewer => people[name] as Reviewer

fileWorld()
beforeAll(async () => {
  bot = await world.agent()
  for (const name of ['ann', 'ben', 'cat', 'dan', 'eve', 'nil', 'olga'])
    people[name] = await world.reviewer(name)
})

const NO_THREAD = 'thr_00000000000000000000000000'

describe('GET me', () => {
  it("200 with the time of the store, which all deadlines use, whatever this machine's clock says", async () => {
    const { status, headers } = await by('ann').call('GET', 'me')
    expect([status, Date.parse(headers.get('date') ?? '')]).toEqual([200, world.clock.now])
    const refused = await world.admin('GET', 'webhooks/none/deliveries')
    expect([refused.status, Date.parse(refused.headers.get('date') ?? '')]).toEqual([404, world.clock.now])
  })

  it("200 with the reviewer's name, groups, roles and own agents", async () => {
    const { status, body } = await by('ann').call('GET', 'me')
    expect(status).toBe(200)
    expect(body).toEqual({
      tenant: 'acme',
      reviewer: 'ann',
      name: 'Ann Ash',
      email: 'ann@acme.example',
      groups: ['desk', 'leads', 'board'],
      roles: ['admin'],
      owns: ['selfie'],
      via: 'key',
    })
    const olga = await by('olga').call<{ owns: string[] }>('GET', 'me')
    expect(olga.body.owns).toEqual(['bot', 'other', 'unsigned', 'limited', 'short'])
  })
})

describe('GET threads/{id}', () => {
  it('200 with everything that a reviewer decides on, for every reviewer of the tenant', async () => {
    const task = newTask()
    const claims = { subject: 'Refund', preview: 'p', summary: ['s'], workflow_name: 'w', task_label: 'l' }
    const { body: decision } = await bot.submit(task, {
      tool_name: 'pay',
      payload: { amount: 60_000, to: 'audit-7', secret: 'hush' },
      action_hash: HASH,
      risk_level: 'high',
      images: ['data:image/png;base64,AAAA'],
      ...claims,
    })
    const thread_id = decision.thread_id ?? ''
    for (const name of ['ann', 'nil', 'olga']) {
      const { status, body, headers } = await by(name).show(thread_id)
      expect(status).toBe(200)
      expect(headers.get('etag')).toBe(`"${body.digest}"`)
      expect(body).toMatchObject({
        ...claims,
        thread_id,
        task_id: task,
        status: 'pending_review',
        revision: 1,
        risk: 'critical',
        policy_risk: 'critical',
        risk_level: 'high',
        tool_name: 'pay',
        tool_description: 'Move money.',
        reversibility: 'irreversible',
        labels: ['money'],
        sensitive: ['payload.secret'],
        payload: { amount: 60_000, to: 'audit-7', secret: 'hush' },
        action_hash: HASH,
        agent: 'bot',
        message: 'The auditors want to know. A fortune.',
        created_at: new Date(world.clock.now).toISOString(),
        deadline: new Date(world.clock.now + 30 * MINUTE).toISOString(),
        groups: ['audit', 'board'],
        approvals: { given: 0, required: 3 },
        votes: [],
      })
      expect(body.rules.map(({ id, mode }) => [id, mode])).toEqual([
        ['pay-audit', 'enforced'],
        ['pay-critical', 'enforced'],
        ['pay-shadow', 'shadow'],
      ])
      expect(body.rules[0]).toMatchObject({
        file: 'rules/pay.yaml',
        line: expect.any(Number),
        unknown: false,
        because: [{ field: 'payload.to', value: 'audit-7' }],
      })
      expect(body.rules[1]).toMatchObject({
        risk: 'critical',
        because: [{ field: 'payload.amount', value: 60_000 }],
      })
      expect(body.because).toEqual({ rule: 'pay-critical', field: 'payload.amount', value: 60_000 })
      expect(body.revisions[0]?.rules).toEqual(body.rules)
      expect(body.seats).toContainEqual({ group: 'board', approvals: 2, filled_by: [], escalated_to: [] })
      expect(body.who_can_vote.map(({ reviewer }) => reviewer)).toEqual(['ann', 'ben', 'cat', 'dan', 'eve'])
      expect(body.revisions).toHaveLength(1)
      expect(body.evidence.map(({ type, actor }) => [type, actor])).toEqual([['review.pending', 'agent:bot']])
      expect(body).not.toHaveProperty('token')
    }
    const canVote = async (name: string) => (await by(name).show(thread_id)).body.can_vote
    expect(await canVote('ann')).toEqual({ allowed: true })
    expect(await canVote('nil')).toMatchObject({
      allowed: false,
      code: 'not_eligible',
      reason: expect.any(String),
    })
    expect(await canVote('olga')).toMatchObject({ allowed: false, code: 'self_review' })
  })

  it('200 where another thread of the task has a broken record, without that earlier call', async () => {
    const [one, two, three] = [
      await held(bot, {}, 'task-broken'),
      await held(bot, {}, 'task-broken'),
      await held(bot, {}, 'task-broken'),
    ]
    const mend = await breakRecord(world, 'thread', two.thread)
    const { status, body } = await by('ann').show(three.thread)
    expect([status, body.earlier.map(({ thread_id }) => thread_id)]).toEqual([200, [one.thread]])
    await mend()
  })

  it('200 lists the evidence of this thread only, from its first record to its last', async () => {
    const one = await approved(bot, by('ann'))
    await held(bot, {}, one.task)
    await bot.validate({ task_id: one.task, signature: one.token, request_payload: one.payload })
    const { body } = await by('ann').show(one.thread)
    expect(body.evidence.map(({ type }) => type)).toEqual([
      'review.pending',
      'vote.cast',
      'review.approved',
      'token.minted',
      'token.redeemed',
    ])
  })

  it('200 lists all records of one commit, even several announcements of an earlier version', async () => {
    const own = await openWorld({ tampered: true })
    const { thread } = await held(await own.agent(), { payload: { amount: 20_000 } })
    const pending = (await own.allEvidence()).find(({ record }) => record.thread_id === thread)?.record
    const announced = Array.from({ length: 9 }, () =>
      JSON.stringify({ ...pending, type: 'review.escalated', actor: { kind: 'gateway', id: 'timer' } }),
    )
    const { deps } = own.app
    await deps.store.commit('acme', {
      commitId: deps.nextCommitId(),
      deadline: Infinity,
      guards: [],
      writes: [{ op: 'mark', index: INDEX.evidence(thread) }],
      events: announced,
    })
    const { body } = await (await own.reviewer('ann')).show(thread)
    expect(body.evidence.map(({ number, type }) => [number, type])).toEqual(
      (await own.allEvidence())
        .filter(({ record }) => record.thread_id === thread)
        .map(({ number, record }) => [number, record.type]),
    )
    expect(body.evidence.map(({ type }) => type)).toEqual([
      'review.pending',
      ...Array.from({ length: 9 }, () => 'review.escalated'),
    ])
    await own.close()
  })

  it('200 never shows a token, but says what became of it', async () => {
    const { thread, task } = await held(bot)
    await by('ann').approve(thread)
    expect((await by('ann').show(thread)).body.token).toEqual({ state: 'not_collected' })
    const { body } = await bot.poll({ thread_id: thread })
    const shown = await by('ann').show(thread)
    expect(shown.body.token).toEqual({
      state: 'collected',
      expires_at: new Date(world.clock.now + 10 * MINUTE).toISOString(),
    })
    expect(shown.text).not.toContain(body.approval_token)
    expect(shown.body.task_id).toBe(task)
  })

  it('200 with the voters of an executed call, even after they have left', async () => {
    const own = await openWorld()
    const bots = [await own.agent(), await own.agent('unsigned')] as const
    const [ann, ben] = [await own.reviewer('ann'), await own.reviewer('ben')]
    const used = await approved(bots[0], ben)
    await bots[0].validate({ task_id: used.task, signature: used.token, request_payload: used.payload })
    const read = await held(bots[1])
    await ben.approve(read.thread)
    await bots[1].poll({ thread_id: read.thread })
    const unused = await approved(bots[0], ben)
    const without = edited('directory.yaml', '      ben:  { name: Ben Bay, groups: [desk, board] }\n', '')
    await own.changePolicies(without)
    for (const [{ thread }, given] of [
      [used, 1],
      [read, 1],
      // it is worth nothing any more
      [unused, 0],
    ] as const) {
      const { body } = await ann.show(thread)
      expect([body.status, body.approvals]).toEqual(['approved', { given, required: 1 }])
      expect(body.seats.map(({ filled_by }) => filled_by)).toEqual([given === 1 ? ['ben'] : []])
    }
    await own.close()
  })

  it('200 rejected for an expired thread, at the first request', async () => {
    const { thread } = await held(bot, { tool_name: 'brief', payload: {} })
    world.clock.advance(MINUTE)
    const { body } = await by('ann').show(thread)
    expect(body.status).toBe('rejected')
    expect(body.message).toMatch(/^expired: /)
    expect(body.can_vote).toMatchObject({ allowed: false, code: 'not_pending' })
    expect(body.who_can_vote).toEqual([])
  })

  it('200 with a short subject in the summary and the whole subject in the thread', async () => {
    const subject = 'é'.repeat(500)
    const { thread, task } = await held(bot, { subject })
    expect((await by('ann').show(thread)).body.subject).toBe(subject)
    const { body } = await by('ann').list({ agent: 'bot', task_id: task })
    expect(Array.from(body.threads[0]?.subject ?? '')).toHaveLength(200)
  })

  it.each([NO_THREAD, 'nonsense', '__proto__', '%00', 'x'.repeat(256)])('404 for %s', async (id) => {
    expect((await by('ann').show(id)).status).toBe(404)
  })

  it('404 for the thread of another tenant', async () => {
    const zoe = await world.reviewer('zoe', 'globex')
    const { thread } = await held(bot)
    const [foreign, absent] = [await zoe.show(thread), await zoe.show(NO_THREAD)]
    expect([foreign.status, foreign.text]).toEqual([404, absent.text])
    expect((await zoe.approve(thread)).status).toBe(404)
    expect((await zoe.list({})).body.threads).toEqual([])
  })
})

describe('POST votes', () => {
  it('200 with the thread, where one required approval is enough', async () => {
    const { thread } = await held(bot)
    const { status, body, headers } = await by('ben').vote(thread, {
      decision: 'approve',
      revision: 1,
      comment: 'Fine.',
    })
    expect(status).toBe(200)
    expect(headers.get('etag')).toBe(`"${body.digest}"`)
    expect(body.status).toBe('approved')
    expect(body.votes).toEqual([
      {
        reviewer: 'ben',
        name: 'Ben Bay',
        decision: 'approve',
        revision: 1,
        comment: 'Fine.',
        at: new Date(world.clock.now).toISOString(),
        via: 'key',
        void: false,
      },
    ])
    expect(body.seats).toEqual([{ group: 'desk', approvals: 1, filled_by: ['ben'], escalated_to: [] }])
  })

  it('200 and evidence of the vote: reviewer, means, revision and comment', async () => {
    const { thread } = await held(bot, { payload: { amount: 60_000 } })
    const { digest } = (await by('ann').show(thread)).body
    const records = await world.evidenceOf(() =>
      by('ben').vote(thread, { decision: 'approve', revision: 1, comment: 'Asked the customer.' }),
    )
    expect(records.map(({ record }) => record)).toMatchObject([
      {
        type: 'vote.cast',
        actor: { kind: 'reviewer', id: 'ben' },
        thread_id: thread,
        revision: 1,
        details: { decision: 'approve', digest, via: 'key', commented: true },
      },
    ])
    expect(records[0]?.disclosures?.members).toEqual({ comment: 'Asked the customer.' })
  })

  it('200 approved only by two distinct reviewers when two are required', async () => {
    const { thread } = await held(bot, { payload: { amount: 60_000 } })
    expect((await by('ann').approve(thread)).body.approvals).toEqual({ given: 1, required: 2 })
    expect((await by('ann').approve(thread)).problem.code).toBe('already_voted')
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    expect((await by('ben').approve(thread)).body.status).toBe('approved')
  })

  it('200 approved only when both groups have their own reviewer: a member of both fills one seat', async () => {
    const { thread } = await held(bot, { payload: { amount: 500, to: 'audit-1' } })
    const first = await by('cat').approve(thread)
    expect([first.body.status, first.body.approvals]).toEqual(['pending_review', { given: 1, required: 2 }])
    const second = await by('ann').approve(thread)
    expect(second.body.status).toBe('approved')
    const filled = second.body.seats.map(({ group, filled_by }) => [group, filled_by])
    expect(filled).toEqual([
      ['audit', ['cat']],
      ['desk', ['ann']],
    ])
  })

  it('200 rejected by the first reject after any approvals; no vote counts after it', async () => {
    const { thread } = await held(bot, { payload: { amount: 60_000 } })
    await by('ann').approve(thread)
    const { body } = await by('ben').vote(thread, { decision: 'reject', revision: 1, comment: 'No.' })
    expect([body.status, body.message]).toEqual(['rejected', 'No.'])
    expect((await by('eve').approve(thread)).problem.code).toBe('not_pending')
    expect((await bot.poll({ thread_id: thread })).body.message).toBe('No.')
  })

  it('200 by an owner when the directory allows self review', async () => {
    const selfie = await world.agent('selfie')
    const { thread } = await held(selfie)
    expect((await by('ann').approve(thread)).body.status).toBe('approved')
  })

  it('200 after an escalation: the escalation group may also fill the seat, but not before', async () => {
    const { thread } = await held(bot, { payload: { amount: 20_000 } })
    expect((await by('ben').approve(thread)).problem.code).toBe('not_eligible')
    world.clock.advance(30 * MINUTE - 1)
    expect((await by('ben').approve(thread)).problem.code).toBe('not_eligible')
    world.clock.advance(1)
    const { body } = await by('ben').approve(thread)
    expect(body.status).toBe('approved')
    expect(body.seats[0]).toMatchObject({ group: 'leads', filled_by: ['ben'], escalated_to: ['board'] })
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('approved')
  })

  it('200 for exactly one of two concurrent votes of one reviewer', async () => {
    const { thread } = await held(bot, { payload: { amount: 60_000 } })
    const answers = await Promise.all([by('ann').approve(thread), by('ann').approve(thread)])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403])
  })

  it('200 approved once when the last two reviewers vote at once', async () => {
    const { thread } = await held(bot, { payload: { amount: 60_000 } })
    const records = await world.evidenceOf(() =>
      Promise.all([by('ann').approve(thread), by('ben').approve(thread)]),
    )
    expect(records.map(({ record }) => record.type)).toEqual(['vote.cast', 'vote.cast', 'review.approved'])
  })

  it('200 by If-Match alone, with the ETag that was shown', async () => {
    const { thread } = await held(bot)
    const etag = (await by('ann').show(thread)).headers.get('etag') ?? ''
    const { status, body } = await by('ann').vote(thread, { decision: 'approve' }, { 'if-match': etag })
    expect([status, body.status]).toEqual([200, 'approved'])
  })

  it.each([
    ['no decision', { revision: 1 }, '/decision'],
    ['an unknown decision', { decision: 'maybe', revision: 1 }, '/decision'],
    ['a revision of 0', { decision: 'approve', revision: 0 }, '/revision'],
    ['a revision that is a text', { decision: 'approve', revision: '1' }, '/revision'],
    ['a fraction of a revision', { decision: 'approve', revision: 1.5 }, '/revision'],
    [
      'a comment that is too long',
      { decision: 'approve', revision: 1, comment: 'x'.repeat(LIMITS.COMMENT_CHARS + 1) },
      '/comment',
    ],
    ['a comment that is no text', { decision: 'approve', revision: 1, comment: 1 }, '/comment'],
    ['a property more', { decision: 'approve', revision: 1, reviewer: 'ben' }, '/reviewer'],
  ])('400 for %s', async (_, body, pointer) => {
    const { thread } = await held(bot)
    const { status, problem } = await by('ann').vote(thread, body)
    expect([status, problem.code]).toEqual([400, 'invalid_request'])
    expect(problem.errors?.map((error) => error.pointer)).toContain(pointer)
  })

  it('403 not_eligible for a reviewer who can fill no seat', async () => {
    const { thread } = await held(bot)
    for (const name of ['nil', 'dan', 'eve']) {
      const { status, problem } = await by(name).approve(thread)
      expect([status, problem.code]).toEqual([403, 'not_eligible'])
    }
  })

  it('403 not_eligible names the required groups, and says that the reviewer is in none', async () => {
    const { thread } = await held(bot)
    const { problem } = await by('nil').approve(thread)
    expect([problem.code, problem.detail]).toEqual([
      'not_eligible',
      'this thread needs desk; you are in no group',
    ])
  })

  it('403 self_review for an owner, for every decision', async () => {
    const { thread } = await held(bot)
    for (const decision of ['approve', 'reject', 'request_changes']) {
      const { status, problem } = await by('olga').vote(thread, { decision, revision: 1 })
      expect([status, problem.code]).toEqual([403, 'self_review'])
    }
    expect((await by('ann').show(thread)).body.status).toBe('pending_review')
  })

  it('403 already_voted for a second vote on one revision, except for a rejection', async () => {
    const { thread } = await held(bot, { payload: { amount: 60_000 } })
    await by('ann').approve(thread)
    for (const decision of ['approve', 'request_changes']) {
      const { status, problem } = await by('ann').vote(thread, { decision, revision: 1 })
      expect([status, problem.code]).toEqual([403, 'already_voted'])
    }
    expect((await by('ann').vote(thread, { decision: 'reject', revision: 1 })).status).toBe(200)
  })

  it('404 precedes every other error', async () => {
    const { status, problem } = await by('nil').vote(NO_THREAD, { decision: 'approve', revision: 9 })
    expect([status, problem.code]).toEqual([404, 'not_found'])
    expect((await by('nil').vote('nonsense', { decision: 'approve' })).status).toBe(404)
  })

  it('409 precedes 412, 428 and 403', async () => {
    const { thread } = await held(bot)
    await by('ann').vote(thread, { decision: 'reject', revision: 1 })
    for (const [name, vote] of [
      ['nil', { decision: 'approve' }],
      ['nil', { decision: 'approve', revision: 9 }],
      ['olga', { decision: 'approve', revision: 1 }],
      ['ann', { decision: 'approve', revision: 1 }],
    ] as const) {
      const { status, problem } = await by(name).vote(thread, vote)
      expect([status, problem.code]).toEqual([409, 'not_pending'])
    }
  })

  it('409 for an expired thread, even at the first request', async () => {
    const { thread } = await held(bot, { tool_name: 'brief', payload: {} })
    world.clock.advance(MINUTE)
    const { status, problem } = await by('ann').approve(thread)
    expect([status, problem.code]).toEqual([409, 'not_pending'])
    expect(problem.detail).toContain('expired')
  })

  it('412 precedes 403 when revision or If-Match names another revision', async () => {
    const { thread, task } = await held(bot)
    const old = (await by('ann').show(thread)).headers.get('etag') ?? ''
    await bot.revise(task, thread, { request_payload: REVIEWED })
    const now = (await by('ann').show(thread)).headers.get('etag') ?? ''
    expect(now).not.toBe(old)
    const stale: [object, Record<string, string>][] = [
      [{ revision: 1 }, {}],
      [{ revision: 3 }, {}],
      [{}, { 'if-match': old }],
      [{ revision: 2 }, { 'if-match': old }],
      [{ revision: 1 }, { 'if-match': now }],
      [{}, { 'if-match': '*' }],
      [{}, { 'if-match': `W/${now}` }],
      [{}, { 'if-match': `${now}, ${old}` }],
      [{}, { 'if-match': '' }],
    ]
    for (const name of ['ann', 'nil', 'olga']) {
      for (const [body, headers] of stale) {
        const { status, problem } = await by(name).vote(thread, { decision: 'approve', ...body }, headers)
        expect([status, problem.code, body, headers]).toEqual([412, 'stale_revision', body, headers])
      }
    }
    const fresh = { decision: 'approve', revision: 2 }
    expect((await by('ann').vote(thread, fresh, { 'if-match': now })).status).toBe(200)
  })

  it('412 for the ETag of another thread with the same payload', async () => {
    const [one, two] = [await held(bot), await held(bot)]
    const etag = (await by('ann').show(one.thread)).headers.get('etag') ?? ''
    expect((await by('ann').vote(two.thread, { decision: 'approve' }, { 'if-match': etag })).status).toBe(412)
  })

  it('428 precedes 403 when neither is given', async () => {
    const { thread } = await held(bot)
    for (const name of ['ann', 'nil', 'olga']) {
      const { status, problem } = await by(name).vote(thread, { decision: 'approve' })
      expect([status, problem.code]).toEqual([428, 'revision_required'])
    }
  })

  it('413 for a body over the cap, 415 for another media type', async () => {
    const raw = '{"decision":"approve","revision":1}'
    const path = `threads/${NO_THREAD}/votes`
    expect((await by('ann').call('POST', path, { raw: raw + ' '.repeat(LIMITS.BODY_BYTES) })).status).toBe(
      413,
    )
    const headers = { 'content-type': 'text/plain' }
    expect((await by('ann').call('POST', path, { raw, headers })).status).toBe(415)
  })

  it('a refused vote changes nothing and leaves no record', async () => {
    const { thread } = await held(bot)
    const records = await world.evidenceOf(async () => {
      await by('nil').approve(thread)
      await by('olga').approve(thread)
      await by('ann').approve(thread, 2)
      await by('ann').vote(thread, { decision: 'approve' })
    })
    expect(records).toEqual([])
    expect((await by('ann').show(thread)).body.votes).toEqual([])
  })
})

describe('GET threads', () => {
  it('200 with the threads whose time ends soon', async () => {
    const [low, high] = [await held(bot), await held(bot, { payload: { amount: 20_000 } })]
    const within = async (expires_within: string): Promise<string[]> =>
      (await by('ann').list({ expires_within, limit: '100' })).body.threads.map(({ thread_id }) => thread_id)
    const soon = await within('1h')
    expect([soon.includes(high.thread), soon.includes(low.thread)]).toEqual([true, false])
    expect((await within('15m')).includes(high.thread)).toBe(false)
    expect((await by('ann').list({ expires_within: '2h' })).status).toBe(400)
  })

  it('200 with a summary of each thread', async () => {
    const { thread, task } = await held(bot, { subject: 'Refund' })
    const { status, body } = await by('nil').list({ task_id: task })
    expect(status).toBe(200)
    expect(body).toEqual({
      threads: [
        {
          alike: expect.any(String),
          asked_at: new Date(world.clock.now).toISOString(),
          because: { rule: 'pay-review', field: 'payload.amount', value: 500 },
          thread_id: thread,
          task_id: task,
          status: 'pending_review',
          revision: 1,
          risk: 'low',
          tool_name: 'pay',
          heading: {
            line: 'pay: amount 500',
            segments: [{ text: 'pay' }, { text: ': amount ' }, { text: '500', field: 'payload.amount' }],
          },
          agent: 'bot',
          subject: 'Refund',
          message: 'More than pocket money.',
          created_at: new Date(world.clock.now).toISOString(),
          deadline: new Date(world.clock.now + 8 * HOUR).toISOString(),
          groups: ['desk'],
          escalated_to: [],
          approvals: { given: 0, required: 1 },
          updated_at: new Date(world.clock.now).toISOString(),
          mine: false,
          equal: expect.stringMatching(/^[\w-]{22}$/),
        },
      ],
    })
  })

  it('200 with all other threads, and the name of a thread with a broken record', async () => {
    const [one, two, three] = [await held(bot), await held(bot), await held(bot)]
    const mend = await breakRecord(world, 'thread', two.thread)
    const { status, body } = await by('ann').list({ status: 'pending_review', limit: '100' })
    expect([status, body.unreadable]).toEqual([200, [two.thread]])
    const listed = body.threads.map(({ thread_id }) => thread_id)
    expect(listed).toEqual(expect.arrayContaining([one.thread, three.thread]))
    expect(listed).not.toContain(two.thread)
    await mend()
    expect((await by('ann').list({ limit: '100' })).body.unreadable).toBeUndefined()
  })

  it('200 by each filter and by all of them, without a thread that does not match', async () => {
    const other = await world.agent('other')
    const task = newTask()
    const small = await held(bot, {}, task)
    const large = await held(bot, { payload: { amount: 60_000 } }, task)
    const audit = await held(bot, { payload: { amount: 500, to: 'audit-1' } }, task)
    const hold = await held(other, { tool_name: 'hold', payload: {} }, task)
    await by('ann').approve(small.thread)
    const found = async (query: Record<string, string>) =>
      (await by('ann').list({ task_id: task, limit: '100', ...query })).body.threads.map(
        (one) => one.thread_id,
      )
    expect((await found({})).toSorted()).toEqual(
      [small, large, audit, hold].map(({ thread }) => thread).toSorted(),
    )
    expect(await found({ status: 'approved' })).toEqual([small.thread])
    expect(await found({ status: 'pending_review' })).toEqual([large.thread, audit.thread, hold.thread])
    expect(await found({ status: 'allow' })).toEqual([])
    expect(await found({ tool: 'hold' })).toEqual([hold.thread])
    expect(await found({ risk: 'critical' })).toEqual([large.thread])
    expect(await found({ group: 'audit' })).toEqual([audit.thread])
    expect(await found({ agent: 'other' })).toEqual([hold.thread])
    expect(await found({ agent: 'bot', status: 'pending_review', group: 'desk' })).toEqual([audit.thread])
    expect(await found({ agent: 'bot', tool: 'hold' })).toEqual([])
  })

  it('200 newest first or oldest first, and by default newest first', async () => {
    const task = newTask()
    const threads: string[] = []
    for (let i = 0; i < 5; i++) {
      world.clock.advance(1)
      threads.push((await held(bot, {}, task)).thread)
    }
    const listed = async (query: Record<string, string>) =>
      (await by('ann').list({ task_id: task, ...query })).body.threads.map((one) => one.thread_id)
    expect(await listed({ status: 'pending_review', sort: 'oldest' })).toEqual(threads)
    expect(await listed({ sort: 'oldest' })).toEqual(threads)
    expect(await listed({ status: 'pending_review', sort: 'newest' })).toEqual(threads.toReversed())
    expect(await listed({ status: 'pending_review', agent: 'bot' })).toEqual(threads)
    expect(await listed({})).toEqual(threads.toReversed())
  })

  it.each([{}, { status: 'pending_review' }, { agent: 'bot' }, { tool: 'pay', status: 'pending_review' }])(
    '200 in pages that repeat and omit no thread, for any page size: %j',
    async (query) => {
      const task = newTask()
      const threads: string[] = []
      for (let i = 0; i < 7; i++) {
        threads.push((await held(bot, {}, task)).thread)
        await held(bot, { tool_name: 'hold', payload: {} })
      }
      for (const limit of ['1', '2', '3', '7', '100']) {
        const seen: string[] = []
        let cursor: string | undefined
        do {
          const { body } = await by('ann').list({ ...query, task_id: task, limit, ...(cursor && { cursor }) })
          expect(body.threads.length).toBeLessThanOrEqual(Number(limit))
          seen.push(...body.threads.map(({ thread_id }) => thread_id))
          cursor = body.next_cursor
        } while (cursor !== undefined)
        expect(seen.toSorted()).toEqual(threads.toSorted())
      }
    },
  )

  it('200 keeps its place when threads leave the list between two pages', async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      const reviewer = await own.reviewer('ann')
      const threads: string[] = []
      for (let i = 0; i < 6; i++) threads.push((await held(agent)).thread)
      const first = await reviewer.list({ status: 'pending_review', limit: '3' })
      for (const thread of threads.slice(0, 4)) await reviewer.approve(thread)
      const cursor = first.body.next_cursor ?? ''
      const second = await reviewer.list({ status: 'pending_review', limit: '3', cursor })
      expect(second.body.threads.map(({ thread_id }) => thread_id)).toEqual(threads.slice(4))
    } finally {
      await own.close()
    }
  })

  it.each([
    'status=open',
    'risk=severe',
    'sort=age',
    'sort=urgency',
    'sort=tool&status=approved',
    'limit=0',
    'limit=101',
    'limit=1e1',
    'limit=-1',
    'limit=',
    'x=1',
    'tool=',
    'tool=a&tool=b',
    'cursor=',
    'cursor=nonsense',
    `cursor=${Buffer.from('[1]').toString('base64url')}`,
    `cursor=${Buffer.from('{}').toString('base64url')}`,
    `cursor=${Buffer.from('null').toString('base64url')}`,
    `cursor=${Buffer.from('["1","x"]').toString('base64url')}`,
    `cursor=${Buffer.from('[1e999,"x"]').toString('base64url')}`,
    `cursor=${Buffer.from(JSON.stringify([1, 'x'.repeat(330)])).toString('base64url')}`,
    `cursor=${Buffer.from('[1,"\\ud800"]').toString('base64url')}`,
    `cursor=${Buffer.from('[0,"",99]').toString('base64url')}`,
    `cursor=${Buffer.from('[0,"",0.5]').toString('base64url')}`,
    `cursor=${'A'.repeat(513)}`,
  ])('400 for ?%s', async (query) => {
    expect((await by('ann').call('GET', `threads?${query}`)).status).toBe(400)
  })

  it.each([
    { agent: 'x'.repeat(300), task_id: 'a' },
    { agent: 'bot', task_id: 'x'.repeat(300) },
    { agent: 'bot', task_id: '../a\u0000' },
    { group: 'x'.repeat(3_000) },
    { tool: '__proto__' },
  ])('200 without a thread for a filter that matches nothing', async (query) => {
    const { status, body } = await by('ann').list(query)
    expect([status, body]).toEqual([200, { threads: [] }])
  })
})
