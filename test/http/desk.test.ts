// @store each, in the soak
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import type { AgentList } from '../../src/contract/agent-list.ts'
import type { Revealed, TextWarning, ThreadCounts, ThreadView } from '../../src/contract/reviewer.ts'
import { digestOf } from '../../src/domain/digest.ts'
import { INDEX } from '../../src/gateway/core/indexes.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import { BUNDLE } from '../bundle.ts'
import { fileWorld, world } from '../agent-world.ts'
import {
  type Agent,
  type Answer,
  approved,
  call,
  edited,
  held,
  HOUR,
  MINUTE,
  newTask,
  openWorld,
  overriding,
  type Reviewer,
  type SignedIn,
} from '../gateway-fixture.ts'
import { until } from '../until.ts'

/** Operations of reviewers beside voting, and the data around a thread (docs/review-api.md). */

/** The sum that one agent may spend in a day before its calls need another look. */
const LIMITED = edited(
  'rules/pay.yaml',
  'rules:\n',
  `limits:
  - id: pay-daily
    review: That is a lot for a day.
    sum: payload.amount
    at_most: 2000
    within: 24h
    per: agent
rules:
`,
)

let bot: Agent
let annSignedIn: SignedIn
const people: Record<string, Reviewer> = {}
const by = (name: string): Reviewer => people[name] as Reviewer

fileWorld({ files: LIMITED })
beforeAll(async () => {
  bot = await world.agent()
  for (const name of ['ann', 'ben', 'cat', 'dan', 'eve', 'nil', 'olga'])
    people[name] = await world.reviewer(name)
  annSignedIn = await world.signIn('ann')
})

const NO_THREAD = 'thr_00000000000000000000000000'
const at = (ms = 0): string => new Date(world.clock.now + ms).toISOString()

const comment = (who: Reviewer, thread: string, text: unknown): Promise<Answer<ThreadView>> =>
  who.call('POST', `threads/${thread}/comments`, { body: { comment: text } })
const claim = (who: Reviewer, thread: string, body: object = {}): Promise<Answer<ThreadView>> =>
  who.call('POST', `threads/${thread}/claim`, { body })
const release = (who: Reviewer, thread: string): Promise<Answer<ThreadView>> =>
  who.call('POST', `threads/${thread}/release`)
const reveal = (who: Reviewer, thread: string, revision: unknown): Promise<Answer<Revealed>> =>
  who.call('POST', `threads/${thread}/reveal`, { body: { revision } })

describe('POST comments', () => {
  it('201 with the thread and every comment so far, from every reviewer of the tenant, in any state', async () => {
    const { thread } = await held(bot)
    expect((await comment(by('nil'), thread, 'who asked for this?')).status).toBe(201)
    world.clock.advance(MINUTE)
    await by('ann').vote(thread, { decision: 'reject', revision: 1 })
    const { status, body } = await comment(annSignedIn, thread, 'nobody did')
    expect(status).toBe(201)
    expect(body.comments).toEqual([
      {
        reviewer: 'nil',
        name: 'Nil Nox',
        comment: 'who asked for this?',
        revision: 1,
        at: at(-MINUTE),
        via: 'key',
      },
      { reviewer: 'ann', name: 'Ann Ash', comment: 'nobody did', revision: 1, at: at(), via: 'link' },
    ])
    expect(body.status).toBe('rejected')
    expect(body.evidence.map(({ type, actor }) => [type, actor])).toContainEqual([
      'thread.commented',
      'reviewer:nil',
    ])
  })

  it('records the comment in evidence, and does not count as a vote', async () => {
    const { thread } = await held(bot)
    const records = await world.evidenceOf(() => comment(by('ann'), thread, 'looks fine'))
    expect(records.map(({ record }) => record)).toMatchObject([
      {
        type: 'thread.commented',
        actor: { kind: 'reviewer', id: 'ann' },
        thread_id: thread,
        details: { via: 'key' },
      },
    ])
    expect(records[0]?.disclosures?.members).toEqual({ comment: 'looks fine' })
    expect((await by('ann').show(thread)).body).toMatchObject({ votes: [], can_vote: { allowed: true } })
  })

  it('keeps all comments that arrive at once', async () => {
    const { thread } = await held(bot)
    const all = Array.from({ length: 8 }, (_, i) => `${i}`)
    const answers = await Promise.all(all.map((text) => comment(by('ann'), thread, text)))
    expect(answers.map(({ status }) => status)).toEqual(all.map(() => 201))
    const { body } = await by('ann').show(thread)
    expect(body.comments.map((one) => one.comment).toSorted()).toEqual(all)
  })

  it('is stored once for repeated requests, until the text or the revision changes', async () => {
    const { thread, task } = await held(bot)
    const said = async (): Promise<string[]> =>
      (await by('ann').show(thread)).body.comments.map(
        (one) => `${one.reviewer} ${one.comment} ${one.revision}`,
      )
    const records = await world.evidenceOf(async () => {
      for (const again of [1, 2])
        expect((await comment(by('ann'), thread, 'sent twice')).status, `${again}`).toBe(201)
    })
    expect(records).toHaveLength(1)
    await comment(by('ben'), thread, 'sent twice')
    await comment(by('ann'), thread, 'sent twice')
    expect(await said()).toEqual(['ann sent twice 1', 'ben sent twice 1', 'ann sent twice 1'])
    await by('ann').vote(thread, { decision: 'request_changes', revision: 1 })
    expect((await bot.revise(task, thread, { request_payload: { amount: 600 } })).status).toBe(201)
    await comment(by('ann'), thread, 'sent twice')
    expect((await said()).at(-1)).toBe('ann sent twice 2')
  })

  it('a repeated comment is answered once the first is known to be stored', async () => {
    const { thread } = await held(bot)
    await comment(by('ann'), thread, 'is it there?')
    const commit = vi.spyOn(world.app.deps.store, 'commit')
    onTestFinished(() => commit.mockRestore())
    commit.mockRejectedValueOnce(new StoreUnavailable('not now'))
    expect((await comment(by('ann'), thread, 'is it there?')).status).toBe(503)
    expect((await comment(by('ann'), thread, 'is it there?')).status).toBe(201)
    expect((await by('ann').show(thread)).body.comments).toHaveLength(1)
  })

  it('400 for an empty or long comment, 404 for an unknown thread, 409 for too many comments', async () => {
    const { thread } = await held(bot)
    for (const text of ['', 'x'.repeat(LIMITS.COMMENT_CHARS + 1), 7])
      expect((await comment(by('ann'), thread, text)).status).toBe(400)
    expect((await comment(by('ann'), NO_THREAD, 'x')).problem.code).toBe('not_found')
    const foreign = await world.reviewer('zoe', 'globex')
    expect((await comment(foreign, thread, 'x')).problem.code).toBe('not_found')
    for (let i = 0; i < LIMITS.COMMENTS; i++)
      expect((await comment(by('ann'), thread, `${i}`)).status).toBe(201)
    expect((await comment(by('ann'), thread, 'one more')).problem).toMatchObject({
      status: 409,
      code: 'too_many_comments',
    })
  })
})

describe('POST claim and release', () => {
  it('200 shows every reviewer the claim, until release, decision, or its end', async () => {
    const { thread } = await held(bot)
    const claimed = await claim(by('ann'), thread)
    expect(claimed.status).toBe(200)
    const expected = { reviewer: 'ann', name: 'Ann Ash', expires_at: at(LIMITS.CLAIM_MS) }
    expect(claimed.body.claim).toEqual(expected)
    expect((await by('ben').show(thread)).body.claim).toEqual(expected)
    expect((await release(by('ann'), thread)).body).not.toHaveProperty('claim')

    await claim(by('ann'), thread)
    world.clock.advance(LIMITS.CLAIM_MS - 1)
    expect((await by('ben').show(thread)).body.claim?.reviewer).toBe('ann')
    world.clock.advance(1)
    expect((await by('ben').show(thread)).body).not.toHaveProperty('claim')

    await claim(by('ann'), thread)
    expect((await by('ann').approve(thread)).body).not.toHaveProperty('claim')
  })

  it('does not prevent other reviewers from voting', async () => {
    const { thread } = await held(bot)
    await claim(by('ann'), thread)
    expect((await by('ben').approve(thread)).body.status).toBe('approved')
  })

  it("409 already_claimed while another reviewer holds the claim, unless taken over; release ends only one's own", async () => {
    const { thread } = await held(bot)
    await claim(by('ann'), thread)
    expect((await claim(by('ben'), thread)).problem).toMatchObject({ status: 409, code: 'already_claimed' })
    expect((await release(by('ben'), thread)).body.claim?.reviewer).toBe('ann')
    expect((await claim(by('ann'), thread)).status).toBe(200)
    const records = await world.evidenceOf(() => claim(by('ben'), thread, { take_over: true }))
    expect(records.map(({ record }) => [record.type, record.details])).toEqual([
      ['thread.claimed', { from: 'ann', via: 'key' }],
    ])
    expect((await by('ann').show(thread)).body.claim?.reviewer).toBe('ben')
  })
})

describe('sensitive values', () => {
  const secretOf = ({ payload: shown }: { payload: object }): unknown =>
    (shown as { secret?: unknown }).secret
  const payload = { amount: 500, to: 'shop', secret: 'hush' }

  it('appear as tags in a session, in every revision, equal for equal values', async () => {
    const { task, thread } = await held(bot, { payload })
    await by('ann').vote(thread, { decision: 'request_changes', revision: 1 })
    await bot.revise(task, thread, { request_payload: { ...payload, amount: 600 } })
    await by('ann').vote(thread, { decision: 'request_changes', revision: 2 })
    await bot.revise(task, thread, { revision_id: 'r2', request_payload: { ...payload, secret: 'loud' } })
    const { body, text } = await annSignedIn.show(thread)
    expect(text).not.toMatch(/hush|loud/)
    expect([body.masked, body.revisions.map(({ masked }) => masked)]).toEqual([
      ['/secret'],
      [['/secret'], ['/secret'], ['/secret']],
    ])
    const tags = body.revisions.map(secretOf)
    expect(tags[0]).toMatch(/^\[hidden [0-9a-f]{8}\]$/)
    expect(tags).toEqual([tags[0], tags[0], secretOf(body)])
    expect(tags[2]).not.toBe(tags[0])
    const other = await held(bot, { payload })
    expect(secretOf((await annSignedIn.show(other.thread)).body)).not.toBe(tags[0])
  })

  it('sensitive values are shown in full to a key, which a program holds', async () => {
    const { thread } = await held(bot, { payload })
    expect((await by('ann').show(thread)).body).toMatchObject({ payload, masked: [] })
  })

  it('cannot be guessed and checked against the digest of the payload', async () => {
    const { thread } = await held(bot, { payload })
    const digestOfGuess = digestOf(payload)
    expect((await annSignedIn.show(thread)).text).not.toContain(digestOfGuess)
    expect((await by('ann').show(thread)).body.revisions[0]?.payload_digest).toBe(digestOfGuess)
    const open = await held(bot, { payload: { amount: 500 } })
    const shown = (await annSignedIn.show(open.thread)).body.revisions[0]
    expect(shown?.payload_digest).toBe(digestOf({ amount: 500 }))
  })

  it('cannot be guessed and checked against an action hash that covers only them', async () => {
    const task = newTask()
    const action_hash = digestOf({ task_id: task, tool_name: 'pay', payload })
    const { body } = await bot.submit(task, { tool_name: 'pay', payload, action_hash })
    const thread = body.thread_id ?? ''
    expect((await annSignedIn.show(thread)).text).not.toContain(action_hash)
    const whole = (await by('ann').show(thread)).body
    expect([whole.action_hash, whole.revisions[0]?.action_hash]).toEqual([action_hash, action_hash])
    const open = { amount: 500 }
    const held = await bot.submit(newTask(), { tool_name: 'pay', payload: open, action_hash })
    expect((await annSignedIn.show(held.body.thread_id ?? '')).body.action_hash).toBe(action_hash)
  })

  it('cannot be inferred from the level of a limit that sums them', async () => {
    const own = await openWorld({
      files: {
        ...LIMITED,
        ...edited('tools/pay.yaml', 'sensitive: [payload.secret]', 'sensitive: [payload.amount]'),
      },
    })
    const [spender, ann] = [await own.agent(), await own.signIn('ann')]
    await approved(spender, ann, { payload: { amount: 321 } })
    const { thread } = await held(spender, { payload: { amount: 456 } })
    const { body } = await ann.show(thread)
    expect(body.limits).toEqual([
      { id: 'pay-daily', mode: 'enforced', per: 'agent', within_ms: 24 * HOUR, at_most: 2_000 },
    ])
    await own.close()
  })

  it('cannot be inferred from a limit that also sums those of another tool', async () => {
    const bonus = (BUNDLE['tools/pay.yaml'] ?? '')
      .replace('tool: pay', 'tool: bonus')
      .replace('[payload.secret]', '[payload.amount]')
    const both = `tools: [pay, bonus]
limits:
  - id: both
    review: A lot for a day.
    sum: payload.amount
    at_most: 100000
    within: 24h
    per: tenant
rules:
  - id: both-looked-at
    review: People look at it.
`
    const own = await openWorld({ files: { 'tools/bonus.yaml': bonus, 'rules/both.yaml': both } })
    const [spender, ann] = [await own.agent('other'), await own.signIn('ann')]
    await approved(spender, ann, { tool_name: 'bonus', payload: { amount: 321 } })
    const { thread } = await held(spender, { payload: { amount: 456 } })
    const { body } = await ann.show(thread)
    expect(body.limits).toEqual([
      { id: 'both', mode: 'enforced', per: 'tenant', within_ms: 24 * HOUR, at_most: 100_000 },
    ])
    await own.close()
  })

  it('200 of reveal returns them, and records who asked', async () => {
    const { thread } = await held(bot, { payload })
    let answer: Answer<Revealed> | undefined
    const records = await world.evidenceOf(async () => (answer = await reveal(annSignedIn, thread, 1)))
    expect(answer?.status).toBe(200)
    expect(answer?.body).toEqual({ revision: 1, payload, warnings: [] })
    expect(answer?.headers.get('countersign-evidence')).toMatch(/^\d+:[0-9a-f]{64}$/)
    expect(records.map(({ record }) => record)).toMatchObject([
      {
        type: 'payload.revealed',
        actor: { kind: 'reviewer', id: 'ann' },
        thread_id: thread,
        details: { revealed_revision: 1, fields: ['payload.secret'], via: 'link' },
      },
    ])
    expect((await annSignedIn.show(thread)).text).not.toContain('hush')
  })

  it('warnings of a thread cover the visible part; reveal returns those of the hidden part', async () => {
    const hidden = { amount: 500, to: 'а shop', secret: 'hu\u202esh' }
    const { thread } = await held(bot, { payload: hidden, subject: 'pаypal', summary: ['ok', 'o\u200bk'] })
    const places = (warnings: readonly TextWarning[]): string[] => warnings.map(({ place }) => place)
    const { body } = await annSignedIn.show(thread)
    expect(places(body.warnings)).toEqual(['subject', 'summary'])
    expect(body.warnings[0]).toEqual({
      place: 'subject',
      kinds: ['mixed_script'],
      message: 'A word mixes letters of different alphabets that look alike.',
      words: ['p[U+0430]ypal'],
    })
    const revealed = await reveal(annSignedIn, thread, 1)
    expect(places(revealed.body.warnings)).toEqual(['subject', 'summary', 'payload/secret'])
    expect(places((await by('ann').show(thread)).body.warnings)).toEqual(places(revealed.body.warnings))
  })

  it('404 of reveal for an unknown revision or thread, 400 for an invalid number', async () => {
    const { thread } = await held(bot, { payload })
    expect((await reveal(annSignedIn, thread, 2)).status).toBe(404)
    expect((await reveal(annSignedIn, NO_THREAD, 1)).status).toBe(404)
    expect((await reveal(annSignedIn, thread, '1')).status).toBe(400)
  })

  it('hides everything after the tool has lost its contract', async () => {
    const own = await openWorld()
    const { thread } = await held(await own.agent(), { payload })
    const ann = await own.signIn('ann')
    await own.changePolicies({
      'rules/pay.yaml': 'tool: other\nrules:\n  - id: other-open\n    allow: Harmless.\n',
      'tools/pay.yaml': 'tool: other\ndescription: x\nrisk: low\ninput_schema: { type: object }\n',
    })
    await until(() => own.app.deps.policies.current()?.tools.has('pay') === false)
    const { body, text } = await ann.show(thread)
    expect(body.masked).toEqual(['/amount', '/to', '/secret'])
    expect(text).not.toContain('hush')
    await own.close()
  })
})

describe('images', () => {
  const PIXEL =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const entries = ['hostile-images.json', 'more-images.json'].flatMap((name) => {
    const file = new URL(`../data/hostile/${name}`, import.meta.url)
    return (JSON.parse(readFileSync(file, 'utf8')) as { entries: { id: string; value: string }[] }).entries
  })

  const image = (who: Reviewer, path: string): Promise<Response> =>
    fetch(`${world.url}/api/review/threads/${path}`, { headers: who.credentials() })

  it('200 with the bytes of a valid image, in a form that no browser takes for another type', async () => {
    const { thread } = await held(bot, { images: ['https://x.test/a.png', PIXEL] })
    const { body } = await annSignedIn.show(thread)
    expect(body.pictures).toEqual([
      { shown: false, reason: 'not a data: URL of a PNG, JPEG or WebP image' },
      { shown: true, type: 'image/png', width: 1, height: 1 },
    ])
    expect(body.revisions[0]?.pictures).toEqual(body.pictures)
    const answer = await image(annSignedIn, `${thread}/images/1/1`)
    expect(answer.status).toBe(200)
    expect(Buffer.from(await answer.arrayBuffer()).toString('base64')).toBe(PIXEL.split(',')[1])
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'image/png',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'no-store',
    })
  })

  it('404 for every other image', async () => {
    const { thread } = await held(bot, { images: ['https://x.test/a.png', PIXEL] })
    for (const path of ['images/1/0', 'images/1/2', 'images/2/1', 'images/0/1', 'images/1/-1', 'images/x/y'])
      expect([path, (await image(annSignedIn, `${thread}/${path}`)).status]).toEqual([path, 404])
    expect((await image(annSignedIn, `${NO_THREAD}/images/1/1`)).status).toBe(404)
    expect((await image(await world.reviewer('zoe', 'globex'), `${thread}/images/1/1`)).status).toBe(404)
  })

  it('404 for each hostile image that is accepted at all, whatever type it claims', async () => {
    let shown = 0
    for (const { value } of entries) {
      const { status, body } = await bot.submit(newTask(), { tool_name: 'hold', images: [value] })
      if (status === 400) continue // too long for a string of the contract
      const { thread_id = '' } = body
      const { pictures } = (await annSignedIn.show(thread_id)).body
      expect(pictures).toEqual([{ shown: false, reason: expect.stringMatching(/./) }])
      expect((await image(annSignedIn, `${thread_id}/images/1/0`)).status).toBe(404)
      shown += 1
    }
    expect(shown).toBeGreaterThan(50)
  })
})

describe('the context of a thread', () => {
  it('other calls of the task: reviewed and rejected ones, and the last allowed one of each tool', async () => {
    const task = newTask()
    const submit = (tool_name: string, payload: unknown) => bot.submit(task, { tool_name, payload })
    await submit('t', {})
    world.clock.advance(2 * MINUTE)
    await submit('t', {})
    const allowed = at()
    world.clock.advance(1)
    await submit('pay', { amount: 900_000 })
    const rejected = at()
    world.clock.advance(1)
    const first = await held(bot, { subject: 'before' }, task)
    await by('ann').approve(first.thread)
    const opened = at()
    world.clock.advance(1)
    const { thread } = await held(bot, {}, task)
    await held(bot, {}, newTask())
    expect((await by('ann').show(thread)).body.earlier).toEqual([
      {
        tool: 'pay',
        outcome: 'approved',
        at: opened,
        thread_id: first.thread,
        subject: 'before',
        message: 'More than pocket money.',
        heading: {
          line: 'pay: amount 500',
          segments: [{ text: 'pay' }, { text: ': amount ' }, { field: 'payload.amount', text: '500' }],
        },
      },
      { tool: 'pay', outcome: 'reject', at: rejected },
      { tool: 't', outcome: 'allow', at: allowed },
    ])
  })

  it('the level of the limits that an approval would charge, and the amount that it would add', async () => {
    const spender = await world.agent('other')
    const pay = (amount: number) => held(spender, { payload: { amount } })
    await approved(spender, by('ann'), { payload: { amount: 300 } })
    const { thread } = await pay(500)
    const limit = { id: 'pay-daily', mode: 'enforced', per: 'agent', within_ms: 24 * HOUR, at_most: 2_000 }
    expect((await by('ann').show(thread)).body.limits).toEqual([{ ...limit, used: 300, amount: 500 }])
    await approved(spender, by('ann'), { payload: { amount: 700 } })
    expect((await by('ann').show(thread)).body.limits).toEqual([{ ...limit, used: 1_000, amount: 500 }])
  })

  it('upcoming reminders and escalations, until they have happened', async () => {
    const { thread } = await held(bot, { payload: { amount: 20_000 } })
    const born = world.clock.now
    const reminder = { kind: 'reminder', at: new Date(born + 15 * MINUTE).toISOString() }
    const escalation = { kind: 'escalation', at: new Date(born + 30 * MINUTE).toISOString(), group: 'board' }
    expect((await by('ann').show(thread)).body.upcoming).toEqual([reminder, escalation])
    world.clock.advance(15 * MINUTE)
    await world.due()
    const { body } = await by('ann').show(thread)
    expect(body.upcoming).toEqual([escalation])
    expect(body.evidence.map(({ type }) => type)).toContain('review.reminded')
  })

  it('the latest part of its evidence, however long it is', async () => {
    const { thread } = await held(bot)
    for (let i = 0; i < 200; i++) await reveal(by('ann'), thread, 1)
    const { body } = await by('ann').approve(thread)
    const [latest, before] = body.evidence.toReversed()
    expect([before?.type, latest?.type]).toEqual(['vote.cast', 'review.approved'])
    const numbers = body.evidence.map(({ number }) => number)
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  })

  it('the time of the last change, even without an actor', async () => {
    const { thread } = await held(bot, { tool_name: 'brief', payload: {} })
    const end = at(MINUTE)
    world.clock.advance(MINUTE)
    await world.due()
    world.clock.advance(HOUR)
    expect((await by('ann').show(thread)).body.updated_at).toBe(end)
  })
})

describe('GET counts and agents', () => {
  it('200 with the number of waiting threads, by risk', async () => {
    const own = await openWorld()
    const agent = await own.agent()
    const ann = await own.reviewer('ann')
    for (const amount of [500, 600, 20_000, 60_000]) await held(agent, { payload: { amount } })
    const { thread } = await held(agent)
    await ann.vote(thread, { decision: 'request_changes', revision: 1 })
    const { status, body } = await ann.call<ThreadCounts>('GET', 'counts')
    expect([status, body]).toEqual([
      200,
      { pending: { low: 2, medium: 0, high: 1, critical: 1 }, changes_requested: 1 },
    ])
    const foreign = await own.reviewer('zoe', 'globex')
    expect((await foreign.call<ThreadCounts>('GET', 'counts')).body.pending.low).toBe(0)
    await own.close()
  })

  it('200 with the agents of the tenant, their owners and the age of their keys', async () => {
    const { status, body } = await by('nil').call<AgentList>('GET', 'agents')
    expect(status).toBe(200)
    expect(body.agents.map(({ id }) => id)).toEqual([
      'bot',
      'other',
      'unsigned',
      'limited',
      'short',
      'selfie',
    ])
    expect(body.agents[0]).toEqual({
      id: 'bot',
      owners: [{ reviewer: 'olga', name: 'Olga Orr' }],
      tools: ['t', 'pay', 'hold', 'brief', 'bare', 'once'],
      signed_approvals: true,
      prevent_self_review: true,
      token_ttl_ms: 10 * MINUTE,
      key_issued_at: expect.stringMatching(/^2026-/),
    })
    expect(body.agents[3]).toMatchObject({ rate: { calls: 3, within_ms: HOUR } })
    expect(body.agents[3]).not.toHaveProperty('key_issued_at')
  })
})

describe('GET threads by search terms', () => {
  it('200 by words, time, claim, and permission to vote', async () => {
    const own = await openWorld()
    const agent = await own.agent()
    const [ann, dan] = [await own.reviewer('ann'), await own.reviewer('dan')]
    const first = await held(agent, { subject: 'Refund for Müller' })
    own.clock.advance(HOUR)
    const second = await held(agent, {
      subject: 'refund of order 7',
      payload: { amount: 500, to: 'audit-1' },
    })
    await claim(ann, second.thread)
    const noon = new Date(own.clock.now - HOUR).toISOString()
    const found = async (who: Reviewer, query: Record<string, string>) =>
      (await who.list(query)).body.threads.map(({ thread_id }) =>
        thread_id === first.thread ? 1 : thread_id === second.thread ? 2 : 0,
      )
    const pending = { status: 'pending_review' }
    expect(await found(ann, { ...pending, q: 'REFUND', sort: 'oldest' })).toEqual([1, 2])
    expect(await found(ann, { ...pending, q: 'refund müller' })).toEqual([1])
    expect(await found(ann, { ...pending, q: 'refund nothing' })).toEqual([])
    expect(await found(ann, { ...pending, q: second.thread })).toEqual([2])
    expect(await found(ann, { ...pending, q: 'auditors' })).toEqual([2])
    expect(await found(ann, { since: noon })).toEqual([2, 1])
    expect(await found(ann, { until: noon })).toEqual([])
    expect(await found(ann, { ...pending, until: new Date(own.clock.now).toISOString() })).toEqual([1])
    expect(await found(ann, { ...pending, claimed: 'me' })).toEqual([2])
    expect(await found(ann, { ...pending, claimed: 'nobody' })).toEqual([1])
    expect(await found(dan, { ...pending, claimed: 'me' })).toEqual([])
    expect(await found(dan, { ...pending, mine: 'true' })).toEqual([2])
    await ann.approve(first.thread)
    expect(await found(ann, { mine: 'true' })).toEqual([2])
    for (const query of [
      { since: 'yesterday' },
      { until: '2026-03-02' },
      // of which zone?
      { since: '2026-03-02T12:00:00' },
      { since: '2026-02-30T12:00:00Z' },
      { since: '2026-02-20T24:00:00Z' },
      { mine: 'false' },
      { claimed: 'x' },
    ])
      expect((await ann.list(query as Record<string, string>)).status).toBe(400)
    await own.close()
  })
})

describe('a page with few matching threads', () => {
  it('200 after few reads of the index, even for a short page', async () => {
    let reads = 0
    const wrapStore = (store: Store): Store =>
      overriding(store, {
        range: (tenant, index, bounds) => {
          if (index === INDEX.threads) reads += 1
          return store.range(tenant, index, bounds)
        },
      })
    const own = await openWorld({ wrapStore })
    const [agent, ann] = [await own.agent(), await own.reviewer('ann')]
    const oldest = await held(agent, { subject: 'needle' })
    for (let i = 0; i < 60; i++) await held(agent)
    reads = 0
    const { body } = await ann.list({ q: 'needle', limit: '1' })
    expect(body.threads.map(({ thread_id }) => thread_id)).toEqual([oldest.thread])
    expect(reads).toBeLessThan(10)
    expect((await ann.list({ q: 'nothing', limit: '1' })).body).toEqual({ threads: [] })
    await own.close()
  })
})

describe('a store that fails right after a write', () => {
  it.each([
    ['which says so', new StoreUnavailable('gone')],
    ['in a way that nobody foresaw', new TypeError('broken by the test')],
  ])('503 outcome_unknown, with the change left open: %s', async (_, failure) => {
    let written = 0
    const unreadable = new Set<number>()
    const own = await openWorld({
      config: { webhooksAllow: '127.0.0.1/32:8443' },
      wrapStore: (store: Store) =>
        overriding(store, {
          commit: async (partition, commit) => {
            const result = await store.commit(partition, commit)
            // counts the commits of verbs: the first checkpoint has no events
            if (partition === 'acme' && commit.events.length > 0) written += 1
            return result
          },
          get: (partition, type, id) =>
            unreadable.has(written) ? Promise.reject(failure) : store.get(partition, type, id),
        }),
    })
    const ben = await own.reviewer('ben')
    const { thread } = await held(await own.agent())
    const url = 'https://127.0.0.1:8443/'
    const { body: hook } = await own.admin<{ id: string }>('POST', 'webhooks', {
      body: { tenant: 'acme', url },
    })
    const records = await own.evidenceOf(async () => {
      for (const act of [
        () => claim(ben, thread),
        () => release(ben, thread),
        () => comment(ben, thread, 'x'),
        () => ben.approve(thread),
        () => own.admin<never>('POST', `webhooks/${hook.id}/pause`),
      ]) {
        unreadable.add(written + 1)
        const { status, problem, headers } = await act()
        unreadable.clear()
        expect([status, problem.code, headers.get('retry-after')]).toEqual([503, 'outcome_unknown', '1'])
      }
    })
    expect(records.map(({ record }) => record.type)).toEqual([
      'thread.claimed',
      'thread.released',
      'thread.commented',
      'vote.cast',
      'review.approved',
      'webhook.paused',
    ])
    await own.close()
  })
})

describe('another tenant', () => {
  it('404 on every route of an unknown thread, and nothing is recorded', async () => {
    const { thread } = await held(bot)
    const foreign = await world.reviewer('zoe', 'globex')
    const records = await world.evidenceOf(async () => {
      for (const answer of [
        await comment(foreign, thread, 'x'),
        await claim(foreign, thread),
        await release(foreign, thread),
        await reveal(foreign, thread, 1),
      ])
        expect([answer.status, answer.problem.code]).toEqual([404, 'not_found'])
    }, 'globex')
    expect(records).toEqual([])
  })

  it('401 without a credential', async () => {
    for (const path of ['comments', 'claim', 'release', 'reveal'])
      expect((await call(`${world.url}/api/review/threads/${NO_THREAD}/${path}`, 'POST')).status).toBe(401)
  })
})
