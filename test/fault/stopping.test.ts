import { Agent, type ClientRequest, request as httpRequest } from 'node:http'
import { describe, expect, it } from 'vitest'
import { startRedis } from '../redis/server.ts'
import { startCollector } from '../telemetry/collector.ts'
import { stopwatch } from '../stopwatch.ts'
import {
  evidenceAfter,
  type Gateway,
  inDirectory,
  LARGE_CENTS,
  SMALL_CENTS,
  startGateway,
  transfer,
  TRANSFER_PATH,
} from './gateway.ts'
import { until } from '../until.ts'

/*
 * SIGTERM under load. Clients keep their connections and honour `Connection: close`. They continue until the gateway
 * accepts no new connection. Every request on an accepted connection gets its correct answer.
 */
const CLIENTS = 48
const HELD_POLLS = 16
const BEFORE_STOPPING = 300
const MOST_MS = 10_000

interface Sent {
  readonly task: string
  readonly status: number | 'refused' | 'reset'
  /** The connection had carried an answer before. */
  readonly reused: boolean
  readonly decision?: unknown
}

/** One evaluation over `agent`; an answer, or how the connection failed. */
function evaluate(gateway: Gateway, agent: Agent, key: string, task: string): Promise<Sent> {
  const text = JSON.stringify(transfer(SMALL_CENTS))
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return new Promise((resolve) => {
    const request: ClientRequest = httpRequest(
      gateway.url + TRANSFER_PATH(task),
      { method: 'POST', agent, headers },
      (response) => {
        let received = ''
        response.on('data', (chunk: Buffer) => (received += chunk.toString()))
        response.on('error', () => resolve({ task, status: 'reset', reused: true }))
        response.on('end', () => {
          const decision = (JSON.parse(received) as { status?: unknown }).status
          resolve({ task, status: response.statusCode ?? 0, reused: request.reusedSocket, decision })
        })
      },
    )
    request.on('error', ({ code }: NodeJS.ErrnoException) =>
      resolve({ task, status: code === 'ECONNREFUSED' ? 'refused' : 'reset', reused: request.reusedSocket }),
    )
    request.end(text)
  })
}

/** A client that continues until the gateway refuses a connection. */
async function client(gateway: Gateway, key: string, name: string, all: Sent[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let i = 0; ; i++) {
    const sent = await evaluate(gateway, agent, key, `${name}-${i}`)
    all.push(sent)
    if (typeof sent.status !== 'number') break
  }
  agent.destroy()
}

async function stopUnderLoad(directory: string, args: readonly string[]): Promise<void> {
  const gateway = await startGateway({ directory, args })
  const key = await gateway.key('agent', 'demo-agent')
  const reviewer = await gateway.key('reviewer', 'alice')
  const held = await gateway.ask({
    method: 'POST',
    path: TRANSFER_PATH('held'),
    key,
    body: transfer(LARGE_CENTS),
  })
  const poll = { path: `/api/agent/decisions?thread_id=${String(held.body['thread_id'])}`, key }
  const polls = Array.from({ length: HELD_POLLS }, () =>
    gateway.ask({ ...poll, headers: { prefer: 'wait=50' } }),
  )
  const stream = gateway.ask({ path: '/api/review/stream', key: reviewer })
  const all: Sent[] = []
  const clients = Array.from({ length: CLIENTS }, (_, i) => client(gateway, key, `stop-${i}`, all))
  await until(async () => all.length > BEFORE_STOPPING)

  const tookMs = stopwatch()
  const { code, signal, lines } = await gateway.process.kill('SIGTERM')
  expect(tookMs()).toBeLessThan(MOST_MS)
  expect([code, signal]).toEqual([0, null])
  expect(JSON.parse(lines.at(-1) ?? '{}')).toMatchObject({ msg: 'stopped' })

  await Promise.all(clients)
  expect((await Promise.all(polls)).map(({ status, body }) => [status, body['status']])).toEqual(
    polls.map(() => [200, 'pending_review']),
  )
  expect((await stream).status).toBe(200)
  const failed = all.filter(
    ({ status, reused, decision }) =>
      (typeof status === 'number' && (status !== 200 || decision !== 'allow')) ||
      (status === 'reset' && reused),
  )
  expect(failed).toEqual([])
  gateway.hangUp()

  const again = await startGateway({ directory, args })
  const recorded = new Map<string, number>()
  for (const { record } of await evidenceAfter(again, 0)) {
    const task = (record as { task_id?: string }).task_id ?? ''
    recorded.set(task, (recorded.get(task) ?? 0) + 1)
  }
  for (const { task, status } of all)
    expect([task, recorded.get(task) ?? 0]).toEqual([task, status === 200 ? 1 : 0])
  again.hangUp()
  await again.process.kill('SIGTERM')
}

describe('SIGTERM under load', () => {
  it('embedded: no accepted request fails, held polls and streams end properly, and the gateway ends in time', () =>
    inDirectory((directory) => stopUnderLoad(directory, [])))

  it('redis: the same', () =>
    inDirectory(async (directory) => {
      const redis = await startRedis()
      try {
        await stopUnderLoad(directory, ['--store', redis.url])
      } finally {
        await redis.dispose()
      }
    }))

  it('sends the waiting spans, set up by the standard variables, before the process ends', () =>
    inDirectory(async (directory) => {
      const collector = await startCollector()
      const through = [
        `OTEL_EXPORTER_OTLP_ENDPOINT=${collector.url}`,
        'OTEL_EXPORTER_OTLP_HEADERS=x-token=for-the-collector',
        'OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test',
      ]
      const gateway = await startGateway({ directory, through })
      const key = await gateway.key('agent', 'demo-agent')
      const traceId = 'c'.repeat(32)
      const headers = { traceparent: `00-${traceId}-${'d'.repeat(16)}-01` }
      const ask = { method: 'POST', path: TRANSFER_PATH('traced'), key, headers }
      const { status } = await gateway.ask({ ...ask, body: transfer(SMALL_CENTS) })
      expect(status).toBe(200)
      gateway.hangUp()
      const { code } = await gateway.process.kill('SIGTERM')
      expect(code).toBe(0)
      expect(collector.spans.map(({ name, ...span }) => [name, span.traceId])).toEqual([
        ['countersign submit', traceId],
      ])
      const [sent = ''] = collector.received
      expect(sent).toMatch(/^POST \/v1\/traces /)
      expect(sent).toContain('"x-token":"for-the-collector"')
      expect(sent).toContain('deployment.environment.name')
      await collector.close()
    }))
})
