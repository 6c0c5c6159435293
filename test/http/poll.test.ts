// @store each
import { describe, expect, it } from 'vitest'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import {
  approved,
  edited,
  HASH,
  held,
  HOUR,
  MINUTE,
  newTask,
  openWorld,
  OTHER_HASH,
  overriding,
  SECOND,
  type World,
} from '../gateway-fixture.ts'
import { until } from '../until.ts'

/** GET /api/agent/decisions (docs/agent-api.md). */

agentWorld()

describe('GET decisions of a thread', () => {
  it('200 pending_review with the reasons, until a reviewer decides', async () => {
    const { thread, task } = await held(bot)
    const { status, body } = await bot.poll({ thread_id: thread })
    expect(status).toBe(200)
    expect(body).toEqual({
      status: 'pending_review',
      task_id: task,
      thread_id: thread,
      message: 'More than pocket money.',
      recommended_poll_after_seconds: 2,
    })
  })

  it('200 advises to poll less often the older the thread is', async () => {
    const { thread } = await held(bot)
    const advice: (number | undefined)[] = []
    for (const age of [0, MINUTE, 9 * MINUTE, 50 * MINUTE]) {
      world.clock.advance(age)
      advice.push((await bot.poll({ thread_id: thread })).body.recommended_poll_after_seconds)
    }
    expect(advice).toEqual([2, 5, 15, 60])
  })

  it('200 approved: a V1 read carries the token once, and no hash', async () => {
    const { thread, task } = await held(bot)
    await ann.approve(thread)
    const first = await bot.poll({ thread_id: thread })
    expect(first.body).toEqual({
      status: 'approved',
      task_id: task,
      thread_id: thread,
      message: 'More than pocket money.',
      approval_token: expect.stringMatching(/^cst_[A-Za-z0-9_-]{49}$/),
      token_expires_at: new Date(world.clock.now + 10 * MINUTE).toISOString(),
    })
    const second = await bot.poll({ thread_id: thread })
    expect(second.status).toBe(200)
    expect(second.body).toEqual({
      status: 'approved',
      task_id: task,
      thread_id: thread,
      message: 'More than pocket money.',
    })
  })

  it('200 returns the action hash on every later read of a V2 thread', async () => {
    const { thread } = await held(bot, { action_hash: HASH })
    expect((await bot.poll({ thread_id: thread })).body.action_hash).toBe(HASH)
    await ann.approve(thread)
    const approved = await bot.poll({ thread_id: thread })
    expect([approved.body.status, approved.body.action_hash]).toEqual(['approved', HASH])
    expect((await bot.poll({ thread_id: thread })).body.action_hash).toBe(HASH)
  })

  it("200 rejected, with the reviewer's comment", async () => {
    const { thread } = await held(bot, { action_hash: HASH })
    await ann.vote(thread, { decision: 'reject', revision: 1, comment: 'Not like this.' })
    const { status, body } = await bot.poll({ thread_id: thread })
    expect([status, body.status, body.message, body.action_hash]).toEqual([
      200,
      'rejected',
      'Not like this.',
      HASH,
    ])
    expect(body).not.toHaveProperty('recommended_poll_after_seconds')
    expect(body).not.toHaveProperty('approval_token')
  })

  it("200 changes_requested, with the reviewer's comment", async () => {
    const { thread } = await held(bot, { action_hash: HASH })
    await ann.vote(thread, { decision: 'request_changes', revision: 1, comment: 'Say who gets it.' })
    const { status, body } = await bot.poll({ thread_id: thread })
    expect([status, body.status, body.message, body.action_hash]).toEqual([
      200,
      'changes_requested',
      'Say who gets it.',
      HASH,
    ])
    expect(body).not.toHaveProperty('approval_token')
  })

  it.each([
    ['nothing', undefined],
    ['spaces', ' \n\u00a0'],
    ['what nobody sees', '\u200b\u2060\u{e0041}'],
    ['fillers', '\u3164\u2800'],
  ])('200 marks a comment in which a reviewer has written %s', async (_, comment) => {
    const { thread } = await held(bot)
    await ann.vote(thread, { decision: 'reject', revision: 1, ...(comment === undefined ? {} : { comment }) })
    expect((await bot.poll({ thread_id: thread })).body.message).toBe(
      'A reviewer rejected without a comment.',
    )
  })

  it('200 by task id is the newest thread of the task, in whatever state the others are', async () => {
    const one = await held(bot, { payload: { amount: 101 } })
    for (let i = 0; i < 10; i++) {
      const next = await held(bot, { payload: { amount: 200 + i } }, one.task)
      expect((await bot.poll({ task_id: one.task })).body.thread_id).toBe(next.thread)
    }
    await ann.approve(one.thread)
    expect((await bot.poll({ task_id: one.task })).body.status).toBe('pending_review')
  })

  it('200 by both ids that belong together', async () => {
    const { thread, task } = await held(bot)
    expect((await bot.poll({ thread_id: thread, task_id: task })).body.thread_id).toBe(thread)
  })

  it('200 by thread id finds an older thread of a task, and its token stays valid', async () => {
    const old = await held(bot, { payload: { amount: 101 } })
    await held(bot, {}, old.task)
    await ann.approve(old.thread)
    const { body } = await bot.poll({ thread_id: old.thread })
    const proof = { task_id: old.task, signature: body.approval_token, request_payload: { amount: 101 } }
    expect((await bot.validate(proof)).body).toEqual({ valid: true })
  })
})

describe('GET decisions, the token', () => {
  it('200 with the token in exactly one of sixteen racing polls', async () => {
    const { thread } = await held(bot)
    await ann.approve(thread)
    const answers = await Promise.all(Array.from({ length: 16 }, () => bot.poll({ thread_id: thread })))
    expect(answers.map(({ body }) => body.status)).toEqual(answers.map(() => 'approved'))
    expect(answers.filter(({ body }) => body.approval_token !== undefined)).toHaveLength(1)
  })

  it('404 for HEAD: it would burn the token; 400 for a prefetch', async () => {
    const { thread } = await held(bot)
    await ann.approve(thread)
    const headers = { authorization: `Bearer ${bot.key}` }
    const head = await fetch(`${world.url}/api/agent/decisions?thread_id=${thread}`, {
      method: 'HEAD',
      headers,
    })
    expect(head.status).toBe(404)
    for (const purpose of ['purpose', 'sec-purpose']) {
      const prefetch = await bot.poll({ thread_id: thread }, { headers: { [purpose]: 'prefetch' } })
      expect(prefetch.status).toBe(400)
    }
    expect((await bot.poll({ thread_id: thread })).body.approval_token).toBeDefined()
  })

  it('200 approved without a token for an agent with unsigned approvals', async () => {
    const unsigned = await world.agent('unsigned')
    const { thread } = await held(unsigned, { action_hash: HASH })
    await ann.approve(thread)
    const records = await world.evidenceOf(async () => {
      for (let i = 0; i < 2; i++) {
        const { body } = await unsigned.poll({ thread_id: thread })
        expect([body.status, body.action_hash]).toEqual(['approved', HASH])
        expect(body).not.toHaveProperty('approval_token')
        expect(body).not.toHaveProperty('token_expires_at')
      }
    })
    expect(records.map(({ record }) => record.type)).toEqual(['approval.collected'])
    expect((await ann.show(thread)).body.token).toEqual({ state: 'unsigned' })
  })

  it('200 gives the token the lifetime of the agent', async () => {
    const short = await world.agent('short')
    const { thread } = await held(short)
    await ann.approve(thread)
    const { body } = await short.poll({ thread_id: thread })
    expect(body.token_expires_at).toBe(new Date(world.clock.now + MINUTE).toISOString())
  })

  it('200 approved even after the token was redeemed', async () => {
    const { thread, task, payload } = await held(bot)
    await ann.approve(thread)
    const { body } = await bot.poll({ thread_id: thread })
    await bot.validate({ task_id: task, signature: body.approval_token, request_payload: payload })
    const after = await bot.poll({ thread_id: thread })
    expect([after.status, after.body.status]).toEqual([200, 'approved'])
    expect(after.body).not.toHaveProperty('approval_token')
  })
})

describe('GET decisions, refused', () => {
  it('400 without an identifier, with the code missing_identifier', async () => {
    const { status, problem } = await bot.poll({})
    expect([status, problem.code]).toEqual([400, 'missing_identifier'])
  })

  it.each([
    'thread_id=',
    'task_id=',
    'thread_id=a&thread_id=b',
    'task_id=a&task_id=b',
    'thread_id=a&task_id=',
    'thread_id[]=a',
    'thread_id[$ne]=x',
    'THREAD_ID=a',
    'thread_id=a&x=1',
    '__proto__[x]=1',
    '__proto__=1',
    'thread_id=a%00',
    'thread_id=a%20b',
    `thread_id=${'x'.repeat(257)}`,
  ])('400 for ?%s', async (query) => {
    expect((await bot.call('GET', `decisions?${query}`)).status).toBe(400)
  })

  it.each([
    'thread_id=thr_00000000000000000000000000',
    'thread_id=*',
    'thread_id=constructor',
    'thread_id=../x',
    'task_id=no-such-task',
    'task_id=__proto__',
    `task_id=${'x'.repeat(129)}`,
    `task_id=${'x'.repeat(256)}`,
    `thread_id=${'x'.repeat(256)}`,
  ])('404 for ?%s', async (query) => {
    const { status, problem } = await bot.call<unknown>('GET', `decisions?${query}`)
    expect([status, problem.code]).toEqual([404, 'not_found'])
  })

  it('404 for a task with automatic decisions only', async () => {
    const task = newTask()
    await bot.submit(task, { tool_name: 't' })
    expect((await bot.poll({ task_id: task })).status).toBe(404)
  })

  it('404 for the thread of another agent and of another tenant, by either id', async () => {
    const other = await world.agent('other')
    const stranger = await world.agent('bot', 'globex')
    const { thread, task } = await held(bot)
    for (const agent of [other, stranger]) {
      const answers = await Promise.all([
        agent.poll({ thread_id: thread }),
        agent.poll({ task_id: task }),
        agent.poll({ thread_id: thread, task_id: task }),
      ])
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404])
      const absent = await agent.poll({ thread_id: 'thr_00000000000000000000000000' })
      expect(answers[0]?.text).toBe(absent.text)
    }
  })

  it('404 for two ids that do not belong together', async () => {
    const one = await held(bot)
    const two = await held(bot)
    expect((await bot.poll({ thread_id: one.thread, task_id: two.task })).status).toBe(404)
    expect((await bot.poll({ thread_id: one.thread, task_id: 'no-such-task' })).status).toBe(404)
  })

  it('404 for POST', async () => {
    expect((await bot.call('POST', 'decisions?task_id=a', { body: {} })).status).toBe(404)
  })
})

describe('GET decisions, time', () => {
  it('200 rejected with `expired: ` at the deadline, for the first caller of any kind', async () => {
    const { thread } = await held(bot, { tool_name: 'brief', payload: {}, action_hash: HASH })
    world.clock.advance(MINUTE - 1)
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
    world.clock.advance(1)
    const records = await world.evidenceOf(async () => {
      const { status, body } = await bot.poll({ thread_id: thread })
      expect([status, body.status, body.action_hash]).toEqual([200, 'rejected', HASH])
      expect(body.message).toMatch(/^expired: /)
      await bot.poll({ thread_id: thread })
    })
    expect(records.map(({ record }) => record.type)).toEqual(['review.expired'])
    expect((await ann.approve(thread)).status).toBe(409)
  })

  it('200 rejected with `expired: ` when the agent did not make the requested changes', async () => {
    const { thread } = await held(bot, { tool_name: 'brief', payload: {} })
    await ann.vote(thread, { decision: 'request_changes', revision: 1 })
    world.clock.advance(MINUTE)
    expect((await bot.poll({ thread_id: thread })).body.message).toMatch(/^expired: /)
  })

  it('200 rejected with `expired: ` when the agent did not collect an approval in time', async () => {
    const { thread } = await held(bot, { tool_name: 'brief', payload: {} })
    world.clock.advance(30 * SECOND)
    await ann.approve(thread)
    world.clock.advance(MINUTE - 1)
    const other = await held(bot, { tool_name: 'brief', payload: {} })
    await ann.approve(other.thread)
    expect((await bot.poll({ thread_id: other.thread })).body.approval_token).toBeDefined()
    world.clock.advance(1)
    const { body } = await bot.poll({ thread_id: thread })
    expect(body.status).toBe('rejected')
    expect(body.message).toMatch(/^expired: /)
    expect(body).not.toHaveProperty('approval_token')
    world.clock.advance(HOUR)
    expect((await bot.poll({ thread_id: other.thread })).body.status).toBe('approved')
  })

  it('200 approved one millisecond before the collection deadline', async () => {
    const { thread } = await held(bot, { tool_name: 'brief', payload: {} })
    await ann.approve(thread)
    world.clock.advance(MINUTE - 1)
    expect((await bot.poll({ thread_id: thread })).body.approval_token).toBeDefined()
  })
})

describe('GET decisions with Prefer: wait', () => {
  const WAIT = { headers: { prefer: 'wait=55' } }

  it('200 at once when a reviewer votes, with Preference-Applied', async () => {
    const tookMs: number[] = []
    // not the next look a second later: the fastest of three, because the machine may be busy
    for (let round = 0; round < 3; round++) {
      const { thread } = await held(bot, { action_hash: HASH })
      let over = false
      const waiting = bot.poll({ thread_id: thread }, WAIT).finally(() => (over = true))
      await world.evidence()
      expect(over).toBe(false)
      const start = performance.now()
      await ann.approve(thread)
      const { body, headers } = await waiting
      tookMs.push(performance.now() - start)
      expect(headers.get('preference-applied')).toBe('wait=55')
      expect([body.status, body.action_hash]).toEqual(['approved', HASH])
      expect(body.approval_token).toBeDefined()
    }
    expect(Math.min(...tookMs)).toBeLessThan(900)
  })

  it('200 with the current state when the waiting time is over', async () => {
    const own = await openWorld()
    try {
      own.clock.run()
      const agent = await own.agent()
      const { thread } = await held(agent)
      const { body, headers } = await agent.poll({ thread_id: thread }, { headers: { prefer: 'wait=1' } })
      expect(body.status).toBe('pending_review')
      expect(headers.get('preference-applied')).toBe('wait=1')
    } finally {
      await own.close()
    }
  })

  it('200 by task id is the newest thread of the task at the end of the wait', async () => {
    const [first, others] = [await held(bot), world.watches]
    const waiting = bot.poll({ task_id: first.task }, WAIT)
    await until(() => world.watches > others)
    const second = await held(bot, {}, first.task)
    await ann.vote(first.thread, { decision: 'reject', revision: 1 })
    await ann.approve(second.thread)
    const { thread_id, status, approval_token } = (await waiting).body
    expect([thread_id, status]).toEqual([second.thread, 'approved'])
    expect(approval_token).toBeDefined()
  })

  it('200 without waiting for a decided thread', async () => {
    const { thread } = await held(bot)
    await ann.vote(thread, { decision: 'request_changes', revision: 1 })
    expect((await bot.poll({ thread_id: thread }, WAIT)).body.status).toBe('changes_requested')
  })

  it.each([
    ['wait=99', 'wait=55'],
    ['respond-async, wait=7', 'wait=7'],
    ['Wait=3', 'wait=3'],
    ['wait=0', null],
    ['wait=-1', null],
    ['wait=x', null],
    ['await=5', null],
    ['foo="a, wait=2"', null],
    ['foo="\\", wait=2"', null],
    ['foo="\\", wait=2", wait="3"; x="a,b"', 'wait=3'],
    ['wait=abc, wait=2', null],
    ['wait, wait=2', null],
    ['wait="2', null],
    ['wait=2"', null],
    ['wait=4, wait=2', 'wait=4'],
    ['', null],
  ])('200 with Prefer: %s applies %s', async (prefer, applied) => {
    const { thread } = await held(bot)
    await ann.vote(thread, { decision: 'reject', revision: 1 })
    const { headers } = await bot.poll({ thread_id: thread }, { headers: { prefer } })
    expect(headers.get('preference-applied')).toBe(applied)
  })

  it('404 at once for a thread of another agent', async () => {
    const other = await world.agent('other')
    const { thread } = await held(bot)
    expect((await other.poll({ thread_id: thread }, WAIT)).status).toBe(404)
  })

  it('200 when the gateway shuts down, without delaying the shutdown', async () => {
    const own = await openWorld()
    const agent = await own.agent()
    const { thread } = await held(agent)
    const waiting = agent.poll({ thread_id: thread }, WAIT)
    await until(() => own.watches > 0)
    await own.close()
    expect((await waiting).body.status).toBe('pending_review')
  })

  it('the wait ends when the caller disconnects', async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      const { thread } = await held(agent)
      const gone = new AbortController()
      const waiting = agent.poll({ thread_id: thread }, { ...WAIT, signal: gone.signal }).catch(() => 'gone')
      await until(() => own.watches === 1)
      gone.abort()
      expect(await waiting).toBe('gone')
      await until(() => own.watches === 0)
    } finally {
      await own.close()
    }
  })

  it('nothing is held for a caller who disconnected before the wait began', async () => {
    let letIn = (): void => undefined
    const credential = new Promise<void>((resolve) => (letIn = resolve))
    let [asked, watched] = [0, 0]
    const own = await openWorld({
      wrapStore: (store) =>
        overriding(store, {
          watch: (...args) => {
            watched++
            return store.watch(...args)
          },
          get: async (...args) => {
            if (args[1] === 'key' && asked++ === 0) await credential
            return store.get(...args)
          },
        }),
    })
    try {
      const agent = await own.agent()
      asked = 1
      const { thread } = await held(agent)
      own.app.deps.keys.clear()
      asked = 0
      const gone = new AbortController()
      const waiting = agent.poll({ thread_id: thread }, { ...WAIT, signal: gone.signal }).catch(() => 'gone')
      await until(() => asked === 1)
      gone.abort()
      expect(await waiting).toBe('gone')
      await until(async () => {
        const seen = await (await fetch(own.app.metricsUrl)).text()
        return seen.includes('countersign_http_requests_aborted_total 1')
      })
      watched = 0
      letIn()
      await until(() => asked > 1)
    } finally {
      await own.close()
    }
    expect(watched).toBe(0)
  })

  it.each([
    ['waits', WAIT],
    ['does not wait', {}],
  ])('no proof is made for a caller who %s and disconnects while the approval is checked', async (_, how) => {
    let goOn = (): void => undefined
    let reached = false
    const released = new Promise<void>((resolve) => (goOn = resolve))
    const own = await openWorld({
      wrapStore: (store) =>
        overriding(store, {
          get: async (...args) => {
            if (reached || args[1] !== 'revision') return store.get(...args)
            reached = true
            await released
            return store.get(...args)
          },
        }),
    })
    try {
      const [agent, reviewer] = [await own.agent(), await own.reviewer('ann')]
      reached = true
      const { thread } = await held(agent)
      await reviewer.approve(thread)
      reached = false
      const gone = new AbortController()
      const asking = agent.poll({ thread_id: thread }, { ...how, signal: gone.signal }).catch(() => 'gone')
      await until(() => reached)
      gone.abort()
      expect(await asking).toBe('gone')
      await until(async () => {
        const seen = await (await fetch(own.app.metricsUrl)).text()
        return seen.includes('countersign_http_requests_aborted_total 1')
      })
      goOn()
      expect((await agent.poll({ thread_id: thread })).body.approval_token).toMatch(/^cst_/)
    } finally {
      await own.close()
    }
  })

  it('401 at once when the key is revoked while the poll is held', async () => {
    const agent = await world.agent('other')
    const { thread } = await held(agent)
    const waiting = agent.poll({ thread_id: thread }, WAIT)
    await world.evidence()
    expect((await world.admin('DELETE', 'agents/acme/other/key')).status).toBe(204)
    expect((await waiting).status).toBe(401)
  })
})

describe('GET decisions after policy or voters have changed', () => {
  const withOwn = async (act: (own: World) => Promise<void>): Promise<void> => {
    const own = await openWorld()
    try {
      await act(own)
    } finally {
      await own.close()
    }
  }

  it('200 rejected with `policy_changed: ` when policy now rejects the approved action, permanently', () =>
    withOwn(async (own) => {
      const agent = await own.agent()
      const reviewer = await own.reviewer('ann')
      const { thread } = await held(agent, { action_hash: HASH })
      await reviewer.approve(thread)
      await own.changePolicies(edited('rules/pay.yaml', 'over: 100000 }', 'at_least: 500 }'))
      const records = await own.evidenceOf(async () => {
        const { body } = await agent.poll({ thread_id: thread })
        expect([body.status, body.action_hash]).toEqual(['rejected', HASH])
        expect(body.message).toMatch(/^policy_changed: /)
        expect(body).not.toHaveProperty('approval_token')
      })
      expect(records.map(({ record }) => record.type)).toEqual(['approval.revoked'])
      await own.changePolicies(edited('rules/pay.yaml', 'over: 100000 }', 'over: 100001 }'))
      expect((await agent.poll({ thread_id: thread })).body.status).toBe('rejected')
    }))

  it("200 rejected with `policy_changed: ` when policy now rejects the agent's claims about the call", () =>
    withOwn(async (own) => {
      const agent = await own.agent()
      const reviewer = await own.reviewer('ann')
      const nightly = await held(agent, { workflow_name: 'nightly' })
      const daily = await held(agent, { workflow_name: 'daily' })
      for (const { thread } of [nightly, daily]) await reviewer.approve(thread)
      await own.changePolicies(
        edited('rules/pay.yaml', 'payload.amount: { over: 100000 }', 'task.workflow: nightly'),
      )
      expect((await agent.poll({ thread_id: nightly.thread })).body.message).toMatch(/^policy_changed: /)
      expect((await agent.poll({ thread_id: daily.thread })).body.status).toBe('approved')
    }))

  it('200 approved even if policy or voters change after the redemption: the call has run', () =>
    withOwn(async (own) => {
      const agent = await own.agent()
      const { task, thread, token, payload } = await approved(agent, await own.reviewer('ann'))
      const proof = { task_id: task, signature: token, request_payload: payload }
      expect((await agent.validate(proof)).body.valid).toBe(true)
      await own.changePolicies({
        ...edited('rules/pay.yaml', 'over: 100000 }', 'at_least: 500 }'),
        ...edited('directory.yaml', 'groups: [desk, leads, board], roles', 'groups: [], roles'),
      })
      const records = await own.evidenceOf(async () => {
        expect((await agent.poll({ thread_id: thread })).body.status).toBe('approved')
      })
      expect(records).toEqual([])
    }))

  it('200 approved when policy changed and does not reject it', () =>
    withOwn(async (own) => {
      const agent = await own.agent()
      const reviewer = await own.reviewer('ann')
      const { thread } = await held(agent)
      await reviewer.approve(thread)
      await own.changePolicies(edited('rules/pay.yaml', 'at_most: 100 }', 'at_most: 1000 }'))
      expect((await agent.poll({ thread_id: thread })).body.approval_token).toBeDefined()
    }))

  it("200 rejected with `policy_changed: ` when the tool's contract no longer accepts the payload", () =>
    withOwn(async (own) => {
      const agent = await own.agent()
      const reviewer = await own.reviewer('ann')
      const { thread } = await held(agent)
      await reviewer.approve(thread)
      await own.changePolicies(edited('tools/pay.yaml', 'minimum: 1 }', 'minimum: 1, multipleOf: 7 }'))
      expect((await agent.poll({ thread_id: thread })).body.message).toMatch(/^policy_changed: /)
    }))

  it('200 rejected with `reviewer_removed: ` when a counted voter left the directory or the group', () =>
    withOwn(async (own) => {
      const agent = await own.agent()
      const reviewer = await own.reviewer('ben')
      const gone = await held(agent)
      const collected = await held(agent)
      await reviewer.approve(gone.thread)
      await reviewer.approve(collected.thread)
      expect((await agent.poll({ thread_id: collected.thread })).body.approval_token).toBeDefined()
      await own.changePolicies(edited('directory.yaml', 'groups: [desk, board] }', 'groups: [board] }'))
      for (const { thread } of [gone, collected]) {
        const { body } = await agent.poll({ thread_id: thread })
        expect(body.status).toBe('rejected')
        expect(body.message).toMatch(/^reviewer_removed: /)
      }
    }))

  it('200 rejected when a counted voter belongs only to a group that escalated after the vote', () =>
    withOwn(async (own) => {
      const agent = await own.agent()
      const reviewer = await own.reviewer('ann')
      const early = await held(agent, { payload: { amount: 20_000 } })
      const late = await held(agent, { payload: { amount: 20_000 } })
      await reviewer.approve(early.thread)
      own.clock.advance(30 * MINUTE)
      await reviewer.approve(late.thread)
      await own.changePolicies(
        edited('directory.yaml', 'groups: [desk, leads, board], roles', 'groups: [desk, board], roles'),
      )
      expect((await agent.poll({ thread_id: early.thread })).body.message).toMatch(/^reviewer_removed: /)
      expect((await agent.poll({ thread_id: late.thread })).body.status).toBe('approved')
    }))

  it('200 rejected when a counted voter became an owner of the agent', () =>
    withOwn(async (own) => {
      const agent = await own.agent()
      const reviewer = await own.reviewer('ben')
      const { thread } = await held(agent)
      await reviewer.approve(thread)
      await own.changePolicies(
        edited('directory.yaml', 'bot:      { owners: [olga]', 'bot:      { owners: [olga, ben]'),
      )
      expect((await agent.poll({ thread_id: thread })).body.status).toBe('rejected')
    }))

  it('a waiting poll uses the directory at the end of its wait', () =>
    withOwn(async (own) => {
      const agent = await own.agent('other')
      const reviewer = await own.reviewer('ann')
      const { thread } = await held(agent)
      const waiting = agent.poll({ thread_id: thread }, { headers: { prefer: 'wait=55' } })
      await until(() => own.watches > 0)
      await own.changePolicies(edited('directory.yaml', 'other:    { owners: [olga] }', ''))
      expect((await reviewer.approve(thread)).status).toBe(200)
      expect((await waiting).status).toBe(401)
    }))
})

describe('GET decisions, restarts', () => {
  it('200 the same before and after a restart, and the token is returned only once', async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      const reviewer = await own.reviewer('ann')
      const one = await held(agent)
      const two = await held(agent, { action_hash: OTHER_HASH })
      await reviewer.approve(one.thread)
      await agent.poll({ thread_id: one.thread })
      await own.restart()
      expect((await agent.poll({ thread_id: one.thread })).body).not.toHaveProperty('approval_token')
      expect((await agent.poll({ thread_id: two.thread })).body.action_hash).toBe(OTHER_HASH)
    } finally {
      await own.close()
    }
  })
})
