// @store each, in the soak
import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type {
  DeliveryList,
  DeliveryView,
  Redelivered,
  WebhookList,
  WebhookSecret,
  WebhookView,
} from '../../src/contract/webhook.ts'
import { LIMITS } from '../../src/contract/limits.ts'
import {
  type Agent,
  type Answer,
  approved,
  breakRecord,
  call,
  HASH,
  held,
  HOUR,
  MINUTE,
  newTask,
  openWorld,
  type Reviewer,
  SECOND,
  type World,
} from '../gateway-fixture.ts'
import { until } from '../until.ts'
import { type Got, type Receiver, Receivers } from '../webhooks/receiver.ts'

/**
 * Decision webhooks from end to end: registered, enqueued with the decision, delivered to a real receiver
 * (docs/webhooks.md).
 */

const receivers = new Receivers()
let world: World
let bot: Agent
let ann: Reviewer

beforeAll(async () => {
  const networks = '127.0.0.1/32'
  const ports = await Promise.all(Array.from({ length: 48 }, () => receivers.open()))
  spare.push(...ports)
  const webhooksAllow = ports.map(({ port }) => `${networks}:${port}`).join(',')
  world = await openWorld({
    config: { webhooksAllow },
    webhooks: {
      everyMs: 20,
      deadlineMs: 1_000,
      ca: receivers.ca,
      wall: () => world.clock.now - wallIsBehindMs,
    },
  })
  bot = await world.agent()
  ann = await world.reviewer('ann')
})
afterAll(async () => {
  await world.close()
  await receivers.dispose()
})

const spare: Receiver[] = []
/** How far the store's clock is ahead of the wall clock. */
let wallIsBehindMs = 0
let receiver: Receiver
let hook: WebhookSecret
const fresh = (): Receiver => spare.pop() as Receiver

const create = (body: object): Promise<Answer<WebhookSecret>> =>
  world.admin('POST', 'webhooks', { body: { tenant: 'acme', ...body } })
const show = async (id = hook.id): Promise<WebhookView> =>
  (await world.admin<WebhookView>('GET', `webhooks/${id}`)).body
const act = (what: string, body?: object): Promise<Answer<WebhookView>> =>
  world.admin('POST', `webhooks/${hook.id}/${what}`, body === undefined ? {} : { body })
const deliveries = async (query = ''): Promise<DeliveryView[]> =>
  (await world.admin<DeliveryList>('GET', `webhooks/${hook.id}/deliveries${query}`)).body.deliveries
const got = (count: number): Promise<void> => until(() => receiver.got.length >= count)
/** Nothing is under way: a clock that jumps over a lease makes a try come twice. */
const settled = (): Promise<void> => until(async () => (await show()).waiting === 0)
const allow = (): Promise<unknown> => bot.submit(newTask(), { tool_name: 't', payload: {} })

/** Each test has a destination of its own, and no other is there. */
beforeEach(async () => {
  for (const { id } of (await world.admin<WebhookList>('GET', 'webhooks?tenant=acme')).body.webhooks)
    await world.admin('DELETE', `webhooks/${id}`)
  receiver = fresh()
  const created = await create({ url: receiver.url })
  expect(created.status).toBe(201)
  hook = created.body
})

describe('a receiver of webhooks gets', () => {
  it("every event of a thread in the contract's words, and never a token or the payload", async () => {
    const task = newTask()
    const claims = { subject: 's', workflow_name: 'billing', task_label: 'refunds' }
    const { thread } = await held(bot, { payload: { amount: 20_000 }, action_hash: HASH, ...claims }, task)
    await settled()
    world.clock.advance(30 * MINUTE)
    await world.due()
    await ann.vote(thread, { decision: 'request_changes', revision: 1, comment: 'less' })
    const revision = { request_payload: { amount: 500 }, action_hash: HASH, workflow_name: 'billing' }
    await bot.revise(task, thread, revision)
    await ann.approve(thread, 2)
    await (await world.reviewer('ben')).approve(thread, 2)
    const { body: polled } = await bot.poll({ thread_id: thread })
    await bot.validate({
      task_id: task,
      request_payload: { amount: 500 },
      thread_id: thread,
      action_hash: HASH,
      signature: polled.approval_token,
    })
    await got(7)
    const bySequence = receiver.got
      .map(({ body }) => body)
      .toSorted((a, b) => Number(a['sequence']) - Number(b['sequence']))
    expect(
      bySequence.map(({ type, sequence, decision, revision: number }) => [type, sequence, decision, number]),
    ).toEqual([
      ['review.pending', 1, 'pending_review', 1],
      ['review.reminded', 2, 'pending_review', 1],
      ['review.escalated', 3, 'pending_review', 1],
      ['review.changes_requested', 4, 'changes_requested', 1],
      ['review.pending', 5, 'pending_review', 2],
      ['review.approved', 6, 'approved', 2],
      ['token.redeemed', 7, 'approved', 2],
    ])
    expect(bySequence[0]).toEqual({
      id: expect.stringMatching(/^whd_acme_/),
      timestamp: new Date(world.clock.now - 30 * MINUTE).toISOString(),
      type: 'review.pending',
      tenant_id: 'acme',
      agent_id: 'bot',
      tool_name: 'pay',
      task_id: task,
      thread_id: thread,
      decision: 'pending_review',
      message: 'A lot of money.',
      workflow_name: 'billing',
      task_label: 'refunds',
      revision: 1,
      risk: 'high',
      groups: ['leads'],
      sequence: 1,
    })
    expect(bySequence[3]?.['message']).toBe('less')
    const all = receiver.got.map(({ raw }) => raw).join('\n')
    expect(all).not.toMatch(/cst_|amount/)
  })

  it('immediate decisions, rejections by reviewers, and expiries', async () => {
    const task = newTask()
    await bot.submit(task, { tool_name: 't', payload: {}, workflow_name: 'w' })
    await bot.submit(task, { tool_name: 'pay', payload: { amount: 900_000 } })
    const { thread } = await held(bot)
    await ann.vote(thread, { decision: 'reject', revision: 1, comment: 'no' })
    await held(bot, { tool_name: 'brief', payload: {} })
    await settled()
    world.clock.advance(MINUTE)
    await world.due()
    await got(6)
    const events = receiver.got.map(({ body }) => [body.type, body['decision'], body['message']])
    expect(events).toHaveLength(6)
    expect(events).toEqual(
      expect.arrayContaining([
        ['decision.allowed', 'allow', 'Harmless.'],
        ['decision.rejected', 'reject', 'Nobody moves that much.'],
        ['review.pending', 'pending_review', 'More than pocket money.'],
        ['review.rejected', 'rejected', 'no'],
        ['review.pending', 'pending_review', 'Quick, please.'],
        ['review.expired', 'rejected', 'expired: no reviewer decided in time'],
      ]),
    )
  })

  it('a rejection by reviewers as such, even when their comment imitates an expiry', async () => {
    const { thread } = await held(bot)
    await ann.vote(thread, { decision: 'reject', revision: 1, comment: 'expired: the card is of last year' })
    await got(2)
    expect(receiver.types().toSorted()).toEqual(['review.pending', 'review.rejected'])
  })

  it('the freeze that ended a reviewed call', async () => {
    const { thread } = await held(bot)
    const freeze = { tenant: 'acme', agent: 'bot', reason: 'it talks to strangers' }
    await world.admin('POST', 'freeze', { body: freeze })
    await world.due()
    await world.admin('POST', 'unfreeze', { body: freeze })
    await got(2)
    const ended = receiver.got.map(({ body }) => body).find(({ type }) => type === 'review.rejected')
    expect(ended).toMatchObject({
      thread_id: thread,
      decision: 'rejected',
      message: 'frozen: it talks to strangers',
    })
  })

  it('a signature over the raw body that both verifiers accept', async () => {
    await allow()
    await got(1)
    const { headers, raw, body } = receiver.got[0] as Got
    const hex = createHmac('sha256', hook.secret).update(raw).digest('hex')
    expect(headers['x-guard-signature']).toBe(`sha256=${hex}`)
    expect(headers['content-type']).toBe('application/json')
    expect([headers['webhook-id'], headers['webhook-timestamp']]).toEqual([
      body.id,
      String(Math.floor(world.clock.now / 1_000)),
    ])
    const signed = headers['webhook-signature']?.split(',')[1]
    const key = Buffer.from(hook.secret.replace('whsec_', ''), 'base64')
    const expected = createHmac('sha256', key).update(`${body.id}.${headers['webhook-timestamp']}.${raw}`)
    expect(signed).toBe(expected.digest('base64'))
    expect(() => new Webhook(hook.secret).verify(`${raw} `, headers)).toThrow()
  })

  it('the wall-clock time of sending, because receivers refuse times in the future', async () => {
    wallIsBehindMs = HOUR
    await allow()
    await got(1)
    wallIsBehindMs = 0
    const { headers, body } = receiver.got[0] as Got
    expect(headers['webhook-timestamp']).toBe(String(Math.floor((world.clock.now - HOUR) / 1_000)))
    expect(body.timestamp).toBe(new Date(world.clock.now).toISOString())
  })

  it('the payload too, if the destination asks for it', async () => {
    const full = fresh()
    await create({ url: full.url, payload: 'full', events: ['review.pending', 'review.approved'] })
    await approved(bot, ann, { payload: { amount: 700, to: 'x' } })
    await until(() => full.got.length === 2)
    expect(full.got.map(({ body }) => body['payload'])).toEqual([
      { amount: 700, to: 'x' },
      { amount: 700, to: 'x' },
    ])
    await got(2)
    expect(receiver.got.some(({ raw }) => raw.includes('700'))).toBe(false)
  })

  it('no sensitive value in clear, not even with the payload', async () => {
    const full = fresh()
    await create({ url: full.url, payload: 'full', events: ['decision.allowed', 'review.pending'] })
    for (const amount of [50, 500])
      await bot.submit(newTask(), { tool_name: 'pay', payload: { amount, secret: 'sesame' } })
    await until(() => full.got.length === 2)
    const tag = expect.stringMatching(/^\[hidden [0-9a-f]{8}\]$/)
    expect(full.got.map(({ body }) => body['payload'])).toEqual(
      expect.arrayContaining([
        { amount: 50, secret: tag },
        { amount: 500, secret: tag },
      ]),
    )
    const pending = full.got.find(({ body }) => body.type === 'review.pending')
    const thread = String(pending?.body['thread_id'])
    const shown = await (await world.signIn('ben')).show(thread)
    expect(full.got.map(({ body }) => body['payload'])).toContainEqual(shown.body.payload)
    await ann.vote(thread, { decision: 'reject', revision: 1 })
  })

  it('only events that the destination asks for', async () => {
    const picky = fresh()
    await create({ url: picky.url, events: ['decision.rejected'] })
    await allow()
    await bot.submit(newTask(), { tool_name: 'bare', payload: {} })
    await got(2)
    await until(() => picky.got.length === 1)
    expect(picky.types()).toEqual(['decision.rejected'])
  })

  it('no event of another tenant', async () => {
    const foreign = await world.agent('bot', 'globex')
    await foreign.submit(newTask(), { tool_name: 't', payload: {} })
    await allow()
    await got(1)
    expect(receiver.got.map(({ body }) => body['tenant_id'])).toEqual(['acme'])
  })
})

describe('attempts', () => {
  it('attempts repeat a delivery with the same id and body until one succeeds, at the times of the schedule', async () => {
    receiver.answers(500)
    await allow()
    await got(1)
    await until(async () => (await deliveries())[0]?.last !== undefined)
    const [first] = await deliveries()
    expect(first).toMatchObject({ state: 'waiting', attempts: 1, last: { result: '500' } })
    const pause = Date.parse(first?.next_at ?? '') - world.clock.now
    expect(pause).toBeGreaterThanOrEqual(5 * SECOND)
    expect(pause).toBeLessThanOrEqual(6 * SECOND)
    world.clock.advance(pause - 1)
    receiver.answers(204)
    await allow()
    await got(2)
    expect(receiver.got[1]?.body.id).not.toBe(receiver.got[0]?.body.id)
    world.clock.advance(1)
    await got(3)
    const again = receiver.got[2] as Got
    expect([again.raw, again.headers['webhook-id']]).toEqual([
      receiver.got[0]?.raw,
      receiver.got[0]?.headers['webhook-id'],
    ])
    await until(async () => (await deliveries('?state=delivered')).length === 2)
    expect(await deliveries('?state=waiting')).toEqual([])
  })

  it('attempts wait as long as the receiver asks, within a day', async () => {
    receiver.answers(429, { 'retry-after': '120' })
    await allow()
    await until(async () => (await deliveries())[0]?.attempts === 1)
    expect(Date.parse((await deliveries())[0]?.next_at ?? '') - world.clock.now).toBe(120 * SECOND)
    receiver.answers(503, { 'retry-after': '99999999999' })
    world.clock.advance(120 * SECOND)
    await until(async () => (await deliveries())[0]?.attempts === 2)
    expect(Date.parse((await deliveries())[0]?.next_at ?? '') - world.clock.now).toBe(24 * HOUR)
  })

  it('attempts wait until the date that the receiver names, by its wall clock', async () => {
    wallIsBehindMs = HOUR
    const whole = Math.ceil(world.clock.now / SECOND) * SECOND
    receiver.answers(503, { 'retry-after': new Date(whole - HOUR + 600 * SECOND).toUTCString() })
    await allow()
    await until(async () => (await deliveries())[0]?.attempts === 1)
    expect(Date.parse((await deliveries())[0]?.next_at ?? '') - whole).toBe(600 * SECOND)
    wallIsBehindMs = 0
  })

  it('attempts end after ten failures: the delivery is dead, and is repeated on request', async () => {
    receiver.answers(500)
    await allow()
    for (let attempt = 1; attempt <= 10; attempt++) {
      await until(async () => (await deliveries())[0]?.attempts === attempt)
      world.clock.advance(30 * HOUR)
      // the destination itself is paused after so long: that is another test
      if ((await show()).state === 'failing') await act('resume')
    }
    const [dead] = await deliveries()
    expect(dead).toMatchObject({ state: 'dead', attempts: 10 })
    expect(dead).not.toHaveProperty('next_at')
    receiver.answers(200)
    const { status } = await world.admin('POST', `webhooks/${hook.id}/deliveries/${dead?.id}/redeliver`)
    expect(status).toBe(204)
    await until(async () => (await deliveries())[0]?.state === 'delivered')
    expect(new Set(receiver.got.map(({ body }) => body.id))).toEqual(new Set([dead?.id]))
  })

  it('attempts end at once with 410: the destination is gone and gets no new deliveries', async () => {
    receiver.answers(410)
    await allow()
    await until(async () => (await show()).state === 'gone')
    await allow()
    expect((await deliveries()).map(({ state }) => state)).toEqual(['dead'])
    receiver.answers(200)
    await act('resume')
    await allow()
    await until(() => receiver.got.length === 2)
  })

  it('attempts end with 410 once when several are in progress: one record, and no other change', async () => {
    const held: (() => void)[] = []
    receiver.answer = (_, response) => void held.push(() => void response.writeHead(410).end())
    await Promise.all([allow(), allow(), allow()])
    await until(() => held.length === 3)
    for (const [i, goodbye] of held.entries()) {
      goodbye()
      await until(async () => (await deliveries('?state=dead')).length === i + 1)
    }
    const paused = (await world.evidence()).filter(
      ({ record }) => record.type === 'webhook.paused' && record.details?.['id'] === hook.id,
    )
    expect(paused.map(({ record }) => record.details?.['reason'])).toEqual(['gone'])
  })

  it('attempts end at once with 410 on a paused destination too: it gets no deliveries until it is resumed', async () => {
    receiver.answers(410)
    await allow()
    await until(async () => (await show()).state === 'gone')
    expect((await act('pause')).body.state).toBe('gone')
    await allow()
    expect((await deliveries()).map(({ state }) => state)).toEqual(['dead'])
  })

  it('attempts pause a destination after 120 hours without success, while its events wait', async () => {
    receiver.answers(500)
    await allow()
    await until(async () => (await deliveries())[0]?.attempts === 1)
    expect(await show()).toMatchObject({ state: 'active', failing_since: expect.any(String) })
    world.clock.advance(120 * HOUR)
    await until(async () => (await show()).state === 'failing')
    const tried = receiver.got.length
    receiver.answers(200)
    await allow()
    world.clock.advance(30 * HOUR)
    expect((await show()).waiting).toBe(2)
    expect(receiver.got).toHaveLength(tried)
    await act('resume')
    await settled()
    expect(await show()).not.toHaveProperty('failing_since')
  })

  it('attempts reach receivers and can be repeated while the record of one delivery is broken', async () => {
    receiver.answers(410)
    for (const count of [1, 2]) {
      await allow()
      await until(async () => (await deliveries('?state=dead')).length === count)
      await act('resume')
    }
    const [second, first] = await deliveries()
    const mend = await breakRecord(world, 'delivery', first?.id ?? '')
    const path = `webhooks/${hook.id}/deliveries`
    const told = await world.admin<DeliveryList>('GET', `${path}?state=dead&limit=1`)
    expect(told).toMatchObject({ status: 200, body: { deliveries: [{ id: second?.id }] } })
    const { next_cursor = '' } = told.body
    const rest = await world.admin<DeliveryList>('GET', `${path}?state=dead&limit=1&cursor=${next_cursor}`)
    expect(rest.body).toEqual({ deliveries: [], unreadable: [first?.id] })
    receiver.answers(200)
    const body = { since: '2020-01-01T00:00:00Z' }
    expect((await world.admin('POST', `webhooks/${hook.id}/redeliver`, { body })).body).toEqual({ count: 1 })
    await until(async () => (await deliveries('?state=delivered')).length === 1)
    await mend()
    expect((await deliveries()).map(({ state }) => state)).toEqual(['delivered', 'dead'])
  })

  it('attempts to a slow destination delay no other destination', async () => {
    const slow = fresh()
    await create({ url: slow.url })
    slow.answer = () => undefined
    for (let i = 1; i <= 50; i++) {
      await Promise.all(Array.from({ length: 20 }, allow))
      await got(20 * i)
    }
    await settled()
    expect(slow.got.length).toBeLessThan(1_000)
  })

  it('attempts continue while a receiver is down for three days, and then bring every event once by its id', async () => {
    receiver.answer = (_, response) => void response.destroy()
    const { thread } = await held(bot)
    await ann.vote(thread, { decision: 'reject', revision: 1, comment: 'no' })
    for (let i = 0; i < 8; i++) await allow()
    const tried = (): Promise<void> =>
      until(async () =>
        (await deliveries()).every(({ next_at }) => Date.parse(next_at ?? '') > world.clock.now),
      )
    const back = world.clock.now + 72 * HOUR
    while (world.clock.now < back) {
      await tried()
      const next = (await deliveries()).map((one) => Date.parse(one.next_at ?? ''))
      world.clock.now = Math.min(back, Math.max(...next))
    }
    await tried()
    const failed = receiver.got.length
    receiver.answers(200)
    world.clock.advance(24 * HOUR)
    await settled()
    const ids = receiver.got.slice(failed).map(({ body }) => body.id)
    expect(new Set(ids).size).toBe(10)
    expect(ids).toHaveLength(10)
    expect(new Set(receiver.got.map(({ body }) => body.id))).toEqual(new Set(ids))
    expect((await deliveries()).map(({ state }) => state)).toEqual(Array(10).fill('delivered'))
  })

  it('attempts are taken over after the lease of another gateway, with the same id', async () => {
    receiver.answer = () => undefined
    await allow()
    await got(1)
    await world.restart()
    receiver.answers(200)
    world.clock.advance(12 * SECOND)
    await got(2)
    expect(receiver.got[1]?.raw).toBe(receiver.got[0]?.raw)
    await settled()
  })
})

describe('an administrator', () => {
  it('400 for a URL that may not be called, with the reason', async () => {
    for (const url of [
      'http://pub.test/',
      'https://localhost/',
      'https://169.254.169.254/',
      'https://10.0.0.1/',
      'x',
    ]) {
      const { status, problem } = await create({ url })
      expect([url, status, problem.code]).toEqual([url, 400, 'invalid_request'])
      expect(problem.errors).toEqual([{ pointer: '/url', message: expect.stringMatching(/^it/) }])
    }
    expect((await create({ url: receiver.url, events: ['nothing'] })).status).toBe(400)
    expect((await create({ url: receiver.url, tenant: '../x' })).status).toBe(400)
    expect((await create({ url: receiver.url, evil: 1 })).status).toBe(400)
  })

  it('404 for a tenant that the directory does not know, because it would have no events', async () => {
    const { status, problem } = await create({ tenant: 'acne', url: receiver.url })
    expect([status, problem.code, problem.detail]).toEqual([
      404,
      'not_found',
      'directory.yaml lists no tenant `acne`',
    ])
  })

  it('lists the destinations of one tenant without their secrets', async () => {
    const { status, body, text } = await world.admin<WebhookList>('GET', 'webhooks?tenant=acme')
    expect(status).toBe(200)
    expect(body.webhooks).toEqual([
      {
        id: hook.id,
        tenant: 'acme',
        url: receiver.url,
        payload: 'thin',
        format: 'event',
        created_at: expect.any(String),
        secrets: 1,
        state: 'active',
        waiting: 0,
      },
    ])
    expect(text).not.toContain(hook.secret)
    expect((await world.admin<WebhookList>('GET', 'webhooks?tenant=globex')).body.webhooks).toEqual([])
  })

  it('pauses and resumes, and events in between wait', async () => {
    expect((await act('pause')).body.state).toBe('paused')
    await allow()
    await allow()
    expect((await show()).waiting).toBe(2)
    expect(receiver.got).toEqual([])
    expect((await act('resume')).body.state).toBe('active')
    await got(2)
  })

  it('rotates the secret: both sign for a while, then only the new one', async () => {
    const { body: next } = await world.admin<WebhookSecret>('POST', `webhooks/${hook.id}/rotate-secret`, {
      body: { overlap_ms: HOUR },
    })
    expect(next.secret).not.toBe(hook.secret)
    await allow()
    await got(1)
    const verify = (secret: string, { raw, headers }: Got): boolean => {
      const [current, previous] = ['x-guard-signature', 'x-guard-signature-previous'].map(
        (name) => headers[name],
      )
      const mine = `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`
      return mine === current || mine === previous
    }
    const during = receiver.got[0] as Got
    expect([verify(hook.secret, during), verify(next.secret, during)]).toEqual([true, true])
    expect(during.headers['webhook-signature']?.split(' ')).toHaveLength(2)
    expect((await show()).secrets).toBe(2)
    world.clock.advance(HOUR)
    await allow()
    await got(2)
    const after = receiver.got[1] as Got
    expect([verify(hook.secret, after), verify(next.secret, after)]).toEqual([false, true])
    expect((await show()).secrets).toBe(1)
  })

  it('pings with one delivery through the same outbox', async () => {
    expect((await act('ping')).status).toBe(200)
    await got(1)
    expect(receiver.got[0]?.body).toMatchObject({ type: 'webhook.ping', tenant_id: 'acme' })
  })

  it('deletes a destination with its waiting deliveries', async () => {
    await act('pause')
    for (let i = 0; i < 5; i++) await allow()
    expect((await world.admin('DELETE', `webhooks/${hook.id}`)).status).toBe(204)
    await world.due()
    const { store } = world.app.deps
    expect(await store.count('acme', `outbox/${hook.id}`)).toBe(0)
    expect(await store.count('acme', `deliveries/${hook.id}`)).toBe(0)
    expect((await world.admin('GET', `webhooks/${hook.id}`)).status).toBe(404)
    await allow()
    expect(receiver.got).toEqual([])
  })

  it('redelivers everything that was given up in a time span', async () => {
    receiver.answers(410)
    const since = new Date(world.clock.now).toISOString()
    await allow()
    await until(async () => (await show()).state === 'gone')
    await act('resume')
    receiver.answers(200)
    const { body } = await world.admin<Redelivered>('POST', `webhooks/${hook.id}/redeliver`, {
      body: { since },
    })
    expect(body.count).toBe(1)
    await until(async () => (await deliveries('?state=delivered')).length === 1)
    const none = await world.admin<Redelivered>('POST', `webhooks/${hook.id}/redeliver`, { body: { since } })
    expect(none.body.count).toBe(0)
    for (const [body, pointer] of [
      [{ since: 'yesterday' }, '/since'],
      [{ since, until: '2026' }, '/until'],
      // of which zone?
      [{ since: '2026-03-02T12:00:00' }, '/since'],
    ] as const) {
      const { status, problem } = await world.admin('POST', `webhooks/${hook.id}/redeliver`, { body })
      expect([status, problem.errors?.[0]?.pointer]).toEqual([400, pointer])
    }
  })

  it('redelivers many in one commit, so that no other request waits for thousands of commits', async () => {
    const since = new Date(world.clock.now).toISOString()
    for (let i = 0; i < 5; i++) await allow()
    await settled()
    await act('pause')
    const { store } = world.app.deps
    const committing = vi.spyOn(store, 'commit')
    try {
      const path = `webhooks/${hook.id}/redeliver`
      const { body } = await world.admin<Redelivered>('POST', path, { body: { since, state: 'delivered' } })
      expect(body.count).toBe(5)
      const made = committing.mock.calls.map(
        ([, { events }]) => events.filter((event) => event.includes('webhook.redelivered')).length,
      )
      expect(made.filter((count) => count > 0)).toEqual([5])
    } finally {
      committing.mockRestore()
    }
    await act('resume')
    await settled()
    expect(receiver.got).toHaveLength(10)
  })

  it('skips a delivery that the timer purges in the meantime', async () => {
    receiver.answers(410)
    const since = new Date(world.clock.now).toISOString()
    await allow()
    await until(async () => (await show()).state === 'gone')
    await act('resume')
    await allow()
    await until(async () => (await deliveries('?state=dead')).length === 2)
    const [forgotten] = await deliveries('?state=dead')
    const { store } = world.app.deps
    const get = store.get.bind(store)
    let looks = 0
    const looking = vi.spyOn(store, 'get').mockImplementation(async (...name) => {
      if (name[2] === forgotten?.id && ++looks > 1) return undefined
      return get(...name)
    })
    try {
      const path = `webhooks/${hook.id}/redeliver`
      const { status, body } = await world.admin<Redelivered>('POST', path, { body: { since } })
      expect([status, body.count]).toEqual([200, 1])
      expect(looks).toBeGreaterThan(1)
    } finally {
      looking.mockRestore()
    }
  })

  it('pages through deliveries, newest first', async () => {
    for (let i = 0; i < 5; i++) {
      await allow()
      world.clock.advance(1)
    }
    await settled()
    const all = (await deliveries()).map(({ id }) => id)
    expect(all).toEqual(all.toSorted().toReversed())
    const page = await world.admin<DeliveryList>('GET', `webhooks/${hook.id}/deliveries?limit=3`)
    const rest = await deliveries(`?limit=3&cursor=${page.body.next_cursor}`)
    expect([...page.body.deliveries, ...rest].map(({ id }) => id)).toEqual(all)
    expect((await world.admin('GET', `webhooks/${hook.id}/deliveries?cursor=x`)).status).toBe(400)
  })

  it('forgets deliveries a day after they were made', async () => {
    await allow()
    await settled()
    world.clock.advance(24 * HOUR)
    await world.due()
    expect(await deliveries()).toEqual([])
  })

  it('409 for more destinations than a tenant may have', async () => {
    for (let i = 1; i < LIMITS.WEBHOOKS; i++) expect((await create({ url: receiver.url })).status).toBe(201)
    expect((await create({ url: receiver.url })).problem).toMatchObject({
      status: 409,
      code: 'too_many_webhooks',
    })
  })

  it('leaves evidence of each act and each delivery, without the secret', async () => {
    const records = await world.evidenceOf(async () => {
      const own = fresh()
      const { body } = await create({ url: own.url, events: ['webhook.ping'] })
      const on = (what: string) => world.admin('POST', `webhooks/${body.id}/${what}`, {})
      await world.admin('POST', `webhooks/${body.id}/rotate-secret`, { body: {} })
      await on('pause')
      await on('resume')
      await on('ping')
      await until(() => own.got.length === 1)
      await until(async () => (await show(body.id)).waiting === 0)
      await world.admin('DELETE', `webhooks/${body.id}`)
    })
    expect(records.map(({ record }) => record.type)).toEqual([
      'webhook.created',
      'webhook.secret_rotated',
      'webhook.paused',
      'webhook.resumed',
      'webhook.pinged',
      'webhook.delivered',
      'webhook.deleted',
    ])
    expect(JSON.stringify(records)).not.toContain('whsec_')
    expect(world.logged.join('\n')).not.toContain('whsec_')
  })

  it("shows an administrator only the tenant's own webhooks, and other callers none", async () => {
    const asAnn = { headers: ann.credentials() }
    const url = `${world.url}/api/admin/webhooks`
    expect((await call(`${url}?tenant=acme`, 'GET', asAnn)).status).toBe(200)
    expect((await call(`${url}?tenant=globex`, 'GET', asAnn)).status).toBe(404)
    expect((await call(`${url}/${hook.id}`, 'GET', asAnn)).status).toBe(200)
    const other = hook.id.replace('whk_acme', 'whk_globex')
    expect((await call(`${url}/${other}`, 'GET', asAnn)).status).toBe(404)
    const ben = await world.reviewer('ben')
    expect((await call(`${url}/${hook.id}`, 'GET', { headers: ben.credentials() })).status).toBe(403)
    for (const id of ['x', 'whk_acme_x', '__proto__'])
      expect((await world.admin('GET', `webhooks/${id}`)).status).toBe(404)
  })
})
