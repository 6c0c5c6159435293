// @store each, in the soak
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WebhookSecret } from '../../../src/contract/webhook.ts'
import type { Heading } from '../../../src/domain/heading.ts'
import { sha256 } from '../../../src/domain/digest.ts'
import { type Agent, edited, held, openWorld, type Reviewer, type World } from '../../gateway-fixture.ts'
import { until } from '../../until.ts'
import { type Receiver, Receivers } from '../../webhooks/receiver.ts'

/** The heading of a call: from the contract in force to reviewers, evidence and webhooks. */

const TEMPLATE = 'Pay {amount|money:EUR} to {to}, secret {secret}'
const CONTRACT = edited('tools/pay.yaml', 'risk: low', `summary: "${TEMPLATE}"\nrisk: low`)
const SECRET = 'tr0ub4dor'
const receivers = new Receivers()
let world: World
let bot: Agent
let ann: Reviewer
let receiver: Receiver

beforeAll(async () => {
  receiver = await receivers.open()
  world = await openWorld({
    files: CONTRACT,
    config: { webhooksAllow: `127.0.0.1/32:${receiver.port}` },
    webhooks: { everyMs: 20, deadlineMs: 5_000, ca: receivers.ca },
  })
  ;[bot, ann] = [await world.agent(), await world.signIn('ann')]
})
afterAll(async () => {
  await world.close()
  await receivers.dispose()
})

const lines = (headings: readonly (Heading | undefined)[]): string[] =>
  headings.map((heading) => heading?.line ?? '')
const payload = { amount: 25_000, to: 'bob', secret: SECRET }
const TAG = /\[hidden [0-9a-f]{8}\]/
const PAID = /^Pay €250\.00 to bob, secret \[hidden [0-9a-f]{8}\]$/

describe('the heading of a thread', () => {
  it('appears in the list, the thread and each of its revisions, as the deciding policy made it', async () => {
    const { thread, task } = await held(bot, { payload })
    const { heading } = (await ann.list({ q: 'pay €250.00 bob' })).body.threads[0] ?? {}
    expect(heading?.line).toMatch(PAID)
    expect(heading?.template).toBe(sha256(TEMPLATE))
    expect(heading?.segments[1]).toEqual({ text: '€250.00', field: 'payload.amount', exact: '25000' })
    await bot.revise(task, thread, { revision_id: 'r2', request_payload: { amount: 7_500 } })
    const { body } = await ann.show(thread)
    expect(body.heading.line).toBe('Pay €75.00 to (none), secret (none)')
    expect(lines(body.revisions.map((one) => one.heading))).toEqual([
      expect.stringMatching(PAID),
      'Pay €75.00 to (none), secret (none)',
    ])
    expect((await ann.list({ q: '€75.00' })).body.threads).toHaveLength(1)
  })

  it('has the same tags as the payload, in a session and with a key', async () => {
    const { thread } = await held(bot, { payload })
    const { body } = await ann.show(thread)
    const tag = TAG.exec(body.heading.line)?.[0]
    expect(body.payload).toMatchObject({ secret: tag })
    const keyed = await (await world.reviewer('ben')).show(thread)
    expect(keyed.body.heading).toEqual(body.heading)
    expect(JSON.stringify(keyed.body.heading)).not.toContain(SECRET)
  })

  it('names the tool and the fields of the deciding rules when the contract has no summary', async () => {
    const { thread, task } = await held(bot, { tool_name: 'hold', payload: { a: 1 } })
    expect((await ann.show(thread)).body.heading).toEqual({ line: 'hold', segments: [{ text: 'hold' }] })
    const { body } = await bot.submit(task, { tool_name: 'hold', payload: { a: 2 } })
    const { earlier } = (await ann.show(body.thread_id ?? '')).body
    expect(lines(earlier.map((one) => one.heading))).toEqual(['hold'])
  })

  it('is recorded in evidence for a held call; a call decided at once records only the template', async () => {
    const records = await world.evidenceOf(async () => {
      const { thread, task } = await held(bot, { payload })
      await bot.revise(task, thread, {
        revision_id: 'r2',
        request_payload: { amount: 7_500, secret: SECRET },
      })
      await bot.submit('small', { tool_name: 'pay', payload: { ...payload, amount: 5 } })
      await bot.submit('large', { tool_name: 'pay', payload: { ...payload, amount: 200_000 } })
      await bot.submit('unknown', { tool_name: 'strange', payload })
    })
    const told = records.map(({ record, disclosures }) => [
      record.type,
      record.details?.['template'],
      disclosures?.members['line'],
    ])
    const template = sha256(TEMPLATE)
    const of = (text: string): unknown => expect.stringContaining(text)
    expect(told).toEqual([
      ['review.pending', template, of('Pay €250.00 to bob, secret [hidden ')],
      ['review.revised', template, of('Pay €75.00 to (none), secret [hidden ')],
      ['decision.allowed', template, undefined],
      ['decision.rejected', template, undefined],
      ['decision.rejected', undefined, undefined],
    ])
    expect(JSON.stringify(records)).not.toContain(SECRET)
  })

  it('is sent to destinations with payload, for every event that describes a call', async () => {
    const { body: hook } = await world.admin<WebhookSecret>('POST', 'webhooks', {
      body: { tenant: 'acme', url: receiver.url, payload: 'full' },
    })
    const { thread } = await held(bot, { payload })
    expect((await ann.vote(thread, { decision: 'reject', revision: 1 })).status).toBe(200)
    await bot.submit('allowed', { tool_name: 'pay', payload: { ...payload, amount: 5 } })
    await until(() => receiver.got.length === 3)
    await world.admin('DELETE', `webhooks/${hook.id}`)
    const told = receiver.got.map(({ body }) => [body.type, (body['heading'] as Heading).line])
    expect(told.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))).toEqual([
      ['decision.allowed', expect.stringMatching(/^Pay €0\.05 to bob, secret \[hidden /)],
      ['review.pending', expect.stringMatching(PAID)],
      ['review.rejected', expect.stringMatching(PAID)],
    ])
    expect(JSON.stringify(receiver.got)).not.toContain(SECRET)
  })

  it('hides values that a later policy calls sensitive, in lists, threads and webhooks', async () => {
    const { thread } = await held(bot, { payload })
    const text = CONTRACT['tools/pay.yaml'] ?? ''
    await world.changePolicies({
      'tools/pay.yaml': text.replace('[payload.secret]', '[payload.secret, payload.to]'),
    })
    const { body } = await ann.show(thread)
    expect(body.heading.line).toMatch(/^Pay €250\.00 to \[hidden\], secret \[hidden [0-9a-f]{8}\]$/)
    expect((await ann.list({ q: 'to bob' })).body.threads).toEqual([])
    const { body: hook } = await world.admin<WebhookSecret>('POST', 'webhooks', {
      body: { tenant: 'acme', url: receiver.url, events: ['review.rejected'], payload: 'full' },
    })
    receiver.got.length = 0
    expect((await ann.vote(thread, { decision: 'reject', revision: 1 })).status).toBe(200)
    await until(() => receiver.got.length === 1)
    expect(receiver.got.map(({ body: told }) => (told['heading'] as Heading).line)).toEqual([
      body.heading.line,
    ])
    await world.admin('DELETE', `webhooks/${hook.id}`)
  })
})
