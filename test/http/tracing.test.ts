import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Agent,
  approved,
  held,
  newTask,
  openWorld,
  overriding,
  type Reviewer,
  REVIEWED,
  type World,
} from '../gateway-fixture.ts'
import { OPERATIONS } from '../../src/contract/operations/operations.ts'
import { workOf } from '../../src/gateway/core/trace-context.ts'
import { until } from '../until.ts'
import { type Collector, type Span, startCollector } from '../telemetry/collector.ts'
import { Receivers } from '../webhooks/receiver.ts'
import { stopwatch } from '../stopwatch.ts'

/** Traces (docs/operations.md): the trace of an agent continues through review, redemption and delivery. */

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`
const UNSAMPLED = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-00`

let collector: Collector
let world: World
let bot: Agent
let ann: Reviewer

beforeAll(async () => {
  collector = await startCollector()
  world = await openWorld({ config: { otlpEndpoint: collector.url } })
  bot = await world.agent()
  ann = await world.reviewer('ann')
})
afterAll(async () => {
  await world.close()
  await collector.close()
})

const find = async (fits: (span: Span) => boolean): Promise<Span> => {
  await until(() => collector.spans.some(fits))
  return collector.spans.find(fits) as Span
}
const spanOf = (name: string, thread: string): Promise<Span> =>
  find((span) => span.name === `countersign ${name}` && span.attributes['thread_id'] === thread)
const idOf = ({ traceId, spanId }: Span): { traceId: string; spanId: string } => ({ traceId, spanId })
const linksOf = ({ links }: Span): { traceId: string; spanId: string }[] =>
  links.map(({ traceId, spanId }) => ({ traceId, spanId }))

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}

describe('a call whose caller did not wait for the answer', () => {
  it.each([
    ['while it is committed', TRACEPARENT],
    ['in no trace of its own', undefined],
  ])('is a span like every other call: %s', async (_, traceparent) => {
    const held = deferred()
    const begun = deferred()
    const own = await openWorld({
      config: { otlpEndpoint: collector.url },
      wrapStore: (store) =>
        overriding(store, {
          commit: async (tenant, commit) => {
            if (commit.events.some((event) => event.includes('review.pending'))) {
              begun.resolve()
              await held.promise
            }
            return store.commit(tenant, commit)
          },
        }),
    })
    try {
      const task = newTask()
      const agent = await own.agent()
      const leaving = new AbortController()
      const call = fetch(`${own.app.url}/api/agent/tasks/${task}/requests`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${agent.key}`,
          'content-type': 'application/json',
          ...(traceparent && { traceparent }),
        },
        body: JSON.stringify({ workflow_name: 'w', tool_name: 'pay', payload: REVIEWED }),
        signal: leaving.signal,
      })
      await begun.promise
      leaving.abort()
      await expect(call).rejects.toThrow('abort')
      await until(async () =>
        /requests_aborted_total 1$/m.test(await (await fetch(own.app.metricsUrl)).text()),
      )
      held.resolve()
      const span = await find(({ attributes }) => attributes['task_id'] === task)
      expect([span.name, span.attributes['event']]).toEqual(['countersign submit', 'review.pending'])
    } finally {
      await own.close()
    }
  })
})

describe('a trace', () => {
  it('shows six kinds of requests, each of the operations of its name, and no other operation', () => {
    const shown = Object.keys(OPERATIONS).flatMap((id) => (workOf(id) ? [`${id}: ${workOf(id)}`] : []))
    const alike = ['submit', 'poll', 'redeem', 'reissue', 'vote'].map((id) => `${id}: ${id}`)
    expect(shown.toSorted()).toEqual([...alike, 'report: revise', 'vote_together: vote'].toSorted())
  })

  it("an agent's trace contains evaluation, collection and redemption, and the vote links to it", async () => {
    const task = newTask()
    const headers = { traceparent: TRACEPARENT, tracestate: 'vendor=abc,other=1' }
    const { body } = await bot.submit(task, { tool_name: 'pay', payload: REVIEWED }, headers)
    const thread = body.thread_id ?? ''
    expect((await ann.approve(thread)).status).toBe(200)
    const { approval_token } = (await bot.poll({ thread_id: thread })).body
    await bot.validate({ task_id: task, signature: approval_token, request_payload: REVIEWED })

    const evaluated = await spanOf('submit', thread)
    expect([evaluated.traceId, evaluated.parentSpanId]).toEqual([TRACE, PARENT])
    expect(evaluated.traceState).toBe('vendor=abc,other=1')
    expect(evaluated.attributes).toMatchObject({ event: 'review.pending', tool: 'pay', task_id: task })
    const vote = await spanOf('vote', thread)
    expect(vote.traceId).not.toBe(TRACE)
    expect(linksOf(vote)).toEqual([idOf(evaluated)])
    for (const name of ['poll', 'redeem']) {
      const span = await spanOf(name, thread)
      expect([name, span.traceId, span.parentSpanId]).toEqual([name, TRACE, evaluated.spanId])
    }
  })

  it('a later call keeps its own trace, which is linked', async () => {
    const { thread } = await held(bot)
    await ann.approve(thread)
    await bot.poll({ thread_id: thread }, { headers: { traceparent: TRACEPARENT } })
    const evaluated = await spanOf('submit', thread)
    const collected = await spanOf('poll', thread)
    expect([collected.traceId, collected.parentSpanId]).toEqual([TRACE, PARENT])
    expect(linksOf(collected)).toEqual([idOf(evaluated)])
  })

  it('begins at the gateway when the agent sends none; polls without news are not in it', async () => {
    const { thread } = await held(bot)
    for (let i = 0; i < 3; i++) await bot.poll({ thread_id: thread })
    await ann.approve(thread)
    await bot.poll({ thread_id: thread })
    await bot.poll({ thread_id: thread })
    const evaluated = await spanOf('submit', thread)
    expect(evaluated.parentSpanId).toBeUndefined()
    const collected = await spanOf('poll', thread)
    expect([collected.traceId, collected.parentSpanId]).toEqual([evaluated.traceId, evaluated.spanId])
    const other = await held(bot)
    await spanOf('submit', other.thread)
    const polls = collector.spans.filter(({ name }) => name === 'countersign poll')
    expect(polls.filter(({ attributes }) => attributes['thread_id'] === thread)).toHaveLength(1)
  })

  it('a trace that the agent does not sample is kept with the thread and not recorded; an invalid one is dropped', async () => {
    const odd = [
      'nonsense',
      `00-${'0'.repeat(32)}-${PARENT}-01`,
      `00-${TRACE}-${'0'.repeat(16)}-01`,
      `${TRACEPARENT}, ${TRACEPARENT}`,
    ]
    for (const traceparent of odd) {
      const { thread } = await heldIn(traceparent)
      const span = await spanOf('submit', thread)
      expect(span.parentSpanId).toBeUndefined()
    }
    const { thread } = await heldIn(UNSAMPLED)
    await ann.approve(thread)
    const vote = await spanOf('vote', thread)
    expect(linksOf(vote)).toEqual([{ traceId: '1'.repeat(32), spanId: '2'.repeat(16) }])
    expect(collector.spans.filter(({ traceId }) => traceId === '1'.repeat(32))).toEqual([])
  })

  it('contains refusals: internal failures are errors, other refusals are not', async () => {
    const task = newTask()
    const { status } = await bot.submit(
      task,
      { tool_name: 'pay', payload: { amount: 'none' } },
      {
        traceparent: `00-${'3'.repeat(32)}-${PARENT}-01`,
      },
    )
    expect(status).toBe(400)
    const span = await find(({ traceId }) => traceId === '3'.repeat(32))
    expect(span.attributes['error.type']).toBe('invalid_policy_input')
    expect(span.status.code ?? 0).toBe(0)
  })

  it('is in every log line of its requests, with the request id of the answer', async () => {
    const task = newTask()
    const headers = { traceparent: TRACEPARENT }
    const answer = await bot.submit(task, { tool_name: 'pay', payload: REVIEWED }, headers)
    const id = answer.headers.get('countersign-request') ?? ''
    expect(id).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    const lines = world.logged.map((line) => JSON.parse(line) as Record<string, unknown>)
    const own = lines.filter(({ task_id }) => task_id === task)
    expect(own.map(({ event, request, trace_id }) => ({ event, request, trace_id }))).toEqual([
      { event: 'review.pending', request: id, trace_id: TRACE },
    ])
    const refused = await bot.submit('a b', { tool_name: 'pay' })
    expect(refused.headers.get('countersign-request')).not.toBe(id)
    expect(refused.headers.get('countersign-request')).not.toBeNull()
  })
})

/** Held, with what the agent says of its trace. */
async function heldIn(traceparent: string): Promise<{ thread: string }> {
  const { body } = await bot.submit(newTask(), { tool_name: 'pay', payload: REVIEWED }, { traceparent })
  return { thread: body.thread_id ?? '' }
}

describe('a delivery', () => {
  it('is its own span that links to the evaluation, and sends no trace to the receiver', async () => {
    const receivers = new Receivers()
    const receiver = await receivers.open()
    const own = await openWorld({
      config: { otlpEndpoint: collector.url, webhooksAllow: `127.0.0.1/32:${receiver.port}` },
      webhooks: { ca: receivers.ca, everyMs: 20, deadlineMs: 5_000 },
    })
    try {
      await own.admin('POST', 'webhooks', { body: { tenant: 'acme', url: receiver.url } })
      const { thread } = await held(await own.agent(), {})
      const evaluated = await spanOf('submit', thread)
      const delivered = await spanOf('deliver', thread)
      expect(delivered.traceId).not.toBe(evaluated.traceId)
      expect(linksOf(delivered)).toEqual([idOf(evaluated)])
      expect(JSON.stringify(delivered)).not.toContain(new URL(receiver.url).host)
      expect(receiver.got).toHaveLength(1)
      for (const { headers } of receiver.got)
        expect(Object.keys(headers).filter((name) => /^trace|baggage/.test(name))).toEqual([])
    } finally {
      await own.close()
      await receivers.dispose()
    }
  })
})

describe('a collector', () => {
  it('a collector that is missing or never answers delays no decision, and is reported once', async () => {
    const silent = await startCollector({ answers: false })
    const gone = await startCollector()
    await gone.close()
    for (const otlpEndpoint of [gone.url, silent.url]) {
      const own = await openWorld({ config: { otlpEndpoint } })
      const [agent, reviewer] = [await own.agent(), await own.reviewer('ann')]
      for (let i = 0; i < 200; i++)
        expect((await agent.submit(newTask(), { tool_name: 't' })).body.status).toBe('allow')
      await approved(agent, reviewer)
      if (otlpEndpoint === gone.url) await until(() => saidAway(own) > 0)
      const tookMs = stopwatch()
      await own.close()
      expect(tookMs()).toBeLessThan(4_000)
      expect(saidAway(own)).toBeLessThanOrEqual(1)
    }
    await silent.close()
  })

  it('a collector that is off receives nothing', async () => {
    const before = collector.received.length
    const own = await openWorld()
    const answer = await (
      await own.agent()
    ).submit(newTask(), { tool_name: 't' }, { traceparent: TRACEPARENT })
    expect(answer.body.status).toBe('allow')
    await own.close()
    expect(collector.received.slice(before).filter((text) => text.includes(answer.body.task_id))).toEqual([])
  })
})

const saidAway = ({ logged }: World): number =>
  logged.filter((line) => line.includes('spans cannot be sent')).length
