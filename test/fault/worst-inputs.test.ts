// @soak
import { mkdir, writeFile } from 'node:fs/promises'
import { request as httpRequest, Agent } from 'node:http'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { BUNDLE } from '../bundle.ts'
import { LINEAR } from '../growth.ts'
import { ENDPOINTS, sampleOf } from '../samples.ts'
import { type Gateway, inDirectory, startGateway } from './gateway.ts'
import {
  CELLS,
  GENERATORS,
  type HostileRequest,
  namedFor,
  textOf,
  WORST_RULES,
  WORST_TOOL,
} from './worst-inputs.ts'
import { IS_LONG } from '../runs.ts'
import { mainMsOf, type Probe, startProbe } from './probe.ts'

/**
 * One request must not stall the others. The test sends the worst input to every place that takes text, beside a caller
 * that only asks for /livez.
 */

/**
 * The bound of an answer, in multiples of the time of an idle gateway. The bound is looser on a machine that has other
 * work. A stall still takes a thousand times as long there.
 */
const MOST_TIMES_IDLE = IS_LONG ? 20 : 100
/**
 * The bound of lists and raised texts. Nine rules read a list of 192 KiB, or one text that a contract permits, from end
 * to end. We measured 30 times, most of it in patterns and in evidence.
 */
const MOST_FOR_LISTS = IS_LONG ? 40 : 100
const READ_BY_RULES = /^(?:submit|explainPolicies), body payload\.(?:list|raised)/
/**
 * Other work of the machine only adds to the measured time, so the best of so many tries counts. A request delays
 * others for at most the time that the answering thread worked for it. The machine causes any longer wait.
 */
const TRIES = 12
/** Processor time below which growth is lost in noise, ms. */
const LEAST_MS = 6

interface Case {
  readonly name: string
  readonly plane: string
  request(share: number): HostileRequest
}

interface Harness {
  readonly gateway: Gateway
  readonly keys: Readonly<Record<string, string>>
  readonly probe: Probe
  readonly ask: (one: Case, share?: number) => Promise<Asked>
}

interface Asked {
  readonly status: number
  /** Processor time of the thread that answers all requests, ms. */
  readonly mainMs: number
  /** The slowest answer of /livez meanwhile, ms. */
  readonly livezMs: number
}

/**
 * Outside of the long soak, a place that no rule reads takes every third text. The next place begins with the next
 * text.
 */
const EACH = IS_LONG ? 1 : 3
const PAYLOAD = 'body payload.'

const CASES: readonly Case[] = CELLS.flatMap((cell, at) =>
  Object.keys(GENERATORS)
    .filter((_, i) => cell.name.startsWith(PAYLOAD) || (at + i) % EACH === 0)
    .map((generator) => ({
      name: `${cell.endpoint.id}, ${cell.name}: ${generator}`,
      plane: cell.endpoint.plane,
      request: (share) => cell.request(generator, share),
    })),
)

/** Requests of reviewers on a thread whose payload is such text. */
function casesOn(threads: (share: number) => string, generator: string): Case[] {
  const onThreads = ENDPOINTS.filter(({ plane, path }) => plane === 'review' && path.includes('{thread_id}'))
  return onThreads.map(({ id, plane, path, method, body }) => ({
    name: `${id} of a thread with ${generator}`,
    plane,
    request: (share) => ({
      method,
      path: path.replace('{thread_id}', threads(share)).replaceAll(/\{(revision|index)\}/g, '1'),
      headers: {},
      body: body && JSON.stringify(sampleOf(body, namedFor(body))),
    }),
  }))
}

it(
  '/livez answers within a bound of its idle time during any request, and cost is linear',
  { timeout: 900_000 },
  () =>
    inHarness(async (harness) => {
      const shown: Case[] = []
      for (const generator of Object.keys(GENERATORS)) {
        const large = await held(harness, generator, 1)
        const quarter = await held(harness, generator, 1 / 4)
        shown.push(...casesOn((share) => (share === 1 ? large : quarter), generator))
      }
      const cases = [...CASES, ...shown]
      expect(cases.length).toBeGreaterThan(1_000 / EACH)
      const slow: string[] = []
      const steep: string[] = []
      let answered = 0
      for (const one of cases) {
        const times = READ_BY_RULES.test(one.name) ? MOST_FOR_LISTS : MOST_TIMES_IDLE
        const most = times * harness.probe.idleMs
        const isQuick = ({ livezMs, mainMs }: Asked): boolean => Math.min(livezMs, mainMs) <= most
        const full = await best(harness, one, 1, isQuick)
        if (!isQuick(full))
          slow.push(`${one.name}: ${full.livezMs.toFixed(1)} ms, idle ${harness.probe.idleMs.toFixed(2)} ms`)
        if (full.status < 300) answered++
        const [once, fourTimes] = await growthOf(harness, one, full)
        if (fourTimes >= LEAST_MS && fourTimes >= LINEAR * once)
          steep.push(
            `${one.name}: ${fourTimes.toFixed(1)} ms for four times what takes ${once.toFixed(1)} ms`,
          )
      }
      // requests that are refused at the edge show little
      expect(answered).toBeGreaterThan(cases.length / 4)
      expect({ slow, steep }).toEqual({ slow: [], steep: [] })
    }),
)

/** The least of some tries, fewer when one of them is good enough. */
async function best(
  { ask }: Harness,
  one: Case,
  share: number,
  isGood: (asked: Asked) => boolean,
): Promise<Asked> {
  let least: Asked = { status: 0, mainMs: Infinity, livezMs: Infinity }
  for (let tries = 0; tries < TRIES; tries++) {
    const asked = await ask(one, share)
    least = {
      status: asked.status,
      mainMs: Math.min(least.mainMs, asked.mainMs),
      livezMs: Math.min(least.livezMs, asked.livezMs),
    }
    if (isGood(least)) break
  }
  return least
}

/** Processor time of a quarter and of the whole, where there is more of it than noise. */
async function growthOf(
  { ask }: Harness,
  one: Case,
  { mainMs }: Asked,
): Promise<[once: number, fourTimes: number]> {
  let [once, fourTimes] = [Infinity, mainMs]
  for (let tries = 0; tries < TRIES && fourTimes >= LEAST_MS; tries++) {
    once = Math.min(once, (await ask(one, 1 / 4)).mainMs)
    if (fourTimes < LINEAR * once) break
    fourTimes = Math.min(fourTimes, (await ask(one, 1)).mainMs)
  }
  return [once, fourTimes]
}

/** A thread that waits for people, whose payload is such text from end to end. */
async function held({ gateway, keys }: Harness, generator: string, share: number): Promise<string> {
  const text = textOf(generator, 30_000 * share)
  const { status, body } = await gateway.ask({
    method: 'POST',
    path: '/api/agent/tasks/shown/requests',
    key: keys['agent'] ?? '',
    body: { tool_name: 'hold', payload: { text, list: [text, text] }, subject: text },
  })
  expect([status, body['status']], generator).toEqual([200, 'pending_review'])
  return body['thread_id'] as string
}

async function inHarness(run: (harness: Harness) => Promise<void>): Promise<void> {
  await inDirectory(async (directory) => {
    const policies = await writePolicies(directory)
    const gateway = await startGateway({ directory, policies })
    const probe = await startProbe(gateway.url)
    try {
      const review = await gateway.key('reviewer', 'ann')
      const keys = { agent: await gateway.key('agent', 'bot'), review, admin: review }
      await run({ gateway, keys, probe, ask: asking(gateway, keys, probe) })
    } finally {
      await probe.stop()
      gateway.hangUp()
      await gateway.process.kill('SIGTERM')
    }
  })
}

async function writePolicies(directory: string): Promise<string> {
  const people = (BUNDLE['directory.yaml'] ?? '').replace(
    'brief, bare, once] }',
    'brief, bare, once, worst] }',
  )
  const files = {
    ...BUNDLE,
    'directory.yaml': people,
    'tools/worst.yaml': WORST_TOOL,
    'rules/worst.yaml': WORST_RULES,
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, 'policies', path)), { recursive: true })
    await writeFile(join(directory, 'policies', path), text)
  }
  return join(directory, 'policies')
}

function asking(gateway: Gateway, keys: Readonly<Record<string, string>>, probe: Probe): Harness['ask'] {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const pid = gateway.process.pid
  const mainMs = (): Promise<number> => mainMsOf(pid)
  return async (one, share = 1) => {
    const { method, path, headers, body } = one.request(share)
    const key = keys[one.plane]
    const bytes = body === undefined ? undefined : Buffer.from(body)
    const head = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(bytes === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(bytes.length) }),
      ...headers,
    }
    const before = await mainMs()
    const end = probe.begin()
    const status = await new Promise<number>((resolve, reject) => {
      const request = httpRequest(gateway.url + path, { method, agent, headers: head }, (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      })
      request.on('error', reject)
      request.end(bytes)
    })
    return { status, mainMs: (await mainMs()) - before, livezMs: await end() }
  }
}
