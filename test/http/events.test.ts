// @store each, in the soak
import { digestOf } from '../../src/domain/digest.ts'
import { beforeAll, describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import {
  approved,
  edited,
  HASH,
  held,
  MINUTE,
  newTask,
  openWorld,
  OTHER_HASH,
  REVIEWED,
  type Reviewer,
  SECOND,
} from '../gateway-fixture.ts'

/** POST /api/agent/tasks/{taskID}/events (docs/agent-api.md): evidence and revisions. */

let ben: Reviewer
let cat: Reviewer
let eve: Reviewer

agentWorld()
beforeAll(async () => {
  ben = await world.reviewer('ben')
  cat = await world.reviewer('cat')
  eve = await world.reviewer('eve')
})

const PAYLOAD = { request_payload: { amount: 600 } }

describe('POST events, evidence', () => {
  it('201 with the id of the event and the time of its record', async () => {
    const { status, body } = await bot.event(newTask(), {
      event_type: 'tool.execution.completed',
      event_summary: 'done',
    })
    expect(status).toBe(201)
    expect(body).toEqual({
      event_id: expect.stringMatching(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/),
      recorded_at: new Date(world.clock.now).toISOString(),
    })
  })

  it('201 keeps the whole event as one record', async () => {
    const task = newTask()
    const event = {
      event_type: 'tool.execution.failed',
      event_summary: 'no luck',
      payload: { code: 7, nested: { list: [1] } },
      images: ['data:image/png;base64,AAAA'],
    }
    const records = await world.evidenceOf(() => bot.event(task, event))
    expect(records).toHaveLength(1)
    expect(records[0]?.record).toMatchObject({ type: 'agent.event', task_id: task })
    expect(records[0]?.disclosures?.members).toEqual(event)
    expect(records[0]?.record.actor).toMatchObject({ kind: 'agent', id: 'bot' })
  })

  it.each(['anything', 'revision', 'revisions.a.b', ' revision.a.b', 'Revision.a.b', 'revısion.a.b', '修訂'])(
    '201 for the event type %j, because the vocabulary is open',
    async (event_type) => {
      const records = await world.evidenceOf(async () => {
        expect((await bot.event('a', { event_type, event_summary: '' })).status).toBe(201)
      })
      expect(records.map(({ record }) => record.type)).toEqual(['agent.event'])
    },
  )

  it.each([
    ['no type', { event_summary: 's' }, '/event_type'],
    ['no summary', { event_type: 'x' }, '/event_summary'],
    ['an empty type', { event_type: '', event_summary: 's' }, '/event_type'],
    ['a type with a line end', { event_type: 'x\n', event_summary: 's' }, '/event_type'],
    ['a type of 257 characters', { event_type: 'x'.repeat(257), event_summary: 's' }, '/event_type'],
    ['a type that is no text', { event_type: 1, event_summary: 's' }, '/event_type'],
    ['a summary that is a list', { event_type: 'x', event_summary: ['s'] }, '/event_summary'],
    ['a payload that is a list', { event_type: 'x', event_summary: 's', payload: [] }, '/payload'],
    ['images that are no texts', { event_type: 'x', event_summary: 's', images: [1] }, '/images/0'],
    ['17 images', { event_type: 'x', event_summary: 's', images: Array(17).fill('x') }, '/images'],
    ['a property more', { event_type: 'x', event_summary: 's', extra: 1 }, '/extra'],
  ])('400 for %s', async (_, body, pointer) => {
    const { status, problem } = await bot.event('a', body)
    expect([status, problem.code]).toEqual([400, 'invalid_request'])
    expect(problem.errors?.map((error) => error.pointer)).toContain(pointer)
  })

  it('400 for an invalid task id', async () => {
    expect((await bot.event('.a', { event_type: 'x', event_summary: 's' })).status).toBe(400)
  })

  it('413 for a body over the cap, 415 for another media type', async () => {
    const raw = JSON.stringify({ event_type: 'x', event_summary: 's' })
    const large = await bot.call('POST', 'tasks/a/events', { raw: raw + ' '.repeat(LIMITS.BODY_BYTES) })
    expect(large.status).toBe(413)
    const headers = { 'content-type': 'text/plain' }
    expect((await bot.call('POST', 'tasks/a/events', { raw, headers })).status).toBe(415)
  })
})

describe('POST events with an accepted revision', () => {
  it('201 with the thread, its status and the number of the revision', async () => {
    const { task, thread } = await held(bot)
    const { status, body } = await bot.revise(task, thread, PAYLOAD)
    expect(status).toBe(201)
    expect(body).toEqual({
      event_id: expect.stringMatching(/^evt_/),
      recorded_at: new Date(world.clock.now).toISOString(),
      thread_id: thread,
      status: 'pending_review',
      revision: 2,
    })
  })

  it('201 for a thread that is pending, and for one with changes requested', async () => {
    const { task, thread } = await held(bot)
    expect((await bot.revise(task, thread, { ...PAYLOAD, revision_id: 'a' })).body.revision).toBe(2)
    await ann.vote(thread, { decision: 'request_changes', revision: 2, comment: 'Who?' })
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('changes_requested')
    const { body } = await bot.revise(task, thread, { ...PAYLOAD, revision_id: 'b' })
    expect([body.status, body.revision]).toEqual(['pending_review', 3])
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
  })

  it('201 in a task whose id has dots, for exactly that task', async () => {
    const { thread } = await held(bot, {}, 'a.b')
    expect((await bot.revise('a.b', thread, PAYLOAD)).status).toBe(201)
    expect((await bot.revise('a', `b.${thread}`, PAYLOAD)).status).toBe(400)
  })

  it('201 stores every field of a revision, and unknown fields', async () => {
    const { task, thread } = await held(bot, { action_hash: HASH })
    const claims = {
      workflow_name: 'w2',
      task_label: 'l2',
      preview: 'p2',
      risk_level: 'medium',
      summary: ['s2'],
    }
    const images = ['data:image/png;base64,BBBB']
    const revision = {
      ...PAYLOAD,
      ...claims,
      subject: 'subject 2',
      action_hash: OTHER_HASH,
      anything: { a: 1 },
    }
    expect((await bot.revise(task, thread, revision, { images })).status).toBe(201)
    const { body } = await ann.show(thread)
    expect(body).toMatchObject({
      ...claims,
      subject: 'subject 2',
      action_hash: OTHER_HASH,
      images,
      revision: 2,
    })
    expect(body.payload).toEqual(PAYLOAD.request_payload)
    expect(body.revisions.map(({ number }) => number)).toEqual([1, 2])
    expect(JSON.stringify(body)).not.toContain('anything')
    expect((await bot.poll({ thread_id: thread })).body.action_hash).toBe(OTHER_HASH)
  })

  it('201 voids earlier votes, which must be cast again', async () => {
    const { task, thread } = await held(bot, { payload: { amount: 60_000 } })
    await ann.approve(thread)
    await bot.revise(task, thread, { request_payload: { amount: 60_001 } })
    expect((await ben.approve(thread, 2)).body.status).toBe('pending_review')
    const { body } = await ann.approve(thread, 2)
    expect(body.status).toBe('approved')
    expect(body.votes.map((vote) => vote.void)).toEqual([true, false, false])
  })

  it('201 binds the token to the revised payload and hash, and never to the first ones', async () => {
    const { task, thread } = await held(bot, { action_hash: HASH })
    await bot.revise(task, thread, { ...PAYLOAD, action_hash: OTHER_HASH })
    await ann.approve(thread, 2)
    const { body } = await bot.poll({ thread_id: thread })
    const proof = { task_id: task, thread_id: thread, signature: body.approval_token }
    const old = { ...proof, request_payload: REVIEWED, action_hash: HASH }
    expect((await bot.validate(old)).body).toEqual({ valid: false, reason: 'invalid' })
    const mixed = { ...proof, request_payload: PAYLOAD.request_payload, action_hash: HASH }
    expect((await bot.validate(mixed)).body).toEqual({ valid: false, reason: 'invalid' })
    const now = { ...mixed, action_hash: OTHER_HASH }
    expect((await bot.validate(now)).body).toMatchObject({ valid: true, action_hash: OTHER_HASH })
  })

  it('201 keeps a thread in review when policy would now allow the action, and says so', async () => {
    const { task, thread } = await held(bot)
    await ann.vote(thread, { decision: 'request_changes', revision: 1, comment: 'Less, please.' })
    const { body } = await bot.revise(task, thread, { request_payload: { amount: 5 } })
    expect(body.status).toBe('pending_review')
    const read = await bot.poll({ thread_id: thread })
    expect(read.body.status).toBe('pending_review')
    expect(read.body.message).toBeTruthy()
    expect(read.body.message).not.toContain('Less, please.')
    expect(read.body).not.toHaveProperty('approval_token')
    expect((await ann.approve(thread, 2)).body.status).toBe('approved')
  })

  it('201 with status rejected when policy rejects the revised action, permanently', async () => {
    const { task, thread } = await held(bot, { action_hash: HASH })
    const revision = { request_payload: { amount: 100_001 }, action_hash: OTHER_HASH }
    const records = await world.evidenceOf(async () => {
      const { status, body } = await bot.revise(task, thread, revision)
      expect([status, body.status, body.revision]).toEqual([201, 'rejected', 2])
    })
    expect(records.map(({ record }) => record.type)).toEqual(['review.revised', 'review.rejected'])
    const { body } = await bot.poll({ thread_id: thread })
    expect([body.status, body.message, body.action_hash]).toEqual([
      'rejected',
      'Nobody moves that much.',
      OTHER_HASH,
    ])
    expect((await bot.revise(task, thread, { ...revision, revision_id: 'r2' })).status).toBe(409)
  })

  it('201 with status rejected when no rule covers the tool any more', async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      const { task, thread } = await held(agent, { tool_name: 'hold', payload: {} })
      await own.changePolicies(edited('rules/hold.yaml', 'tool: hold', 'tool: bare'))
      const { body } = await agent.revise(task, thread, { tool_name: 'hold', request_payload: {} })
      expect(body.status).toBe('rejected')
    } finally {
      await own.close()
    }
  })

  it("201 with status rejected when the agent may no longer use the tool, without its contract's text", async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      const { task, thread } = await held(agent)
      await own.changePolicies(edited('directory.yaml', 'tools: [t, pay, hold', 'tools: [t, hold'))
      const { status, body } = await agent.revise(task, thread, { request_payload: { amount: 0 } })
      expect([status, body.status]).toEqual([201, 'rejected'])
    } finally {
      await own.close()
    }
  })

  it('201 never requires less than before: risk, groups and approvals stay or grow', async () => {
    const { task, thread } = await held(bot, { payload: { amount: 60_000, to: 'audit-1' } })
    const before = (await ann.show(thread)).body
    expect(before.seats.map(({ group, approvals }) => [group, approvals])).toEqual([
      ['audit', 1],
      ['board', 2],
    ])
    await bot.revise(task, thread, { request_payload: { amount: 20_000 }, revision_id: 'a' })
    const after = (await ann.show(thread)).body
    expect(after.risk).toBe('critical')
    expect(after.seats.map(({ group, approvals }) => [group, approvals])).toEqual([
      ['audit', 1],
      ['board', 2],
      ['leads', 1],
    ])
    for (const reviewer of [ann, ben, eve]) {
      expect((await reviewer.approve(thread, 2)).body.status).toBe('pending_review')
    }
    expect((await cat.approve(thread, 2)).body.status).toBe('approved')
  })

  it('201 restarts the deadline, and never extends its length', async () => {
    const { task, thread } = await held(bot, { tool_name: 'brief', payload: {} })
    const revise = (revision_id: string) =>
      bot.revise(task, thread, { tool_name: 'brief', request_payload: {}, revision_id })
    world.clock.advance(MINUTE - 1)
    expect((await revise('a')).status).toBe(201)
    const { body } = await ann.show(thread)
    expect(body.deadline).toBe(new Date(world.clock.now + MINUTE).toISOString())
    world.clock.advance(MINUTE - 1)
    await world.due()
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    world.clock.advance(1)
    await world.due()
    expect((await revise('b')).status).toBe(409)
    expect((await bot.poll({ thread_id: thread })).body.message).toMatch(/^expired: /)
  })

  it('201 notifies no waiting poll: advice and newest thread stay the same', async () => {
    const { task, thread } = await held(bot)
    const newer = await held(bot, {}, task)
    await bot.revise(task, thread, PAYLOAD)
    expect((await bot.poll({ task_id: task })).body.thread_id).toBe(newer.thread)
  })
})

describe('POST events with a refused revision', () => {
  const refused = async (
    answer: Promise<{ status: number; problem: { code: string } }>,
    ...expected: [number, string]
  ): Promise<void> => {
    const { status, problem } = await answer
    expect([status, problem.code]).toEqual(expected)
  }

  it.each([
    ['revision.', 'task'],
    ['revision..', 'task'],
    ['revision.task', 'task'],
    ['revision.task.', 'task'],
    ['revision.other.thr_1', 'task'],
    ['revision.task.a.b', 'task'],
    ['revision.task.a-b', 'task'],
    ['revision.task.thr 1', 'task'],
    ['revision.Task.thr_1', 'task'],
  ])('400 for the event type %j in the task %s', async (event_type, task) => {
    const event = { event_type, event_summary: 's', payload: { revision: {} } }
    await refused(bot.event(task, event), 400, 'invalid_request')
  })

  it.each([
    ['no payload', undefined, '/payload/revision'],
    ['no revision', { payload: {} }, '/payload/revision'],
    ['a revision that is a list', { payload: { revision: [] } }, '/payload/revision'],
  ])('400 for %s', async (_, more, pointer) => {
    const { task, thread } = await held(bot)
    const event = { event_type: `revision.${task}.${thread}`, event_summary: 's', ...more }
    const { status, problem } = await bot.event(task, event)
    expect(status).toBe(400)
    expect(problem.errors?.map((error) => error.pointer)).toContain(pointer)
  })

  it.each([
    ['revision_id', undefined],
    ['revision_id', ''],
    ['revision_id', 1],
    ['tool_name', undefined],
    ['subject', undefined],
    ['subject', null],
    ['request_payload', undefined],
    ['request_payload', []],
    ['risk_level', 'severe'],
    ['summary', 'x'],
    ['workflow_name', 1],
    ['task_label', 1],
    ['preview', 1],
  ])('400 for %s being %j', async (member, value) => {
    const { task, thread } = await held(bot)
    const { status, problem } = await bot.revise(task, thread, { ...PAYLOAD, [member]: value })
    expect([status, problem.code]).toEqual([400, 'invalid_request'])
    expect(problem.errors?.map((error) => error.pointer)).toContain(`/payload/revision/${member}`)
  })

  it.each(['zz', HASH.toUpperCase(), `${HASH}\n`, null, 1])(
    '400 for the action hash %j of a V2 thread',
    async (action_hash) => {
      const { task, thread } = await held(bot, { action_hash: HASH })
      await refused(bot.revise(task, thread, { ...PAYLOAD, action_hash }), 400, 'invalid_request')
    },
  )

  it('400 for a V2 thread without a hash, and for a V1 thread with one', async () => {
    const two = await held(bot, { action_hash: HASH })
    const without = bot.revise(two.task, two.thread, PAYLOAD)
    await refused(without, 400, 'invalid_revision')
    const one = await held(bot)
    const withOne = bot.revise(one.task, one.thread, { ...PAYLOAD, action_hash: HASH })
    await refused(withOne, 400, 'invalid_revision')
    for (const { problem } of [await without, await withOne])
      expect(problem.errors?.map(({ pointer }) => pointer)).toEqual(['/payload/revision/action_hash'])
  })

  it("400 for a tool other than the thread's", async () => {
    const { task, thread } = await held(bot)
    const other = bot.revise(task, thread, { ...PAYLOAD, tool_name: 'hold' })
    await refused(other, 400, 'invalid_revision')
    const { problem } = await other
    expect(problem.errors?.map(({ pointer }) => pointer)).toEqual(['/payload/revision/tool_name'])
  })

  it('400 for a payload that does not fit the contract of the tool', async () => {
    const { task, thread } = await held(bot)
    const { status, problem } = await bot.revise(task, thread, { request_payload: { amount: 0 } })
    expect([status, problem.code]).toEqual([400, 'invalid_policy_input'])
    expect(problem.errors?.[0]?.pointer).toBe('/payload/revision/request_payload/amount')
  })

  it('409 for a thread that is unknown, foreign, or of another task', async () => {
    const { task, thread } = await held(bot)
    const other = await world.agent('other')
    const stranger = await world.agent('bot', 'globex')
    await refused(bot.revise(task, 'thr_00000000000000000000000000', PAYLOAD), 409, 'unknown_thread')
    await refused(bot.revise(task, 'nonsense', PAYLOAD), 409, 'unknown_thread')
    await refused(bot.revise(task, '__proto__', PAYLOAD), 409, 'unknown_thread')
    await refused(other.revise(task, thread, PAYLOAD), 409, 'unknown_thread')
    await refused(stranger.revise(task, thread, PAYLOAD), 409, 'unknown_thread')
    await refused(bot.revise('another', thread, PAYLOAD), 409, 'unknown_thread')
    expect((await ann.show(thread)).body.revision).toBe(1)
  })

  it('409 for a thread that is approved, rejected or expired', async () => {
    const [yes, no] = [await held(bot), await held(bot)]
    await ann.approve(yes.thread)
    await ann.vote(no.thread, { decision: 'reject', revision: 1 })
    await refused(bot.revise(yes.task, yes.thread, PAYLOAD), 409, 'not_pending')
    await refused(bot.revise(no.task, no.thread, PAYLOAD), 409, 'not_pending')
    const late = await held(bot, { tool_name: 'brief', payload: {} })
    world.clock.advance(MINUTE)
    const revision = { tool_name: 'brief', request_payload: {} }
    await refused(bot.revise(late.task, late.thread, revision), 409, 'not_pending')
    const done = await approved(bot, ann)
    await refused(bot.revise(done.task, done.thread, PAYLOAD), 409, 'not_pending')
  })

  it('409 for a revision id that the thread already has, every time', async () => {
    const [one, two] = [await held(bot), await held(bot)]
    expect((await bot.revise(one.task, one.thread, PAYLOAD)).status).toBe(201)
    await refused(bot.revise(one.task, one.thread, PAYLOAD), 409, 'duplicate_revision')
    expect((await bot.revise(one.task, one.thread, { ...PAYLOAD, revision_id: 'r2' })).status).toBe(201)
    await refused(bot.revise(one.task, one.thread, PAYLOAD), 409, 'duplicate_revision')
    expect((await bot.revise(two.task, two.thread, PAYLOAD)).status).toBe(201)
  })

  it('409 for seven of eight concurrent revisions with one id', async () => {
    const { task, thread } = await held(bot)
    const answers = await Promise.all(Array.from({ length: 8 }, () => bot.revise(task, thread, PAYLOAD)))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201,
      ...Array(7).fill(409),
    ])
    expect((await ann.show(thread)).body.revision).toBe(2)
  })

  it('409 after 20 revisions', async () => {
    const { task, thread } = await held(bot)
    for (let n = 2; n <= LIMITS.REVISIONS; n++) {
      const { body } = await bot.revise(task, thread, { ...PAYLOAD, revision_id: `r${n}` })
      expect(body.revision).toBe(n)
    }
    await refused(bot.revise(task, thread, { ...PAYLOAD, revision_id: 'last' }), 409, 'too_many_revisions')
    expect((await ann.approve(thread, LIMITS.REVISIONS)).body.status).toBe('approved')
  })

  it('a refused revision changes nothing and leaves no record', async () => {
    const { task, thread } = await held(bot, { action_hash: HASH })
    const before = (await ann.show(thread)).body
    const records = await world.evidenceOf(async () => {
      await bot.revise(task, thread, PAYLOAD)
      await bot.revise(task, thread, { ...PAYLOAD, action_hash: 'zz' })
      await bot.revise('another', thread, PAYLOAD)
    })
    expect(records).toEqual([])
    expect((await ann.show(thread)).body).toEqual(before)
    world.clock.advance(SECOND)
  })
})

describe('POST events: how reviewers see a revision', () => {
  it('201 with images of the event only, without members that the contract does not name', async () => {
    const one = await held(bot)
    const images = ['data:image/png;base64,AAAA']
    const revised = await bot.revise(
      one.task,
      one.thread,
      { request_payload: { amount: 600 }, images: { evil: 1 } },
      { images },
    )
    expect(revised.status).toBe(201)
    const reviewer = await world.reviewer('ann')
    expect((await reviewer.show(one.thread)).body.images).toEqual(images)
  })

  it('the digest of a vote reveals no payload, because it covers a hidden nonce', async () => {
    const one = await held(bot)
    const reviewer = await world.reviewer('ann')
    const { body } = await reviewer.show(one.thread)
    const [revision] = body.revisions
    const known = { thread_id: one.thread, number: 1, tool: 'pay', payload: one.payload, claims: {} }
    expect(revision?.digest).toMatch(/^[0-9a-f]{64}$/)
    expect(revision?.digest).not.toBe(digestOf(known as never))
    expect(JSON.stringify(body)).not.toContain('nonce')
  })
})
