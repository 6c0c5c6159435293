import { afterEach, beforeEach, expect, it } from 'vitest'
import { edited, held, until } from '../gateway-fixture.ts'
import { SLACK } from './fake-slack.ts'
import { openSlackWorld, type SlackWorld } from './slack-world.ts'

/* The gateway and Slack together: from a held call to the vote, and back to the message. */

const LEVEL = edited(
  'routing.yaml',
  '{ group: desk,  approvals: 1, expires: 8h }',
  '{ group: desk, approvals: 1, expires: 8h, chat: true }',
)

let at: SlackWorld
beforeEach(async () => {
  at = await openSlackWorld({ files: LEVEL })
  await at.webhook(SLACK.channel)
})
afterEach(() => at.close())

/** Waits until each event was delivered: then the gateway knows the place of each message. */
const settled = (): Promise<void> => {
  const count = (event: string): number =>
    at.world.logged.filter((line) => line.includes(`"event":"${event}`)).length
  return until(() => count('webhook.delivered') === count('review.'))
}
const hold = async (payload: object = { note: 'one' }) => {
  const call = await held(await at.world.agent('bot'), { tool_name: 'hold', payload: payload as never })
  await settled()
  return call
}
const blocks = (): string => JSON.stringify(at.slack.shown()['blocks'])
const said = (): string => JSON.stringify(at.slack.ephemerals.at(-1)?.['blocks'])
const votes = async () =>
  (await at.world.evidence()).map(({ record }) => record).filter(({ type }) => type === 'vote.cast')

it('one tap decides: the vote counts, the person hears it, and the message has no button', async () => {
  await at.link('ben', SLACK.member)
  const { thread } = await hold({ note: 'pay `now` <!channel>' })
  expect(blocks()).toContain('pay `now` <!channel>')
  expect(await at.slack.click().acknowledged).toEqual({})
  await at.slack.until(() => at.slack.ephemerals.length === 1)
  expect(said()).toContain('Your vote counts')
  await at.slack.until(() => !blocks().includes('countersign:'))
  expect(await votes()).toMatchObject([{ thread_id: thread, details: { decision: 'approve', via: 'slack' } }])
})

it('a repeated envelope, two clicks at once, and a click on an ended call are one vote', async () => {
  await at.link('ben', SLACK.member)
  await hold()
  const both = [at.slack.click({ envelope: 'e-1' }), at.slack.click({ envelope: 'e-2' })]
  await Promise.all(both.map(({ acknowledged }) => acknowledged))
  await at.slack.click({ envelope: 'e-1' }).acknowledged
  await at.slack.until(() => at.slack.ephemerals.length === 3)
  expect(await votes()).toHaveLength(1)
})

it('a member without a linked account hears where to link it, and the rejection of another counts with its comment', async () => {
  await at.link('ben', SLACK.member)
  at.slack.member('U0STRANGER')
  await hold()
  at.slack.click({ member: 'U0STRANGER' })
  await at.slack.until(() => at.slack.ephemerals.length === 1)
  expect(said()).toContain('linked to no reviewer')
  await at.slack.click({ act: 'reject' }).acknowledged
  await at.slack.until(() => at.slack.views.length === 1)
  const answer = await at.slack.submit({ typed: 'not this supplier' }).acknowledged
  expect(JSON.stringify(answer)).toContain('Your vote counts')
  expect(await votes()).toMatchObject([{ details: { decision: 'reject' } }])
})

it('while Slack is down, the console decides, and the message follows', async () => {
  const ben = await at.world.reviewer('ben')
  const { thread } = await hold()
  at.slack.fail('chat.update', { status: 500 })
  at.slack.kill()
  const { status } = await ben.approve(thread)
  expect(status).toBe(200)
  await until(() => {
    at.world.clock.advance(60_000)
    return !blocks().includes('countersign:')
  })
  expect(at.slack.sent.filter(({ method }) => method === 'chat.update')).toHaveLength(2)
})

it('from click to counted and answered, in a row', { timeout: 120_000 }, async () => {
  const clicks = 100
  await at.link('ben', SLACK.member)
  const times: number[] = []
  for (let number = 1; number <= clicks; number++) {
    await hold({ number })
    const began = performance.now()
    at.slack.click()
    await at.slack.until(() => at.slack.ephemerals.length === number)
    times.push(performance.now() - began)
  }
  times.sort((one, other) => one - other)
  const [p50 = NaN, p99 = NaN] = [times[Math.ceil(clicks / 2) - 1], times[Math.ceil(clicks * 0.99) - 1]]
  console.log(
    `click to counted and answered, of ${clicks}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
  )
  expect(await votes()).toHaveLength(clicks)
  expect(p99).toBeLessThan(1_000)
})
