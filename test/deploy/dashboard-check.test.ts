import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WebhookSecret } from '../../src/contract/webhook.ts'
import { ALL } from '../../src/gateway/core/expiry-index.ts'
import { put, SYSTEM } from '../../src/gateway/core/records.ts'
import { openSlackWorld, type SlackWorld } from '../chat/slack-world.ts'
import { ensureProgram, INSTALL_MS } from '../debian.ts'
import {
  type Agent,
  approved,
  edited,
  HASH,
  held,
  HOUR,
  MINUTE,
  newTask,
  type Reviewer,
  SECOND,
  type World,
} from '../gateway-fixture.ts'
import { until } from '../until.ts'
import { Receivers } from '../webhooks/receiver.ts'
import type { Loose } from './files.ts'
import { PrometheusServer } from './prometheus-server.ts'
import { asked, dashboardOf, DASHBOARDS, panelsOf, SPECS } from './promql.ts'
import { ALERTS, RULES } from './rules.ts'

/*
 * The dashboard check. A real Prometheus scrapes a real gateway, on which every event of the dashboards happens. Every
 * query of every panel and variable must then return data.
 */

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const TRACED = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` }

const receivers = new Receivers()
let chat: SlackWorld
let world: World
let prometheus: PrometheusServer
const open = new AbortController()

beforeAll(async () => {
  ensureProgram('prometheus', 'prometheus')
  const [up, down, paused] = await Promise.all([receivers.open(), receivers.open(), receivers.open()])
  down.answers(500)
  const webhooksAllow = [up, down, paused].map(({ port }) => `127.0.0.1/32:${port}`).join(',')
  chat = await openSlackWorld({
    files: UNSURE,
    config: { webhooksAllow },
    webhooks: { everyMs: 20, deadlineMs: 10_000, ca: receivers.ca },
  })
  ;({ world } = chat)
  // the first scrape counts them
  await sizes()
  prometheus = await PrometheusServer.start(world.app.metricsUrl)
  // what happens before the first scrape is in no rate
  await until(async () => (await prometheus.numberOf('countersign_ready')) === 1)
  for (const { url } of [up, down]) await register(url)
  const { id } = await register(paused.url)
  await world.admin('POST', `webhooks/${id}/pause`, { body: {} })
  await everything()
  await scraped()
}, INSTALL_MS)

afterAll(async () => {
  open.abort()
  await prometheus?.stop()
  await chat?.close()
  await receivers.dispose()
})

async function register(url: string): Promise<WebhookSecret> {
  const { body } = await world.admin<WebhookSecret>('POST', 'webhooks', { body: { tenant: 'acme', url } })
  return body
}

/** A tool with a rule that cannot be checked when agents leave the amount out, and a command without its files. */
const UNSURE = {
  'tools/hold.yaml': `tool: hold
description: Takes an amount, or none.
risk: low
input_schema:
  type: object
  properties:
    amount: { type: integer }
    command: { type: string }
`,
  'rules/hold.yaml': `tool: hold
rules:
  - id: hold-always
    review: People look at this.
  - id: hold-large
    review: Large ones are looked at, too.
    when:
      payload.amount: { over: 1000 }
`,
}

/** Everything that the gateway counts, at least once. */
async function everything(): Promise<void> {
  const bot = await world.agent()
  const [ann, ben] = [await world.reviewer('ann'), await world.reviewer('ben')]
  await decisions(bot)
  await reviews(bot, ann)
  await proofs(bot, ann)
  await signIns(ben)
  await untilDelivered()
  await time(bot, ann)
  await policies(bot, ann)
  // held while Prometheus looks
  const { thread } = await held(bot, { payload: { amount: 300 } })
  void keepsOpen(() =>
    bot.poll({ thread_id: thread }, { headers: { prefer: 'wait=55' }, signal: open.signal }),
  )
  void keepsOpen(async () => {
    const headers = ann.credentials()
    const { body } = await fetch(`${world.url}/api/review/stream`, { headers, signal: open.signal })
    // fetch ends an unread body when its answer is collected as garbage
    for await (const _ of body ?? []);
  })
}

/** Repeats `ask` until the test ends: a connection about to be closed may end it early. */
async function keepsOpen(ask: () => Promise<unknown>): Promise<void> {
  while (!open.signal.aborted) await ask().catch(() => undefined)
}

async function decisions(bot: Agent): Promise<void> {
  for (let i = 0; i < 20; i++)
    await bot.submit(newTask(), { tool_name: 'pay', payload: { amount: i + 1 } }, TRACED)
  for (const [tool_name, payload] of [
    ['pay', { amount: 200_000 }],
    ['bare', {}],
    ['nobody.knows.it', {}],
    ['private', {}],
    ['hold', {}],
    ['hold', { command: 'sh deploy.sh' }],
    ['pay', { amount: 'much' }],
  ] as const)
    await bot.submit(newTask(), { tool_name, payload }, TRACED)
  const task = newTask()
  const body = { tool_name: 'pay', payload: { amount: 5 } }
  for (let i = 0; i < 2; i++) await bot.submit(task, body, { 'idempotency-key': 'k' })
}

async function reviews(bot: Agent, ann: Reviewer): Promise<void> {
  for (const decision of ['approve', 'reject', 'request_changes']) {
    const { task, thread } = await held(bot)
    world.clock.advance(SECOND)
    await ann.show(thread)
    world.clock.advance(SECOND)
    await ann.vote(thread, { decision, revision: 1, comment: 'c' })
    await bot.revise(task, thread, { request_payload: { amount: 300 } })
  }
}

async function proofs(bot: Agent, ann: Reviewer): Promise<void> {
  const { task, thread, payload, token } = await approved(bot, ann, { action_hash: HASH })
  const proof = {
    task_id: task,
    signature: token,
    thread_id: thread,
    action_hash: HASH,
    request_payload: payload,
  }
  for (const body of [{ ...proof, task_id: 'another' }, proof, proof]) await bot.validate(body)
}

async function signIns(ben: Reviewer): Promise<void> {
  const signedIn = await world.signIn('ann')
  const { thread } = await held(await world.agent('other'))
  await signedIn.approve(thread)
  await world.openSession(`csl_acme_${'x'.repeat(49)}`)
  await ben.show(`thr_${'0'.repeat(26)}`)
}

/** A clock that jumps over a lease makes a try come twice. */
async function untilDelivered(): Promise<void> {
  const waiting = 'countersign_webhook_tries_total{result="delivered",code="2xx"}'
  await until(async () => {
    const text = await (await fetch(world.app.metricsUrl)).text()
    return (
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${waiting} `))
          ?.split(' ')[1],
      ) > 10
    )
  })
}

async function time(bot: Agent, ann: Reviewer): Promise<void> {
  await held(bot, { payload: { amount: 20_000 } })
  const uncollected = await held(bot)
  await ann.approve(uncollected.thread)
  for (const ms of [20 * MINUTE, 20 * MINUTE, 9 * HOUR]) {
    world.clock.advance(ms)
    await world.due()
  }
}

/** The second of two measurements of the store, which has grown. */
async function sizes(): Promise<void> {
  const { deps } = world.app
  const kinds = { evidence: { count: 9, bytes: 900, growth: 90, last_day: 3 } }
  const measured = put('sizes', ALL, { at: deps.store.now(), claimed_until: 0, kinds })
  const commit = { commitId: 'sizes', deadline: deps.store.now() + MINUTE, guards: [], events: [] }
  expect(await deps.store.commit(SYSTEM, { ...commit, writes: [measured] })).toMatchObject({ ok: true })
}

/** A reload that works and ends an approval, and one that fails. */
async function policies(bot: Agent, ann: Reviewer): Promise<void> {
  const { thread } = await held(bot, { payload: { amount: 500 } })
  await ann.approve(thread)
  await world.changePolicies(
    edited('rules/pay.yaml', 'payload.amount: { over: 100000 }', 'payload.amount: { over: 400 }'),
  )
  await bot.poll({ thread_id: thread })
  await world.changePolicies({ 'rules/pay.yaml': 'nonsense' })
}

/** Waits until Prometheus has scraped the held poll, the open stream, and the state of the policy. */
async function scraped(): Promise<void> {
  for (const query of ['countersign_polls_held', 'countersign_review_streams', 'countersign_policy_stale'])
    await until(async () => (await prometheus.numberOf(query)) === 1)
  await until(async () => (await prometheus.rules()).every(({ health }) => health !== 'unknown'))
}

const problemsOf = async (queries: readonly string[]): Promise<[string, string][]> => {
  const found = await Promise.all(
    queries.map(async (query) => [query, await prometheus.problemOf(asked(query, '10m'))] as const),
  )
  return found.flatMap(([query, problem]) => (problem === undefined ? [] : [[query, problem]]))
}

describe('dashboards over all possible data in a real Prometheus', () => {
  it.each(DASHBOARDS)('shows data in every panel of %s', async (board) => {
    const panels = panelsOf(board)
    expect(panels.length).toBeGreaterThan(10)
    for (const { title, queries } of panels) expect([title, await problemsOf(queries)]).toEqual([title, []])
  })

  it.each(DASHBOARDS)('offers a choice for every variable of %s', async (board) => {
    const variables = (dashboardOf(board).templating.list as Loose[]).filter(({ type }) => type === 'query')
    expect(variables).toHaveLength(2)
    for (const { name, definition } of variables)
      expect([name, await prometheus.valuesOf(asked(definition as string))]).toEqual([
        name,
        [name === 'job' ? 'countersign' : new URL(world.app.metricsUrl).host],
      ])
  })

  it('reports an unknown metric or variable, and an unclosed brace (the check itself can fail)', async () => {
    const [query = ''] = panelsOf('overview').find(({ title }) => title === 'Decisions')?.queries ?? []
    expect(await problemsOf([query])).toEqual([])
    const misspelt = query.replace('countersign_evaluations_total', 'countersign_evaluatoins_total')
    expect(await problemsOf([misspelt])).toEqual([[misspelt, 'finds nothing']])
    const torn = query.replace('}', '')
    expect(await problemsOf([torn])).toEqual([[torn, expect.stringContaining('is refused')]])
    const empty = 'histogram_quantile(0.5, countersign_webhook_try_duration_seconds_bucket * 0)'
    expect(await problemsOf([empty])).toEqual([[empty, 'finds no number']])
    expect(await prometheus.valuesOf('label_values(countersign_build_inof, job)')).toEqual([])
  })

  it('contains every metric of the table', async () => {
    const missing = []
    for (const { name, kind } of SPECS) {
      const problem = await prometheus.problemOf(kind === 'histogram' ? `${name}_count` : name)
      if (problem !== undefined) missing.push(name)
    }
    expect(missing).toEqual([])
  })

  it('links exemplars to the trace of a call, and to the thread of a review', async () => {
    for (const series of [
      'countersign_evaluations_total',
      'countersign_http_request_duration_seconds_bucket',
    ])
      expect(await prometheus.exemplarsOf(series)).toContainEqual({ trace_id: TRACE })
    const threads = await prometheus.exemplarsOf('countersign_review_duration_seconds_bucket')
    expect(threads.length).toBeGreaterThan(0)
    for (const labels of threads) expect(Object.keys(labels)).toEqual(['thread_id'])
  })

  it('evaluated every rule without an error', async () => {
    const rules = await prometheus.rules()
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
    expect(rules.map(({ name }) => name).toSorted()).toEqual(
      RULES.map(({ alert, record }) => alert ?? record ?? '').toSorted(),
    )
    expect(ALERTS.length).toBeGreaterThan(20)
  })
})
