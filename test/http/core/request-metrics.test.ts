import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { METRICS, mostSeries } from '../../../src/metrics/table.ts'
import { agentWorld, ann, bot, world } from '../../agent-world.ts'
import { held, newTask, SECOND } from '../../gateway-fixture.ts'
import { until } from '../../until.ts'

agentWorld()

async function metrics(accept = 'text/plain'): Promise<string> {
  return (await fetch(world.app.metricsUrl, { headers: { accept } })).text()
}

/** The value of a series. `series` has the labels as they are written out. */
async function value(series: string): Promise<number> {
  const line = (await metrics()).split('\n').find((one) => one.startsWith(`${series} `))
  return Number(line?.slice(series.length + 1) ?? Number.NaN)
}

/** How much `act` adds to a series. */
async function added(series: string, act: () => Promise<unknown>): Promise<number> {
  const before = (await value(series)) || 0
  await act()
  return (await value(series)) - before
}

const WAITING = { headers: { prefer: 'wait=50' } }

describe('metrics of requests', () => {
  it('has series for every operation of the API from the start, and spare room', async () => {
    const text = await metrics()
    const known = [
      ...text.matchAll(
        /^countersign_http_request_duration_seconds_count\{method="(\w+)",route="([^"]+)"\}/gm,
      ),
    ]
    const shape = (method: string, path: string): string =>
      `${method} ${path.replaceAll(/:\w+|\{\w+\}/g, ':')}`.toUpperCase()
    const shapes = known.map(([, method = '', route = '']) => shape(method, route))
    const { paths } = JSON.parse(
      readFileSync(new URL('../../../schemas/openapi.json', import.meta.url), 'utf8'),
    ) as {
      paths: Record<string, object>
    }
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => shape(method, path)),
    )
    expect(operations.length).toBeGreaterThan(30)
    expect(operations.filter((operation) => !shapes.includes(operation))).toEqual([])
    expect(shapes.length).toBeLessThan(mostSeries(METRICS.httpSeconds) - 8)
    expect(text).toContain('countersign_metrics_folded_total 0\n')
  })

  it('counts every revision, accepted or refused', async () => {
    const { task, thread } = await held(bot)
    const revise = (amount: number) => () => bot.revise(task, thread, { request_payload: { amount } })
    expect(await added('countersign_revisions_total{result="accepted"}', revise(600))).toBe(1)
    expect(await added('countersign_revisions_total{result="rejected"}', revise(0))).toBe(1)
  })

  it('counts every answer by route and status, and every refusal by its code', async () => {
    const route = 'method="GET",route="/api/agent/decisions"'
    const act = () => bot.poll({ thread_id: `thr_${'0'.repeat(26)}` })
    expect(await added(`countersign_http_requests_total{${route},status="404"}`, act)).toBe(1)
    expect(await added('countersign_problems_total{code="not_found"}', act)).toBe(1)
    expect(await added(`countersign_http_request_duration_seconds_count{${route}}`, act)).toBe(1)
  })

  it('counts requests without a route, whatever their path and method', async () => {
    const none = 'countersign_http_requests_total{method="GET",route="none",status="404"}'
    await fetch(`${world.url}/first`)
    expect(await added(none, () => fetch(`${world.url}/second`))).toBe(1)
    const strange = 'countersign_http_requests_total{method="_other",route="none",status="404"}'
    await fetch(`${world.url}/x`, { method: 'OPTIONS' })
    expect(await added(strange, () => fetch(`${world.url}/x`, { method: 'PATCH' }))).toBe(1)
  })

  it('counts input that is not HTTP', async () => {
    const { port } = new URL(world.url)
    const talk = () =>
      new Promise((resolve) => {
        const socket = connect(Number(port), '127.0.0.1', () => socket.write('nonsense\r\n\r\n'))
        socket.resume().once('close', resolve)
      })
    expect(await added('countersign_problems_total{code="invalid_request"}', talk)).toBe(1)
  })

  it('counts polls while they are held, and callers who disconnect before the answer', async () => {
    const { thread } = await held(bot, { payload: { amount: 500 } })
    const gone = new AbortController()
    const poll = bot.poll({ thread_id: thread }, { ...WAITING, signal: gone.signal }).catch(() => undefined)
    await until(async () => (await value('countersign_polls_held')) === 1)
    expect(await value('countersign_http_requests_in_flight')).toBe(1)
    expect(await value('countersign_http_connections')).toBeGreaterThanOrEqual(1)
    const aborted = await value('countersign_http_requests_aborted_total')
    gone.abort()
    await poll
    await until(async () => (await value('countersign_polls_held')) === 0)
    await until(async () => (await value('countersign_http_requests_in_flight')) === 0)
    expect(await value('countersign_http_requests_aborted_total')).toBe(aborted + 1)
  })

  it('counts review streams while they are open', async () => {
    const end = new AbortController()
    const { status } = await fetch(`${world.url}/api/review/stream`, {
      headers: ann.credentials(),
      signal: end.signal,
    })
    expect(status).toBe(200)
    expect(await value('countersign_review_streams')).toBe(1)
    expect(await value('countersign_polls_held')).toBe(0)
    end.abort()
    await until(async () => (await value('countersign_review_streams')) === 0)
  })

  it('shows the trace of a call in exemplars, for a scraper that reads them', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const traceparent = `00-${trace}-00f067aa0ba902b7-01`
    await bot.submit(newTask(), { tool_name: 'pay', payload: { amount: 5 } }, { traceparent })
    const text = await metrics('application/openmetrics-text')
    const named = text.split('\n').filter((line) => line.includes(`# {trace_id="${trace}"}`))
    const names = named.map((line) => /^\w+/.exec(line)?.[0] ?? '')
    expect(names.toSorted()).toEqual([
      'countersign_evaluation_duration_seconds_bucket',
      'countersign_evaluations_total',
      'countersign_http_request_duration_seconds_bucket',
    ])
    expect(await metrics()).not.toContain(trace)
  })
})

describe('metrics of decisions and reviews', () => {
  it('an answer that is repeated for its Idempotency-Key counts as a replay, not as a decision', async () => {
    const task = newTask()
    const body = { tool_name: 'pay', payload: { amount: 500 } }
    const submit = () => bot.submit(task, body, { 'idempotency-key': 'k' })
    await submit()
    expect(await added('countersign_idempotent_replays_total{decision="review"}', submit)).toBe(1)
    expect(
      await added('countersign_evaluations_total{decision="review",risk="low",tool="pay"}', submit),
    ).toBe(0)
  })

  it("measures a voter's time since the revision arrived, was shown, or was claimed", async () => {
    const under = (seconds: string) =>
      `countersign_vote_attention_seconds_bucket{le="${seconds}",decision="approve"}`
    const shown = await held(bot, { payload: { amount: 500 } })
    world.clock.advance(600 * SECOND)
    await ann.show(shown.thread)
    world.clock.advance(2 * SECOND)
    await ann.show(shown.thread)
    expect(await added(under('2.5'), () => ann.approve(shown.thread))).toBe(1)

    const claimed = await held(bot, { payload: { amount: 500 } })
    world.clock.advance(600 * SECOND)
    await ann.call('POST', `threads/${claimed.thread}/claim`, { body: {} })
    world.clock.advance(20 * SECOND)
    const tenToThirty = async () => (await value(under('30'))) - (await value(under('10')))
    const before = await tenToThirty()
    await ann.approve(claimed.thread)
    expect((await tenToThirty()) - before).toBe(1)

    const unseen = await held(bot, { payload: { amount: 500 } })
    world.clock.advance(600 * SECOND)
    expect(await added(under('300'), () => ann.approve(unseen.thread))).toBe(0)
    expect(await value(under('900'))).toBeGreaterThanOrEqual(3)
  })

  it('counts sign-ins and failed sign-ins', async () => {
    const ok = 'countersign_sign_ins_total{via="link",result="ok"}'
    expect(await added(ok, () => world.signIn('ann'))).toBe(1)
    const refused = 'countersign_sign_ins_total{via="link",result="refused"}'
    expect(await added(refused, () => world.openSession(`csl_acme_${'x'.repeat(49)}`))).toBe(1)
  })
})
