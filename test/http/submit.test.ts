// @store each, in the soak
import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import {
  edited,
  HASH,
  held,
  HOUR,
  MINUTE,
  newTask,
  openWorld,
  OTHER_HASH,
  REVIEWED,
} from '../gateway-fixture.ts'

/** POST /api/agent/tasks/{taskID}/requests (docs/agent-api.md). */

agentWorld()

const SMALL = { tool_name: 'pay', payload: { amount: 5 } }

describe('POST requests, decided at once', () => {
  it('200 allow without a thread, a token or advice to poll', async () => {
    const task = newTask()
    const { status, body } = await bot.submit(task, SMALL)
    expect(status).toBe(200)
    expect(body).toEqual({ status: 'allow', task_id: task, message: 'Small change.' })
  })

  it('200 reject by a rule, with its reason', async () => {
    const task = newTask()
    const { status, body } = await bot.submit(task, { tool_name: 'pay', payload: { amount: 100_001 } })
    expect(status).toBe(200)
    expect(body).toEqual({ status: 'reject', task_id: task, message: 'Nobody moves that much.' })
  })

  it('200 reject of a call that no rule covers', async () => {
    const { status, body } = await bot.submit(newTask(), { tool_name: 'bare' })
    expect([status, body.status]).toEqual([200, 'reject'])
    expect(body.message).toBeTruthy()
  })

  it('200 reject of an unknown tool, named in the message', async () => {
    const { status, body } = await bot.submit(newTask(), { tool_name: 'no.such.tool', payload: { a: 1 } })
    expect([status, body.status]).toEqual([200, 'reject'])
    expect(body.message).toContain('no.such.tool')
  })

  it('200 reject of a tool that the agent may not use, named in the message', async () => {
    const { status, body } = await bot.submit(newTask(), { tool_name: 'private' })
    expect([status, body.status]).toEqual([200, 'reject'])
    expect(body.message).toContain('private')
    const other = await world.agent('other')
    expect((await other.submit(newTask(), { tool_name: 'private' })).body.status).toBe('allow')
  })

  it('200 echoes the action hash on allow, reject and pending_review', async () => {
    const statuses = [5, 500, 100_001].map(async (amount) => {
      const { body } = await bot.submit(newTask(), {
        tool_name: 'pay',
        payload: { amount },
        action_hash: HASH,
      })
      expect(body.action_hash).toBe(HASH)
      return body.status
    })
    expect(await Promise.all(statuses)).toEqual(['allow', 'pending_review', 'reject'])
  })

  it('200 without a payload is a call with an empty one', async () => {
    expect((await bot.submit(newTask(), { tool_name: 't' })).body.status).toBe('allow')
    expect((await bot.submit(newTask(), { tool_name: 'pay' })).problem.errors?.[0]?.pointer).toBe(
      '/payload/amount',
    )
  })

  it('200 with every field that the contract names', async () => {
    const { status } = await bot.submit(newTask(), {
      tool_name: 't',
      workflow_name: 'w',
      task_label: 'l',
      subject: 's',
      preview: 'p',
      risk_level: 'medium',
      summary: ['one', 'two'],
      payload: { free: { form: [1, 'two', null, true] } },
      action_hash: HASH,
      images: ['data:image/png;base64,AAAA'],
    })
    expect(status).toBe(200)
  })

  it('200 pending_review when the agent claims a risk above the immediate limit', async () => {
    for (const [risk_level, status] of Object.entries({
      low: 'allow',
      medium: 'allow',
      high: 'pending_review',
      critical: 'pending_review',
    })) {
      expect((await bot.submit(newTask(), { ...SMALL, risk_level })).body.status).toBe(status)
    }
  })
})

describe('POST requests, held for review', () => {
  it('200 pending_review with a new thread and advice when to poll', async () => {
    const task = newTask()
    const { status, body } = await bot.submit(task, { tool_name: 'pay', payload: REVIEWED })
    expect(status).toBe(200)
    expect(body).toEqual({
      status: 'pending_review',
      task_id: task,
      thread_id: expect.stringMatching(/^thr_[0-9A-HJKMNP-TV-Z]{26}$/),
      message: 'More than pocket money.',
      recommended_poll_after_seconds: 2,
    })
  })

  it('200 pending_review repeatedly in one task: every request has its own thread, in order of time', async () => {
    const task = newTask()
    const threads: string[] = []
    for (let i = 0; i < 20; i++) threads.push((await held(bot, {}, task)).thread)
    expect(new Set(threads).size).toBe(20)
    expect(threads).toEqual(threads.toSorted())
  })

  it('200 pending_review keeps all claims for the reviewers', async () => {
    const claims = {
      workflow_name: 'w',
      task_label: 'l',
      subject: 's',
      preview: 'p',
      risk_level: 'medium',
      summary: ['one'],
      images: ['https://example.org/a.png'],
    }
    const { thread } = await held(bot, { ...claims, action_hash: HASH })
    expect((await ann.show(thread)).body).toMatchObject({ ...claims, action_hash: HASH, payload: REVIEWED })
  })

  it('200 for 64 calls of one task at once, without a conflict', async () => {
    const task = newTask()
    const answers = await Promise.all(
      Array.from({ length: 64 }, () => bot.submit(task, { tool_name: 'pay', payload: REVIEWED })),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(new Set(answers.map(({ body }) => body.thread_id)).size).toBe(64)
  })
})

describe('POST requests, refused', () => {
  const refused = async (body: unknown, pointer: string): Promise<void> => {
    const { status, problem } = await bot.call('POST', `tasks/${newTask()}/requests`, { body })
    expect([status, problem.code]).toEqual([400, 'invalid_request'])
    expect(problem.errors?.map((error) => error.pointer)).toContain(pointer)
  }

  it.each([
    ['no tool', {}, '/tool_name'],
    ['a property that the contract does not name', { tool_name: 't', tenant: 'x' }, '/tenant'],
    ['an empty tool name', { tool_name: '' }, '/tool_name'],
    ['a tool name of 129 characters', { tool_name: 'x'.repeat(129) }, '/tool_name'],
    ['a tool name that is no text', { tool_name: 1 }, '/tool_name'],
    ['a workflow name that is no text', { tool_name: 't', workflow_name: 1 }, '/workflow_name'],
    ['a label that is no text', { tool_name: 't', task_label: null }, '/task_label'],
    ['a subject that is no text', { tool_name: 't', subject: [] }, '/subject'],
    ['a preview that is no text', { tool_name: 't', preview: {} }, '/preview'],
    ['an unknown risk level', { tool_name: 't', risk_level: 'severe' }, '/risk_level'],
    ['a risk level in capitals', { tool_name: 't', risk_level: 'LOW' }, '/risk_level'],
    ['a summary that is no list', { tool_name: 't', summary: 'x' }, '/summary'],
    ['a summary with a number', { tool_name: 't', summary: ['x', 1] }, '/summary/1'],
    ['a payload that is a list', { tool_name: 't', payload: [] }, '/payload'],
    ['a payload that is null', { tool_name: 't', payload: null }, '/payload'],
    ['images that are no texts', { tool_name: 't', images: [1] }, '/images/0'],
    ['a body that is a list', [], ''],
    ['a body that is null', null, ''],
  ])('400 for %s', (_, body, pointer) => refused(body, pointer))

  it.each([
    ['63 digits', 'a'.repeat(63)],
    ['65 digits', 'a'.repeat(65)],
    ['capitals', 'A'.repeat(64)],
    ['a letter that is no digit', `${'a'.repeat(63)}g`],
    ['a prefix', `sha256:${HASH}`],
    ['a line end', `${HASH}\n`],
    ['nothing', ''],
    ['null', null],
    ['a number', 1],
  ])('400 for an action hash of %s', (_, action_hash) =>
    refused({ tool_name: 't', action_hash }, '/action_hash'),
  )

  it("400 for a payload that does not fit the tool's contract, with pointers and without its values", async () => {
    const { status, problem, text } = await bot.submit(newTask(), {
      tool_name: 'pay',
      payload: { amount: 'canary-4711', extra: 1, pin: 'canary-4712' },
    })
    expect([status, problem.code]).toEqual([400, 'invalid_policy_input'])
    const pointers = problem.errors?.map((error) => error.pointer)
    expect(pointers).toEqual(expect.arrayContaining(['/payload/amount', '/payload/extra', '/payload/pin']))
    expect(text).not.toContain('canary')
  })

  it('400 for more images, lines, characters or keys than the caps, 200 at the caps', async () => {
    const many = (length: number): string[] => Array.from({ length }, () => 'x')
    await refused({ tool_name: 't', images: many(LIMITS.IMAGES + 1) }, '/images')
    await refused({ tool_name: 't', summary: many(LIMITS.SUMMARY_LINES + 1) }, '/summary')
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 0]))
    const status = async (body: object) =>
      (await bot.call('POST', `tasks/${newTask()}/requests`, { body: { tool_name: 't', ...body } })).status
    expect(await status({ images: many(LIMITS.IMAGES), summary: many(LIMITS.SUMMARY_LINES) })).toBe(200)
    expect(await status({ preview: 'x'.repeat(LIMITS.STRING_BYTES) })).toBe(200)
    expect(await status({ preview: 'x'.repeat(LIMITS.STRING_BYTES + 1) })).toBe(400)
    expect(await status({ preview: 'é'.repeat(LIMITS.STRING_BYTES / 2 + 1) })).toBe(400)
    expect(await status({ payload: keys(LIMITS.JSON_KEYS - 2) })).toBe(200)
    expect(await status({ payload: keys(LIMITS.JSON_KEYS - 1) })).toBe(400)
  })

  it.each([
    '.a',
    '-a',
    ':a',
    'a%20',
    'a%2Fb',
    '%00',
    'a%00',
    '%C3%A9',
    'x'.repeat(129),
    'x'.repeat(300),
    '%zz',
  ])('400 for the task id %s', async (task) => {
    const { status, problem } = await bot.submit(task, SMALL)
    expect([status, problem.code]).toEqual([400, 'invalid_request'])
  })

  it.each(['a', 'A.b_c:d-e', '9', 'x'.repeat(128), 'constructor', 'toString', 'a%3Ab'])(
    '200 for the task id %s',
    async (task) => {
      const { status, body } = await bot.submit(task, SMALL)
      expect([status, body.task_id]).toEqual([200, decodeURIComponent(task)])
    },
  )

  it('413 for a body that is too large, 200 at the cap', async () => {
    const head = JSON.stringify(SMALL)
    const send = (bytes: number) =>
      bot.call('POST', `tasks/${newTask()}/requests`, { raw: head + ' '.repeat(bytes - head.length) })
    expect((await send(LIMITS.BODY_BYTES)).status).toBe(200)
    const { status, problem } = await send(LIMITS.BODY_BYTES + 1)
    expect([status, problem.code]).toEqual([413, 'body_too_large'])
  })

  it.each([
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'application/json; charset=latin1' },
    { 'content-type': 'application/json, application/json' },
    { 'content-encoding': 'gzip' },
    { 'content-encoding': 'identity, gzip' },
  ])('415 for %j', async (headers) => {
    const raw = JSON.stringify(SMALL)
    const { status, problem } = await bot.call('POST', `tasks/${newTask()}/requests`, { raw, headers })
    expect([status, problem.code]).toEqual([415, 'unsupported_media_type'])
  })

  it('401 for an agent that has left the directory', async () => {
    const own = await openWorld()
    try {
      const gone = await own.agent('other')
      expect((await gone.submit('a', SMALL)).status).toBe(200)
      await own.changePolicies(edited('directory.yaml', 'other:    { owners: [olga] }', ''))
      const answers = await Promise.all([
        gone.submit('a', SMALL),
        gone.poll({ task_id: 'a' }),
        gone.validate({}),
        gone.event('a', { event_type: 'x', event_summary: 'x' }),
        gone.resolve([]),
      ])
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401])
    } finally {
      await own.close()
    }
  })

  it('429 with Retry-After for an agent over its rate, without an effect on others', async () => {
    const limited = await world.agent('limited')
    for (let i = 0; i < 3; i++) expect((await limited.submit(newTask(), SMALL)).status).toBe(200)
    const { status, headers, problem } = await limited.submit(newTask(), SMALL)
    expect([status, problem.code]).toEqual([429, 'rate_limited'])
    const seconds = Number(headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(1_190)
    expect(seconds).toBeLessThanOrEqual(1_200)
    expect((await limited.validate({})).status).toBe(429)
    expect((await bot.submit(newTask(), SMALL)).status).toBe(200)
  })

  it('404 on another method or path', async () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const { status } = await bot.call(method, `tasks/${newTask()}/requests`)
      expect(status).toBe(404)
    }
    expect((await bot.call('POST', 'tasks/a/request', { body: SMALL })).status).toBe(404)
  })
})

describe('POST requests with Idempotency-Key', () => {
  const key = (value: string) => ({ 'idempotency-key': value })
  const HELD = { tool_name: 'pay', payload: REVIEWED }

  it('200 returns the first answer to a retry, with one thread and one record', async () => {
    const task = newTask()
    const records = await world.evidenceOf(async () => {
      const first = await bot.submit(task, HELD, key('k1'))
      const retries = await Promise.all([1, 2, 3].map(() => bot.submit(task, HELD, key('k1'))))
      for (const retry of retries) expect([retry.status, retry.body]).toEqual([200, first.body])
      // a header marks the retries, so that no agent takes a used allow for a new one
      const replayed = [first, ...retries].map(({ headers }) => headers.get('idempotent-replayed'))
      expect(replayed).toEqual([null, 'true', 'true', 'true'])
    })
    expect(records.map(({ record }) => record.type)).toEqual(['review.pending'])
  })

  it('200 with one thread for eight concurrent calls under one key', async () => {
    const task = newTask()
    const answers = await Promise.all(Array.from({ length: 8 }, () => bot.submit(task, HELD, key('race'))))
    expect(new Set(answers.map(({ body }) => body.thread_id)).size).toBe(1)
  })

  it('422 for another body under the same key', async () => {
    const task = newTask()
    await bot.submit(task, HELD, key('k2'))
    const other = { tool_name: 'pay', payload: { amount: 501 } }
    const { status, problem } = await bot.submit(task, other, key('k2'))
    expect([status, problem.code]).toEqual([422, 'idempotency_mismatch'])
  })

  it('200 with another thread in another task, for another agent, and after 24 hours', async () => {
    const task = newTask()
    const other = await world.agent('other')
    const first = await bot.submit(task, HELD, key('k3'))
    const elsewhere = await bot.submit(newTask(), HELD, key('k3'))
    const foreign = await other.submit(task, HELD, key('k3'))
    world.clock.advance(24 * HOUR - 1)
    const late = await bot.submit(task, HELD, key('k3'))
    expect(late.body).toEqual(first.body)
    world.clock.advance(1)
    const fresh = await bot.submit(task, { tool_name: 'pay', payload: { amount: 7_777 } }, key('k3'))
    const threads = [first, elsewhere, foreign, fresh].map(({ body }) => body.thread_id)
    expect(new Set(threads).size).toBe(4)
  })

  it('200 replays an allow for ten minutes only', async () => {
    const task = newTask()
    const twice = async (ms: number): Promise<number> => {
      const records = await world.evidenceOf(async () => {
        world.clock.advance(ms)
        expect((await bot.submit(task, SMALL, key('k4'))).body.status).toBe('allow')
      })
      return records.length
    }
    expect(await twice(0)).toBe(1)
    expect(await twice(10 * MINUTE)).toBe(0)
    expect(await twice(1)).toBe(1)
  })

  it('200 replays an allow only under the same bundle, and a held call under any bundle', async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      await agent.submit('a', SMALL, key('k'))
      const first = await agent.submit('b', HELD, key('k'))
      await own.changePolicies(edited('rules/pay.yaml', 'at_most: 100 }', 'at_most: 4 }'))
      expect((await agent.submit('a', SMALL, key('k'))).body.status).not.toBe('allow')
      expect((await agent.submit('b', HELD, key('k'))).body).toEqual(first.body)
    } finally {
      await own.close()
    }
  })

  it('200 replays the first answer even after the contract became stricter', async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      const first = await agent.submit('b', HELD, key('k'))
      await own.changePolicies(edited('tools/pay.yaml', 'minimum: 1 }', 'minimum: 1, multipleOf: 7 }'))
      expect((await agent.submit('b', HELD, key('k'))).body).toEqual(first.body)
      expect((await agent.submit('b', HELD, key('another'))).status).toBe(400)
    } finally {
      await own.close()
    }
  })

  it.each(['', ' ', 'a b', 'é', 'x'.repeat(256)])('400 for the key %j', async (value) => {
    const headers = { 'idempotency-key': value }
    if (value === 'é') headers['idempotency-key'] = Buffer.from(value).toString('latin1')
    const { status, problem } = await bot.submit(newTask(), SMALL, headers)
    expect([status, problem.code]).toEqual([400, 'invalid_request'])
  })

  it('the stored answer is deleted after a day, and the call is then evaluated again', async () => {
    const task = newTask()
    const first = await bot.submit(task, HELD, key('k5'))
    world.clock.advance(24 * HOUR)
    await world.due()
    const again = await bot.submit(task, HELD, key('k5'))
    expect(again.body.thread_id).not.toBe(first.body.thread_id)
  })
})

describe('policy changes and idempotent requests of V1 and V2', () => {
  it('422 when only the action hash differs', async () => {
    const task = newTask()
    const body = { tool_name: 'pay', payload: REVIEWED, action_hash: HASH }
    await bot.submit(task, body, { 'idempotency-key': 'v2' })
    const other = await bot.submit(task, { ...body, action_hash: OTHER_HASH }, { 'idempotency-key': 'v2' })
    expect(other.status).toBe(422)
  })
})
