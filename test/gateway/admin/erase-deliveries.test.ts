import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Agent,
  edited,
  held,
  HOUR,
  newTask,
  openWorld,
  until,
  type World,
} from '../../gateway-fixture.ts'
import { type Receiver, Receivers } from '../../webhooks/receiver.ts'

/** An erasure while receivers are down, and while they have not answered yet: they never get the erased words. */

const WHO = 'zaphod-4711@person.example'
const FORMATS = ['event', 'chat', 'teams'] as const
const receivers = new Receivers()
let all: Receiver[]
let world: World
let bot: Agent

beforeAll(async () => {
  all = await Promise.all(FORMATS.map(() => receivers.open()))
  world = await openWorld({
    files: edited('tools/pay.yaml', 'risk: low', 'summary: "Pay {amount} to {to}"\nrisk: low'),
    config: { webhooksAllow: all.map(({ port }) => `127.0.0.1/32:${port}`).join(',') },
    webhooks: { everyMs: 20, deadlineMs: 5_000, ca: receivers.ca },
  })
  bot = await world.agent()
  for (const [i, format] of FORMATS.entries()) {
    const events = ['decision.allowed', 'decision.rejected', 'review.pending']
    const payload = format === 'event' ? { payload: 'full' } : {}
    const body = { tenant: 'acme', url: all[i]?.url, format, events, ...payload }
    expect((await world.admin('POST', 'webhooks', { body })).status).toBe(201)
  }
})
afterAll(async () => {
  await world.close()
  await receivers.dispose()
})

/** Calls that policy allows, rejects and holds, and one whose rules do not read the value. */
async function live(to: string): Promise<void> {
  await bot.submit(newTask(), { tool_name: 'pay', payload: { amount: 5, to } })
  await bot.submit(newTask(), { tool_name: 'pay', payload: { amount: 200_000, to } })
  await bot.submit(newTask(), { tool_name: 't', payload: { to } })
  await held(bot, { payload: { amount: 500, to } })
}

const waiting = async (): Promise<number> => {
  const { body } = await world.admin<{ webhooks: { waiting: number }[] }>('GET', 'webhooks?tenant=acme')
  return body.webhooks.reduce((sum, one) => sum + one.waiting, 0)
}

const erase = async (): Promise<void> => {
  const body = { tenant: 'acme', reason: 'asked for it', field: 'payload.to', equals: WHO }
  expect((await world.admin('POST', 'erasures', { body })).status).toBe(200)
}

/** Everything that arrives once the receivers are up, with the calls of another person. */
async function arrived(): Promise<string[]> {
  for (const one of all) {
    one.got.length = 0
    one.answers(204)
  }
  world.clock.advance(HOUR)
  await live('frank')
  await until(async () => (await waiting()) === 0)
  return all.map(({ got }) => got.map(({ raw }) => raw).join('\n'))
}

describe('an erasure', () => {
  it('while chat, teams and event receivers are down lets them get nothing of it afterwards', async () => {
    for (const one of all) one.answers(503)
    await live(WHO)
    await until(() => all.every(({ got }) => got.length >= 4))
    expect(all.every(({ got }) => got.some(({ raw }) => raw.includes('zaphod')))).toBe(true)
    await erase()
    expect(await waiting()).toBe(0)
    const texts = await arrived()
    for (const text of texts) expect(text).not.toContain('zaphod')
    expect(texts.map((text) => text.includes('frank') || text.includes('pay'))).toEqual([true, true, true])
  })

  it('while a delivery has no answer yet lets no later attempt follow', async () => {
    const open: ServerResponse[] = []
    for (const one of all) one.answer = (_, response) => void open.push(response)
    world.clock.advance(HOUR)
    for (const one of all) one.got.length = 0
    await live(WHO)
    await until(() => all.every(({ got }) => got.length > 0))
    await erase()
    for (const one of all) one.answers(503)
    for (const response of open) response.writeHead(503).end()
    for (const text of await arrived()) expect(text).not.toContain('zaphod')
  })
})
