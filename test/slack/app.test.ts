import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type FakeSlack, SLACK, startFakeSlack } from '../chat/fake-slack.ts'
import { call } from '../chat/messages.ts'
import { opened, type Opened } from './opened.ts'

let slack: FakeSlack
let gateway: Opened
const { signal } = new AbortController()

beforeEach(async () => {
  slack = await startFakeSlack()
})
afterEach(async () => {
  await gateway.app.close()
  await slack.close()
})

const isUp = (): Promise<void> => slack.until(() => slack.sockets.size === 1)
const opens = (): number => slack.sent.filter(({ method }) => method === 'apps.connections.open').length
const post = () => gateway.app.send({ channel: SLACK.channel }, call(), signal)

it('connects, names its workspace, and connects again at once when Slack announces the end', async () => {
  gateway = opened(slack)
  expect(gateway.app.workspace).toBeUndefined()
  await isUp()
  expect(gateway.app.workspace).toBe(SLACK.workspace)
  for (const reason of ['warning', 'refresh_requested']) {
    const before = opens()
    slack.disconnect(reason)
    await slack.until(() => opens() === before + 1 && slack.sockets.size === 2)
    expect([gateway.slept, gateway.troubles]).toEqual([[], []])
    // what arrives on the old connection is still acknowledged
    slack.sockets.values().next().value?.close()
    await isUp()
  }
})

it.each([
  ['the app has too many connections', 'too_many_websockets', () => slack.limitConnections(0)],
  ['Socket Mode is switched off', 'apps.connections.open: not_allowed_token_type', () => slack.disable()],
])('when %s, it tries again after growing pauses', async (_, why, refuse) => {
  refuse()
  gateway = opened(slack)
  await slack.until(() => opens() >= 4)
  expect(gateway.slept.slice(0, 3)).toEqual([2_000, 4_000, 8_000])
  expect(new Set(gateway.troubles)).toEqual(new Set([why]))
  expect(gateway.connected()).toBe(false)
  slack.limitConnections(1)
  slack.disable(false)
  await isUp()
})

it('link_disabled and a lost connection end it, and it returns', async () => {
  gateway = opened(slack)
  await isUp()
  slack.disconnect('link_disabled')
  await slack.until(() => slack.sockets.size === 2)
  expect(gateway.troubles).toEqual(['link_disabled'])
  slack.kill()
  await vi.waitFor(() => expect(gateway.troubles.at(-1)).toBe('connection lost'))
  await slack.until(() => opens() === 3)
})

it('while Slack is down, a message fails without an exception, and the gateway ends at once', async () => {
  slack.fail('auth.test', { status: 500 }, { status: 500 }, { status: 500 })
  gateway = opened(slack)
  slack.fail('chat.postMessage', { status: 500 })
  expect(await post()).toEqual({ kind: 'failed', code: 'http_500' })
  const closed = new AbortController()
  slack.fail('chat.postMessage', 'silence')
  const silent = gateway.app.send({ channel: SLACK.channel }, call(), closed.signal)
  await slack.until(() => slack.sent.filter(({ method }) => method === 'chat.postMessage').length === 2)
  closed.abort()
  expect(await silent).toEqual({ kind: 'failed', code: 'connection' })
})

it('sends one message a second to a channel, and returns a message whose turn is far', async () => {
  gateway = opened(slack)
  await isUp()
  const all = await Promise.all(Array.from({ length: 8 }, post))
  expect(gateway.slept).toEqual([1_000, 2_000, 3_000, 4_000, 5_000])
  expect(all.filter(({ kind }) => kind === 'sent')).toHaveLength(6)
  expect(all.at(-1)).toEqual({ kind: 'failed', code: 'paced', retryMs: 6_000 })
})

it('keeps Retry-After: the method is not called before its time', async () => {
  gateway = opened(slack)
  await isUp()
  slack.fail('chat.postMessage', { status: 429, after: 30 })
  expect(await post()).toEqual({ kind: 'failed', code: 'ratelimited', retryMs: 30_000 })
  const before = slack.sent.length
  gateway.tick(10_000)
  expect(await post()).toEqual({ kind: 'failed', code: 'ratelimited', retryMs: 20_000 })
  expect(slack.sent).toHaveLength(before)
  gateway.tick(20_000)
  expect(await post()).toMatchObject({ kind: 'sent' })
})

it('rewrites a message in its place, and reports a message that is gone', async () => {
  gateway = opened(slack)
  await isUp()
  const sent = await post()
  const stamp = sent.kind === 'sent' ? sent.stamp : ''
  const over = call({ acts: [], fields: [], lines: [[{ text: 'Approved by Mara.' }]] })
  expect(await gateway.app.send({ channel: SLACK.channel, stamp }, over, signal)).toEqual({
    kind: 'sent',
    stamp,
  })
  expect(JSON.stringify(slack.shown())).not.toContain('2400.00')
  gateway.tick(1_000)
  const gone = { channel: SLACK.channel, stamp: '1.0' }
  expect(await gateway.app.send(gone, over, signal)).toEqual({ kind: 'gone', code: 'message_not_found' })
  expect(await gateway.app.send({ channel: 'C0OTHER001' }, over, signal)).toEqual({
    kind: 'failed',
    code: 'channel_not_found',
  })
  gateway.tick(1_000)
  slack.fail('chat.update', { error: 'msg_blocks_too_long' })
  expect(await gateway.app.send({ channel: SLACK.channel, stamp }, over, signal)).toEqual({
    kind: 'failed',
    code: 'msg_blocks_too_long',
  })
})

it.each([
  ['a member', {}, undefined],
  ['a guest', { is_restricted: true }, 'a guest'],
  ['a guest of one channel', { is_restricted: true, is_ultra_restricted: true }, 'a guest'],
  ['a bot', { is_bot: true }, 'a bot'],
  ['a deactivated member', { deleted: true, is_restricted: undefined }, 'a deactivated member'],
  ['a member of another workspace', { team_id: 'T0OTHER001' }, 'a member of another workspace'],
  ['a stranger of a shared channel', { is_stranger: true }, 'a member of another workspace'],
])('knows whether %s may vote', async (_, more, kind) => {
  slack.member('U1', more)
  gateway = opened(slack)
  await isUp()
  expect(await gateway.app.member('U1')).toEqual(kind ? { refused: kind } : {})
})

it('a record without a flag is unknown, and a record is kept ten minutes', async () => {
  slack.member('U1', { is_bot: undefined })
  slack.member('U2')
  gateway = opened(slack)
  await isUp()
  expect(await gateway.app.member('U1')).toBeUndefined()
  expect(await gateway.app.member('U3')).toBeUndefined()
  expect(await gateway.app.member('U2')).toEqual({})
  slack.member('U2', { deleted: true })
  gateway.tick(10 * 60_000 - 1)
  expect(await gateway.app.member('U2')).toEqual({})
  gateway.tick(1)
  expect(await gateway.app.member('U2')).toEqual({ refused: 'a deactivated member' })
  slack.fail('users.info', { status: 500 })
  await expect(gateway.app.member('U4')).rejects.toThrow('users.info: http_500')
})
