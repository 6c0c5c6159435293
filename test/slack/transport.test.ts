import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { slackTransport } from '../../src/app/chat.ts'
import { SETTINGS, type Config } from '../../src/settings/settings.ts'
import { SLACK, startFakeSlack } from '../chat/fake-slack.ts'
import { call } from '../chat/messages.ts'
import { makeAuthority } from '../webhooks/certificates.ts'
import { opened } from './opened.ts'

/* The way to Slack is the outbound guard; a rehearsal reaches one server of this machine. */

let authority: ReturnType<typeof makeAuthority>
const read = (name: string): string => readFileSync(join(authority.directory, name), 'utf8')
beforeAll(() => {
  authority = makeAuthority()
  authority.issue('slack', { names: ['IP:127.0.0.1'] })
})
afterAll(() => rmSync(authority.directory, { recursive: true, force: true }))

const config = (given: Partial<Config>): Config => given as Config
const IDLE = { method: 'POST', headers: {}, deadlineMs: 1_000 }

it('speaks through the guard, with TLS, to the address that the guard permits', async () => {
  const slack = await startFakeSlack({ tls: { key: read('slack.key'), cert: read('slack.crt') } })
  const webhooksAllow = SETTINGS.webhooksAllow.parse(`127.0.0.1/32:${new URL(slack.url).port}`)
  const gateway = opened(slack, undefined, slackTransport(config({ webhooksAllow }), { ca: read('ca.crt') }))
  await slack.until(() => slack.sockets.size === 1)
  await gateway.app.send({ channel: SLACK.channel }, call(), new AbortController().signal)
  expect(await slack.click().acknowledged).toEqual({})
  await vi.waitFor(() => expect(gateway.results).toEqual(['counted']))
  await gateway.app.close()
  // without the permission, the same server is refused
  const strict = opened(slack, undefined, slackTransport(config({}), { ca: read('ca.crt') }))
  await vi.waitFor(() => expect(strict.troubles[0]).toBe('auth.test: refused_url'))
  await strict.app.close()
  await slack.close()
})

it.each([
  'ws://wss.slack.com/link',
  'wss://127.0.0.1/link',
  'wss://169.254.169.254/',
  'wss://slack.internal/',
])('refuses to connect to %s', async (url) => {
  await expect((async () => slackTransport(config({})).open(url))()).rejects.toThrow()
})

it('a rehearsal reaches its own server only', async () => {
  const { fetch, open, server } = slackTransport(config({ slackServer: 'http://127.0.0.1:9' }))
  expect(server).toBe('http://127.0.0.1:9')
  for (const url of [
    'http://127.0.0.1:10/',
    'https://slack.com/api/auth.test',
    'http://127.0.0.1.evil.example:9/',
  ])
    await expect(fetch(url, IDLE)).rejects.toThrow('only http://127.0.0.1:9 is reached in a rehearsal')
  await expect(open('ws://127.0.0.1:10/')).rejects.toThrow('in a rehearsal')
  expect(await open('ws://127.0.0.1:9/link')).toBeUndefined()
})
