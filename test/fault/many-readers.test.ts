// @soak
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { BUNDLE } from '../bundle.ts'
import { IS_LONG } from '../runs.ts'
import { type Endpoint, ENDPOINTS } from '../samples.ts'
import { type Gateway, inDirectory, startGateway } from './gateway.ts'

/**
 * The memory of one answer is bounded. 64 callers ask for whole lists at once, and read them late. The resident set
 * grows by a little.
 */

const CALLERS = 64
const MOST_BYTES = 64 * 1024 * 1024
/** Collections come when they like: of so many tries the best counts. */
const TRIES = 3

const TOOLS = 300
const tool = (i: number): string => `tool: big.${i}
description: ${'d'.repeat(4_000)}
risk: low
input_schema: { type: object, description: '${'s'.repeat(8_000)}' }
`
const THREADS = 120
const TEXT = 'é'.repeat(20_000)

/**
 * Endpoints that return lists, without single threads and streams. Evidence is a stream too: it arrives line by line
 * while the caller reads. Lists of one webhook use the only webhook of the test. Only the admin key lists instances,
 * and there are few of them.
 */
const LEFT_OUT = ['stream', 'export_evidence', 'list_instances']
const LISTS: readonly Endpoint[] = ENDPOINTS.filter(({ id, method, path, plane }) => {
  if (id === 'resolve') return true
  const isOfPeople = plane === 'review' || plane === 'admin'
  return method === 'GET' && isOfPeople && !/\{(?!id)/.test(path) && !LEFT_OUT.includes(id)
})

/** The lists of contracts, payloads and events. Only the long soak measures the small lists too. */
const LARGEST = ['resolve', 'list_threads', 'list_deliveries']

it('64 callers that list at once raise the resident set by less than 64 MB', { timeout: 600_000 }, () =>
  inDirectory(async (directory) => {
    const policies = await writePolicies(directory)
    const start: Start = async (use) => {
      // no receiver listens there: deliveries wait
      const args = ['--webhooks-allow', '127.0.0.1/32:9']
      const gateway = await startGateway({ directory, policies, args })
      try {
        return await use(gateway)
      } finally {
        gateway.hangUp()
        await gateway.process.kill('SIGTERM')
      }
    }
    const keys = await start(fill)
    expect(LISTS.length).toBeGreaterThanOrEqual(10)
    const rises: string[] = []
    const measured = IS_LONG ? LISTS : LISTS.filter(({ id }) => LARGEST.includes(id))
    expect(measured.length).toBeGreaterThanOrEqual(LARGEST.length)
    for (const list of measured) {
      const rise = await leastRise(start, keys, list)
      if (rise >= MOST_BYTES) rises.push(`${list.id}: ${Math.round(rise / 1024 / 1024)} MB`)
    }
    expect(rises).toEqual([])
  }),
)

async function writePolicies(directory: string): Promise<string> {
  const tools = Object.fromEntries(Array.from({ length: TOOLS }, (_, i) => [`tools/big-${i}.yaml`, tool(i)]))
  for (const [path, text] of Object.entries({ ...BUNDLE, ...tools })) {
    await mkdir(dirname(join(directory, 'policies', path)), { recursive: true })
    await writeFile(join(directory, 'policies', path), text)
  }
  return join(directory, 'policies')
}

type Start = <T>(use: (gateway: Gateway) => Promise<T>) => Promise<T>
type Keys = Readonly<Record<string, string>>

/** Threads and deliveries with large payloads, events with large texts. */
async function fill(gateway: Gateway): Promise<Keys> {
  const agent = await gateway.key('agent', 'other')
  const review = await gateway.key('reviewer', 'ann')
  const webhook = { tenant: 'acme', url: 'https://127.0.0.1:9/', payload: 'full' }
  const { body } = await gateway.admin('POST', '/webhooks', webhook)
  for (let i = 0; i < THREADS; i++) {
    const held = { tool_name: 'hold', subject: TEXT, payload: { text: TEXT } }
    const event = { event_type: 'note', event_summary: TEXT, payload: { text: TEXT, more: TEXT } }
    const answers = [
      await gateway.ask({ method: 'POST', path: `/api/agent/tasks/t${i}/requests`, key: agent, body: held }),
      await gateway.ask({ method: 'POST', path: `/api/agent/tasks/t${i}/events`, key: agent, body: event }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 201])
  }
  return { agent, review, admin: review, webhook: body['id'] as string }
}

/** In a process of its own, which has never had more to do. */
async function leastRise(start: Start, keys: Keys, list: Endpoint): Promise<number> {
  const key = keys[list.plane] ?? ''
  const one = { ...list, path: list.path.replace('{id}', keys['webhook'] ?? '') }
  let least = Infinity
  for (let tries = 0; tries < TRIES && least >= MOST_BYTES; tries++) {
    const rise = await start(async (gateway) => {
      for (let i = 0; i < 8; i++) await together(gateway, key, one, 1)
      const before = await beginPeak(gateway.process.pid)
      await together(gateway, key, one, CALLERS)
      return (await memory(gateway.process.pid, 'VmHWM')) - before
    })
    least = Math.min(least, rise)
  }
  return least
}

/** All callers ask. No caller reads before all have an answer that begins. */
async function together(gateway: Gateway, key: string, list: Endpoint, callers: number): Promise<void> {
  const agent = new Agent({ maxSockets: callers })
  try {
    const answers = await Promise.all(Array.from({ length: callers }, () => begin(gateway, agent, key, list)))
    const served = answers.filter(({ statusCode }) => statusCode === 200).length
    expect(served, list.id).toBeGreaterThan(0)
    await Promise.all(answers.map(readToEnd))
  } finally {
    agent.destroy()
  }
}

function begin(gateway: Gateway, agent: Agent, key: string, list: Endpoint): Promise<IncomingMessage> {
  const has = (name: string): boolean => list.parameters.some((one) => one.name === name)
  const query = new URLSearchParams({
    ...(has('limit') && { limit: list.id === 'export_evidence' ? '10000' : '100' }),
    ...(has('tenant') && { tenant: 'acme' }),
  })
  const body = list.body === undefined ? undefined : '{"tools":[]}'
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const asked = httpRequest(
      `${gateway.url}${list.path}?${query.toString()}`,
      { method: list.method, agent, headers },
      resolve,
    )
    asked.on('error', reject)
    asked.end(body)
  })
}

function readToEnd(answer: IncomingMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    answer.resume()
    answer.on('end', () => resolve()).on('error', reject)
  })
}

/** Forgets the highest resident set so far (proc(5)). Gives what it is now, bytes. */
async function beginPeak(pid: number): Promise<number> {
  await writeFile(`/proc/${pid}/clear_refs`, '5')
  return memory(pid, 'VmRSS')
}

async function memory(pid: number, name: string): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]) * 1024
}
