import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StoreIndeterminate, StoreUnavailable } from '../../src/store/store.ts'
import {
  ADMIN_KEY,
  type Agent,
  approved,
  held,
  newTask,
  openWorld,
  overriding,
  type Reviewer,
  SignedIn,
  type World,
} from '../gateway-fixture.ts'
import { IS_LONG } from '../runs.ts'
import { until } from '../until.ts'
import { Browser, CLIENT_ID, CLIENT_SECRET, startProvider, type TestProvider } from '../identity-provider.ts'
import { type Collector, startCollector } from '../telemetry/collector.ts'
import { type Receiver, Receivers } from '../webhooks/receiver.ts'
import { exchange } from './socket.ts'

/*
 * The test sends secrets through every route and every failure, in every place that takes one. No secret appears in a
 * log line, a metric or a refusal. The collector of traces receives no secret.
 */
const CANARY = 'canary-7d1f'
let count = 0
const fresh = (): string => `${CANARY}-${++count}-end`

/** Canaries in names of members. A refusal repeats the name to its sender and to no other reader. */
const names: string[] = []
const freshName = (): string => {
  const one = `${CANARY}-name-${++count}-end`
  names.push(one)
  return one
}

const SITE = 'https://countersign.example'

type Trouble = 'none' | 'away' | 'unsure' | 'broken'
let trouble: Trouble = 'none'

let collector: Collector
let receivers: Receivers
let receiver: Receiver
let provider: TestProvider
let world: World
let bot: Agent
let ann: Reviewer
let signedIn: SignedIn
const refusals: string[] = []
const secrets: string[] = [ADMIN_KEY, CLIENT_SECRET]

beforeAll(async () => {
  collector = await startCollector()
  receivers = new Receivers()
  receiver = await receivers.open()
  provider = await startProvider({ redirectUri: `${SITE}/api/review/oidc/callback` })
  const oidc = new URL(provider.issuer)
  world = await openWorld({
    config: {
      otlpEndpoint: collector.url,
      publicUrl: SITE,
      webhooksAllow: `127.0.0.1/32:${receiver.port},127.0.0.1/32:${oidc.port}`,
      oidcIssuer: provider.issuer,
      oidcClientId: CLIENT_ID,
      oidcClientSecret: CLIENT_SECRET,
    },
    webhooks: { ca: receivers.ca, everyMs: 20, deadlineMs: 10_000 },
    wrapStore: (store) =>
      overriding(store, {
        commit: async (...args) => {
          if (trouble === 'away') throw new StoreUnavailable('away')
          if (trouble === 'unsure') throw new StoreIndeterminate('unsure')
          if (trouble === 'broken') throw new TypeError('broken')
          return store.commit(...args)
        },
      }),
  })
  bot = await world.agent()
  ann = await world.reviewer('ann')
  const link = await world.link('ann')
  secrets.push(bot.key, ann.key, link)
})
afterAll(async () => {
  await world.close()
  await receivers.dispose()
  await provider.close()
  await collector.close()
})

/** A request with any header and body; what refuses it is kept. */
async function send(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string,
): Promise<number> {
  const response = await fetch(world.url + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body }),
    redirect: 'manual',
    signal: AbortSignal.timeout(2_000),
  }).catch(() => undefined)
  if (response === undefined) return 0
  if (path.includes('/stream') && response.ok) {
    await response.body?.cancel()
    return response.status
  }
  const text = await response.text()
  if (response.status >= 300)
    refusals.push(`${text}\n${[...response.headers].filter(([name]) => name !== 'set-cookie').join('\n')}`)
  return response.status
}

interface Route {
  readonly method: string
  readonly path: string
  readonly plane: string
}

const document = JSON.parse(readFileSync(new URL('../../schemas/openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, object>>
}
const ROUTES: Route[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => ({
    method: method.toUpperCase(),
    path: path.replaceAll(/\{\w+\}/g, 'x'),
    plane: path.split('/')[2] ?? 'public',
  })),
)

/** Bodies that hold a canary in every place where one can be. */
function bodies(): string[] {
  const payload = { amount: 500, secret: fresh() }
  return [
    JSON.stringify({ tool_name: 'pay', payload }),
    JSON.stringify({ tool_name: 'pay', payload: { amount: fresh(), [freshName()]: 1, pin: fresh() } }),
    JSON.stringify({
      tool_name: 't',
      payload: { deep: { deeper: fresh() } },
      preview: fresh(),
      images: [fresh()],
    }),
    JSON.stringify({
      signature: fresh(),
      task_id: 'a',
      request_payload: payload,
      thread_id: fresh(),
      action_hash: fresh(),
    }),
    JSON.stringify({
      event_type: 'x',
      event_summary: fresh(),
      payload: { revision: { request_payload: payload } },
    }),
    JSON.stringify({
      decision: fresh(),
      comment: fresh(),
      link: fresh(),
      url: `https://${fresh()}.example/${fresh()}`,
    }),
    JSON.stringify({ [freshName()]: fresh() }),
    `{"tool_name": "t", "payload": {"a": "${fresh()}", "a": "${fresh()}"}}`,
    `{"tool_name": "t", "payload": ${fresh()}}`,
    `"${fresh()}`,
    `${fresh()}`,
    JSON.stringify({ tool_name: 't', payload: { a: fresh().repeat(10_000) } }),
  ]
}

/** Credentials where they belong, and where they do not. */
function credentials(): Record<string, string>[] {
  const good: Record<string, string>[] = [
    { authorization: `Bearer ${bot.key}` },
    { authorization: `Bearer ${ann.key}` },
    { authorization: `Bearer ${ADMIN_KEY}` },
    { ...signedIn.credentials(), origin: SITE },
  ]
  return [
    ...good.map((one) => ({ ...one, traceparent: `00-${'e'.repeat(32)}-${'f'.repeat(16)}-01` })),
    { authorization: `Bearer ${fresh()}` },
    { authorization: `Basic ${fresh()}` },
    { authorization: fresh() },
    { authorization: `Bearer csk_acme_${fresh()}` },
    { 'proxy-authorization': `Bearer ${fresh()}`, 'x-api-key': fresh(), cookie: `${fresh()}=${fresh()}` },
    {
      cookie: `__Host-countersign=${fresh()}`,
      'countersign-page': fresh(),
      origin: `https://${fresh()}.example`,
      referer: fresh(),
    },
    {
      authorization: `Bearer ${bot.key}`,
      'idempotency-key': `${fresh()} with a space`,
      prefer: `wait=${fresh()}`,
      'if-match': fresh(),
      'last-event-id': fresh(),
      'user-agent': fresh(),
      'x-request-id': fresh(),
      traceparent: fresh(),
    },
  ]
}

interface Said {
  /** To those who run the gateway. */
  readonly here: string
  /** To the caller. */
  readonly refused: string
}

async function everything(): Promise<Said> {
  const metrics = await (await fetch(world.app.metricsUrl)).text()
  return {
    here: JSON.stringify({ logged: world.logged, metrics, traces: collector.received }),
    refused: refusals.join('\n'),
  }
}

/** Returns every leak, with a little of the text around it. */
function leaks({ here, refused }: Said): string[] {
  const around = (text: string, at: number): string => text.slice(Math.max(0, at - 200), at + 80)
  const inside = (text: string, pattern: RegExp): string[] =>
    [...text.matchAll(pattern)].map(({ index }) => around(text, index)).slice(0, 5)
  const own = secrets.filter((secret) => here.includes(secret) || refused.includes(secret))
  return [
    ...inside(here, new RegExp(`${CANARY}-(?:name-)?\\d`, 'g')),
    ...inside(refused, new RegExp(`${CANARY}-\\d`, 'g')),
    ...own,
  ]
}

describe('canaries', () => {
  it('canaries leak nowhere in the life cycle of threads, webhooks, sign-ins and rotations', async () => {
    const session = await world.openSession(await world.link('ann'), { origin: SITE })
    expect(session.status).toBe(200)
    signedIn = SignedIn.by(world, session)
    secrets.push(signedIn.key, signedIn.secret)
    const hook = await world.admin<{ id: string; secret: string }>('POST', 'webhooks', {
      body: { tenant: 'acme', url: `${receiver.url}?token=${fresh()}`, payload: 'full' },
    })
    expect(hook.status).toBe(201)
    secrets.push(hook.body.secret)
    receiver.answers(500)
    const payload = { amount: 500, secret: fresh(), to: fresh() }
    const one = await approved(bot, ann, { payload, preview: fresh(), subject: fresh(), summary: [fresh()] })
    secrets.push(one.token)
    const wrong = { task_id: one.task, signature: one.token, request_payload: { amount: 1, secret: fresh() } }
    expect((await bot.validate(wrong)).body.valid).toBe(false)
    expect((await bot.validate({ ...wrong, request_payload: payload })).body.valid).toBe(true)
    expect((await bot.validate({ ...wrong, request_payload: payload })).body.valid).toBe(false)
    const two = await held(bot, { payload })
    await ann.vote(two.thread, { decision: 'request_changes', revision: 1, comment: fresh() })
    await bot.revise(two.task, two.thread, {
      request_payload: { amount: 600, secret: fresh() },
      preview: fresh(),
    })
    await ann.vote(two.thread, { decision: 'reject', revision: 2, comment: fresh() })
    await bot.event(two.task, { event_type: 'note', event_summary: fresh(), payload: { any: fresh() } })
    await until(() => receiver.asked > 0)
    const rotated = await world.admin<{ secret: string }>('POST', `webhooks/${hook.body.id}/rotate-secret`, {
      body: { tenant: 'acme' },
    })
    secrets.push(rotated.body.secret)
    const again = await world.agent()
    secrets.push(again.key)
    expect((await bot.submit(newTask(), { tool_name: 't' })).status).toBe(401)
    bot = again
    expect(leaks(await everything())).toEqual([])
  })

  it('canaries leak nowhere in refused and failing single sign-on', async () => {
    const browser = new Browser()
    provider.person = { sub: fresh(), email: 'nobody@acme.example', email_verified: true }
    for (const refuses of [false, true]) {
      provider.refuses = refuses
      const { url } = await browser.go(`${world.url}${browser.start}`, ({ href }) => href.startsWith(SITE))
      const { status, headers } = await browser.ask(`${world.url}${url.pathname}${url.search}`)
      expect([status, headers.get('location')]).toEqual([303, expect.stringContaining('problem=')])
      secrets.push(url.searchParams.get('code') ?? url.searchParams.get('state') ?? 'none')
    }
    await send('GET', `/api/review/oidc/callback?code=${fresh()}&state=${fresh()}`, {
      cookie: `__Host-countersign-oidc=${fresh()}`,
    })
    expect(leaks(await everything())).toEqual([])
  })

  it.each(['none', 'away', 'unsure', 'broken'] as const)(
    'canaries leak nowhere on any route, with any credential and body, while the store has the state: %s',
    async (now) => {
      trouble = now
      const every = IS_LONG ? 1 : now === 'none' ? 3 : 12
      const statuses = new Set<number>()
      try {
        for (const [at, { method, path }] of ROUTES.entries()) {
          const query =
            method === 'GET'
              ? `?thread_id=${fresh()}&token=${fresh()}&search=${fresh()}&cursor=${fresh()}`
              : ''
          const tried = method === 'GET' || method === 'DELETE' ? [undefined] : bodies()
          // each credential with some of the bodies at a route, and with others at the next
          const asked = credentials().flatMap((headers, i) =>
            tried
              .filter((_, of) => tried.length === 1 || of % every === (at + i) % every)
              .map((body) => send(method, path + query, headers, body)),
          )
          for (const status of await Promise.all(asked)) statuses.add(status)
        }
      } finally {
        trouble = 'none'
      }
      expect([...statuses]).toEqual(expect.arrayContaining([400, 401, 404]))
      if (now !== 'none') expect([...statuses]).toContain(now === 'broken' ? 500 : 503)
      expect(leaks(await everything())).toEqual([])
    },
  )

  it('canaries leak nowhere in malformed HTTP, in paths, and on unknown routes', async () => {
    const pieces = [
      `GET /${fresh()} HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET /api/agent/decisions?thread_id=${fresh()} HTTP/1.1\r\nHost: ${fresh()}\r\nHost: y\r\n\r\n`,
      `${fresh()} / HTTP/1.1\r\n\r\n`,
      `GET / HTTP/1.1\r\n${fresh()}\r\n\r\n`,
      `POST /api/agent/tasks/a/requests HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${bot.key}\r\nAuthorization: Bearer ${fresh()}\r\nContent-Length: 2\r\n\r\n{}`,
      `POST /api/agent/tasks/a/requests HTTP/1.1\r\nHost: x\r\nContent-Length: ${fresh()}\r\n\r\n`,
      `GET /api/agent/decisions HTTP/1.1\r\nHost: x\r\nX: ${fresh().repeat(2_000)}\r\n\r\n`,
    ]
    for (const text of pieces) refusals.push((await exchange(world.url, [text])).text)
    expect(refusals.filter((text) => text.startsWith('HTTP/1.1 4')).length).toBeGreaterThanOrEqual(
      pieces.length - 1,
    )
    expect(leaks(await everything())).toEqual([])
  })

  it('the search finds a planted canary (the test can fail), and traces were sent', async () => {
    await until(() => collector.spans.some(({ name }) => name === 'countersign redeem'))
    const { here, refused } = await everything()
    expect(leaks({ here: `${here} ${bot.key}`, refused })).toHaveLength(1)
    expect(leaks({ here, refused: `${refused} ${bot.key}` })).toHaveLength(1)
    expect(leaks({ here: `${here} ${names[0]}`, refused })).toHaveLength(1)
    expect(leaks({ here, refused })).toEqual([])
    expect(names.some((name) => refused.includes(name))).toBe(true)
    expect(count).toBeGreaterThan(1_000)
    expect(leaks({ here: fresh(), refused: fresh() })).toHaveLength(2)
  })
})
