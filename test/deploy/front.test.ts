import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type ChildProcess, spawn } from 'node:child_process'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import { ensureProgram, INSTALL_MS, run } from '../debian.ts'
import { inDirectory, SMALL_CENTS, startGateway, transfer, TRANSFER_PATH } from '../fault/gateway.ts'
import { until } from '../until.ts'
import { at, lines, read, temporaryDirectory, yaml } from './files.ts'
import { freePort } from '../ports.ts'

/*
 * haproxy.cfg itself, before two gateways that do what a test wants. Only addresses are changed.
 */
const text = read('deploy/compose/haproxy.cfg')
let directory: string
const ending: (() => void | Promise<unknown>)[] = []

beforeAll(async () => {
  ensureProgram('haproxy', 'haproxy')
  directory = await temporaryDirectory()
}, INSTALL_MS)
afterEach(async () => {
  for (const end of ending.splice(0)) await end()
})
afterAll(() => expect(ending).toEqual([]))

interface Fake {
  readonly address: string
  readonly server: Server
  /** Requests that it received, without health checks. */
  readonly seen: string[]
  ready: boolean
  hangUps: number
}

type Behave = (request: IncomingMessage, response: ServerResponse) => void
const answer: Behave = (_, response) => response.end('{}')
/** Takes the whole request, perhaps executes it, and dies before it answers. */
const die: Behave = (request) => request.on('end', () => request.socket.destroy()).resume()

async function fakeGateway(behave: Behave = answer): Promise<Fake> {
  const server = createServer((request, response) => {
    if (request.url === '/readyz') return void response.writeHead(fake.ready ? 200 : 503).end()
    fake.seen.push(`${request.method} ${request.url}`)
    response.on('close', () => (fake.hangUps += response.writableEnded ? 0 : 1))
    behave(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const fake: Fake = { address, server, seen: [], ready: true, hangUps: 0 }
  ending.push(
    () => server.closeAllConnections(),
    () => void server.close(),
  )
  return fake
}

interface Front {
  readonly url: string
  readonly healthPort: number
  readonly process: ChildProcess
}

async function startFront(first: string, second: string): Promise<Front> {
  const [port, grafana, healthPort] = [await freePort(), await freePort(), await freePort()]
  const config = join(directory, `${port}.cfg`)
  const moved = text
    .replace('bind :::8787 v4v6', `bind 127.0.0.1:${port}`)
    .replace('bind :::3000 v4v6', `bind 127.0.0.1:${grafana}`)
    .replace('bind 127.0.0.1:8404', `bind 127.0.0.1:${healthPort}`)
    .replace('gateway-1:8787', first)
    .replace('gateway-2:8787', second)
    .replace('grafana:3000', '127.0.0.1:1')
  writeFileSync(config, moved)
  const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` }
  const child = spawn('haproxy', ['-q', '-f', config], { env, stdio: 'ignore' })
  ending.push(async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  const url = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`http://127.0.0.1:${healthPort}/front`)).ok)
  return { url, healthPort, process: child }
}

const post = (front: Front, path = '/api/agent/validate'): Promise<Response> =>
  fetch(front.url + path, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })

describe('haproxy.cfg', () => {
  it('listens on IPv4 and IPv6 wherever other hosts reach it', () => {
    const binds = lines(text).filter((line) => /^\s*bind /.test(line) && !line.includes('127.0.0.1'))
    expect(binds.map((line) => line.trim())).toEqual(['bind :::8787 v4v6', 'bind :::3000 v4v6'])
  })

  it('passes the check of HAProxy', () => {
    const { status, out, err } = run('haproxy', ['-c', '-f', at('deploy/compose/haproxy.cfg')])
    expect({ status, errors: lines(out + err).filter((line) => /ALERT/.test(line)) }).toEqual({
      status: 0,
      errors: [],
    })
  })

  it('waits longer than the longest poll', () => {
    const timeouts = [...text.matchAll(/timeout (client|server) (\d+)s/g)].map((match) => Number(match[2]))
    expect(timeouts).toHaveLength(2)
    for (const seconds of timeouts) expect(seconds).toBeGreaterThan(LIMITS.WAIT_SECONDS + 5)
  })

  it('never sends a request twice: a request that dies unanswered is a 502, and no gateway sees it again', async () => {
    const [first, second] = [await fakeGateway(die), await fakeGateway(die)]
    const front = await startFront(first.address, second.address)
    for (let count = 1; count <= 10; count++) {
      expect((await post(front)).status).toBe(502)
      expect([...first.seen, ...second.seen]).toHaveLength(count)
    }
    expect(first.seen.length).toBeGreaterThan(0)
    expect(second.seen.length).toBeGreaterThan(0)
  })

  it('answers when a request dies, also on a reused connection: after silence, clients retry', async () => {
    let deadly = false
    const behave: Behave = (request, response) => (deadly ? die : answer)(request, response)
    const [first, second] = [await fakeGateway(behave), await fakeGateway(behave)]
    const front = await startFront(first.address, second.address)
    const answered = await post(front)
    expect([answered.status, answered.headers.get('connection')]).toEqual([200, 'close'])
    deadly = true
    expect((await post(front)).status).toBe(502)
    expect([...first.seen, ...second.seen]).toHaveLength(2)
  })

  it('asks the other gateway when one is unreachable: no part of the request was sent', async () => {
    const [first, second] = [await fakeGateway(), await fakeGateway()]
    const front = await startFront(first.address, second.address)
    first.server.close()
    first.server.closeAllConnections()
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(front)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(second.seen).toHaveLength(20)
  })

  it('sends nothing to a gateway that is not ready, and resumes when it is', async () => {
    const [first, second] = [await fakeGateway(), await fakeGateway()]
    const front = await startFront(first.address, second.address)
    const sendsTo = async (gateway: Fake, of: Fake): Promise<boolean> => {
      first.seen.length = second.seen.length = 0
      await Promise.all(Array.from({ length: 8 }, () => post(front)))
      return gateway.seen.length > 0 && of.seen.length === 0
    }
    first.ready = false
    await until(() => sendsTo(second, first))
    first.ready = true
    second.ready = false
    await until(() => sendsTo(first, second))
    expect(await sendsTo(first, second)).toBe(true)
  })

  it('answers 503 itself when no gateway is ready', async () => {
    const [first, second] = [await fakeGateway(), await fakeGateway()]
    const front = await startFront(first.address, second.address)
    first.ready = second.ready = false
    await until(async () => (await post(front)).status === 503)
  })

  it('holds a poll beyond its connection timeout, and passes on that the client disconnected', async () => {
    const [first, second] = [
      await fakeGateway((_, response) => void setTimeout(() => response.end('{}'), 2_500)),
      await fakeGateway((_, response) => void setTimeout(() => response.end('{}'), 2_500)),
    ]
    const front = await startFront(first.address, second.address)
    expect((await fetch(`${front.url}/poll`, { headers: { prefer: 'wait=55' } })).status).toBe(200)
    const leaving = new AbortController()
    const left = fetch(`${front.url}/poll`, { signal: leaving.signal }).catch(() => 'left')
    await until(() => Promise.resolve(first.seen.length + second.seen.length === 2))
    leaving.abort()
    expect(await left).toBe('left')
    await until(() => Promise.resolve(first.hangUps + second.hangUps === 1), 2_000)
  })

  it('reports its health to the command in compose.yaml, and fails when it is stopped', async () => {
    const gateway = await fakeGateway()
    const front = await startFront(gateway.address, gateway.address)
    const [kind, command, ...args] = yaml('deploy/compose/compose.yaml').services.front.healthcheck
      .test as string[]
    const moved = args.map((argument) => argument.replace('8404', String(front.healthPort)))
    const healthy = (): boolean => run(command ?? '', moved).status === 0
    expect([kind, healthy()]).toEqual(['CMD', true])
    front.process.kill('SIGTERM')
    await once(front.process, 'exit')
    expect(healthy()).toBe(false)
  })

  it('works in front of a real gateway', async () => {
    await inDirectory(async (place) => {
      const gateway = await startGateway({ directory: place })
      const key = await gateway.key('agent', 'demo-agent')
      const { host } = new URL(gateway.url)
      const front = await startFront(host, '127.0.0.1:1')
      const answered = await fetch(front.url + TRANSFER_PATH('front'), {
        method: 'POST',
        body: JSON.stringify(transfer(SMALL_CENTS)),
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      })
      expect([answered.status, ((await answered.json()) as { status: string }).status]).toEqual([
        200,
        'allow',
      ])
      gateway.hangUp()
      await gateway.process.kill('SIGTERM')
    })
  })
})
