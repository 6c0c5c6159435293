import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../../src/contract/limits.ts'
import { ADMISSION } from '../../../src/http/admission/admission.ts'
import { oneAtATime } from '../../../src/http/wire/pipelining.ts'
import { agentWorld, ann, bot, world } from '../../agent-world.ts'
import { type Agent, held, openWorld, overriding, type World } from '../../gateway-fixture.ts'
import { until } from '../../until.ts'
import { exchange } from '../socket.ts'

/** Requests that come on a connection before those in front of them are answered (RFC 9112 sections 9.3.2 and 9.6). */

agentWorld()

const BODY = '{"tool_name":"t"}'
const JSON_TYPE = 'Content-Type: application/json\r\n'
const lines = (agent: Agent): string => `Host: gw.test\r\nAuthorization: Bearer ${agent.key}\r\n`
const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\n${lines(bot)}${headers}\r\n`
const poll = (thread: string, headers = ''): string =>
  get(`/api/agent/decisions?thread_id=${thread}`, headers)
const post = (headers: string, body: string, agent = bot): string =>
  `POST /api/agent/tasks/behind/requests HTTP/1.1\r\n${lines(agent)}${headers}\r\n${body}`
const propose = (agent = bot): string => post(`${JSON_TYPE}Content-Length: ${BODY.length}\r\n`, BODY, agent)

/** A connection that keeps the received text. With `allowHalfOpen` it stays open when the other side ends. */
function open(
  at: World,
  allowHalfOpen = false,
): { socket: Socket; text: () => string; ended: Promise<void> } {
  const socket = connect({ port: Number(new URL(at.url).port), host: '127.0.0.1', allowHalfOpen })
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  return { socket, text: () => text, ended }
}

const statuses = (text: string): number[] =>
  Array.from(text.matchAll(/HTTP\/1\.1 (\d\d\d)/g), ([, status]) => Number(status))

describe('requests after an answer that ends the connection', () => {
  it.each([
    ['two Hosts', () => get('/livez', 'Host: other.test\r\n'), 400],
    ['no Host', () => 'GET /livez HTTP/1.1\r\n\r\n', 400],
    ['the target of a proxy', () => get('http://gw.test/livez'), 400],
    ['a target that is too long', () => get(`/livez?${'x'.repeat(9_000)}`), 400],
    ['an Expect that is not known', () => get('/livez', 'Expect: gold\r\n'), 417],
    [
      'another media type',
      () => post(`Content-Type: text/plain\r\nContent-Length: ${BODY.length}\r\n`, BODY),
      415,
    ],
    ['a body that is no JSON', () => post(`${JSON_TYPE}Content-Length: 1\r\n`, '{'), 400],
    ['a path that cannot be decoded, and two Hosts', () => get('/api/%ff', 'Host: other.test\r\n'), 400],
  ])('(%s) are not read: the token can still be collected', async (_, refused, status) => {
    const { thread } = await held(bot)
    await ann.approve(thread)
    const reply = await exchange(world.url, [refused() + poll(thread)])
    expect([reply.status, reply.answers, reply.closed]).toEqual([status, 1, true])
    expect((await bot.poll({ thread_id: thread })).body.approval_token).toBeDefined()
  })

  it('requests after such an answer are not read by a closing gateway either', async () => {
    const numbers: number[] = []
    const own = await openWorld({
      wrapStore: (store) =>
        overriding(store, {
          close: async () => {
            numbers.push((await store.events('acme', 0, 1_000)).length)
            await store.close()
          },
        }),
    })
    const agent = await own.agent()
    const { thread } = await held(agent)
    const before = (await own.allEvidence()).length
    const { socket, text, ended } = open(own)
    const waiting = `GET /api/agent/decisions?thread_id=${thread} HTTP/1.1\r\n${lines(agent)}Prefer: wait=50\r\n\r\n`
    socket.write(waiting + propose(agent))
    await until(() => own.watches > 0)
    await Promise.all([own.close(), ended])
    expect(statuses(text())).toEqual([200])
    expect(numbers).toEqual([before])
  })
})

describe('requests on one connection', () => {
  it('requests on one connection are handled in order: a request after a waiting poll has had no effect yet', async () => {
    const { thread } = await held(bot)
    const { socket, text } = open(world)
    const before = (await world.allEvidence()).length
    socket.write(poll(thread, 'Prefer: wait=50\r\n') + propose() + poll(thread))
    await until(() => world.watches > 0)
    await bot.submit('meanwhile', { tool_name: 't' })
    expect((await world.allEvidence()).length).toBe(before + 1)
    await ann.approve(thread)
    await until(() => statuses(text()).length === 3)
    expect(statuses(text())).toEqual([200, 200, 200])
    expect(text().match(/"approval_token"/g)).toHaveLength(1)
    expect(text()).toMatch(/"approval_token"[^]*"status":"allow"[^]*"status":"approved"/)
    socket.destroy()
  })

  it('requests on one connection are answered in order with their bodies, whatever each answer is', async () => {
    const refused = post(`Content-Type: text/plain\r\nContent-Length: ${BODY.length}\r\n`, BODY)
    const large = JSON.stringify({ tool_name: 't', payload: { a: ['x'.repeat(60_000), 'y'.repeat(60_000)] } })
    const big = post(`${JSON_TYPE}Content-Length: ${large.length}\r\n`, large)
    const all = [propose(), big, get('/nowhere'), big, get('/livez'), propose(), refused].join('')
    const { text } = await exchange(world.url, [all])
    expect(statuses(text)).toEqual([200, 200, 404, 200, 200, 200, 415])
  })

  it('more than eight waiting requests are answered, the ninth of them with 429, and end the connection', async () => {
    const { thread } = await held(bot)
    const { socket, text, ended } = open(world)
    const before = (await world.allEvidence()).length
    socket.write(poll(thread, 'Prefer: wait=50\r\n') + propose().repeat(LIMITS.PIPELINED + 12))
    await until(() => world.watches > 0)
    // the gateway reads no later request either
    socket.write(propose().repeat(500))
    await ann.approve(thread)
    await ended
    expect(statuses(text())).toEqual([...Array.from({ length: LIMITS.PIPELINED + 1 }, () => 200), 429])
    expect(text()).toMatch(/429[^]*"code":"rate_limited"/)
    const proposed = (await world.allEvidence())
      .slice(before)
      .filter(({ record }) => record.task_id === 'behind')
    expect(proposed).toHaveLength(LIMITS.PIPELINED)
    await until(async () => (await inFlight()) === 0)
  })

  it('more than eight waiting requests leave nothing when the caller disconnects', async () => {
    const { thread } = await held(bot)
    const { socket } = open(world)
    socket.write(poll(thread, 'Prefer: wait=50\r\n') + get('/livez').repeat(LIMITS.PIPELINED + 12))
    await until(() => world.watches > 0)
    socket.destroy()
    await until(() => world.watches === 0)
    await until(async () => (await inFlight()) === 0)
  })

  it('a request that waited begins in a turn of its own, and one turn begins sixteen of all connections', async () => {
    let begun = 0
    const server = createServer(
      oneAtATime((_, response) => {
        begun += 1
        response.end()
      }),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const eachTurn: number[] = []
    let before = 0
    const turn = (): void => {
      eachTurn.push(begun - before)
      before = begun
      if (server.listening) setImmediate(turn)
    }
    turn()
    const one = 'GET / HTTP/1.1\r\nHost: gw.test\r\n\r\n'
    const callers = Array.from({ length: 40 }, () => connect(port, '127.0.0.1').resume())
    for (const socket of callers) socket.write(one.repeat(1 + LIMITS.PIPELINED))
    await until(() => begun === callers.length * (1 + LIMITS.PIPELINED))
    for (const socket of callers) socket.destroy()
    server.close()
    // the first ones of connections begin when they are read
    const later = eachTurn.filter((count) => count > 0)
    expect(Math.max(...later)).toBeLessThanOrEqual(callers.length + 16)
    expect(later.length).toBeGreaterThanOrEqual(Math.floor((LIMITS.PIPELINED * callers.length) / 16))
  })

  it('a refused credential ends a connection with more requests behind it, and only such a connection', async () => {
    const stranger = 'GET /api/agent/decisions?thread_id=x HTTP/1.1\r\nHost: gw.test\r\n\r\n'
    const { text, ended, socket } = open(world)
    socket.write(stranger)
    await until(() => statuses(text()).length === 1)
    socket.write(stranger)
    await until(() => statuses(text()).length === 2)
    socket.write(stranger.repeat(5))
    await ended
    expect(statuses(text())).toEqual([401, 401, 401])
    await until(async () => (await inFlight()) === 0)
  })

  it('requests on one connection are never read after the caller has disconnected, and leave nothing behind', async () => {
    const { thread } = await held(bot)
    const before = (await world.allEvidence()).length
    for (let i = 0; i < (4 * ADMISSION.PLACES.propose) / LIMITS.PIPELINED; i++) {
      const { socket, ended } = open(world)
      socket.write(poll(thread, 'Prefer: wait=50\r\n') + propose().repeat(LIMITS.PIPELINED))
      await until(() => world.watches > 0)
      await until(async () => (await inFlight()) === LIMITS.PIPELINED + 1)
      socket.destroy()
      await ended
      await until(() => world.watches === 0)
    }
    await until(async () => (await inFlight()) === 0)
    expect((await world.allEvidence()).length).toBe(before)
    expect((await bot.submit('after', { tool_name: 't' })).status).toBe(200)
  })
})

async function gauge(name: string): Promise<number> {
  const text = await (await fetch(world.app.metricsUrl)).text()
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}

const inFlight = (): Promise<number> => gauge('countersign_http_requests_in_flight')
const connections = (): Promise<number> => gauge('countersign_http_connections')

describe('CONNECT', () => {
  it.each(['gw.test:443', '/api/agent/decisions', 'gw.test:0'])(
    '400 for %s, and the connection ends',
    async (target) => {
      const reply = await exchange(world.url, [`CONNECT ${target} HTTP/1.1\r\n${lines(bot)}\r\n`])
      expect([reply.status, reply.answers, reply.closed]).toEqual([400, 1, true])
      expect(reply.text).toContain('application/problem+json')
    },
  )

  it('leaves no connection behind, whether the caller stays or disconnects', async () => {
    const before = await connections()
    const callers = [open(world, true), open(world)]
    for (const { socket } of callers) socket.write(`CONNECT gw.test:443 HTTP/1.1\r\n${lines(bot)}\r\nmore`)
    await until(() => callers.every(({ text }) => text().includes('400')))
    callers[1]?.socket.resetAndDestroy()
    await until(async () => (await connections()) <= before)
    callers[0]?.socket.destroy()
  })

  it('is refused after the answer in progress, and later requests are not read', async () => {
    const [first, second] = [await held(bot), await held(bot)]
    await ann.approve(first.thread)
    await ann.approve(second.thread)
    const connecting = `CONNECT gw.test:443 HTTP/1.1\r\n${lines(bot)}\r\n`
    const { text } = await exchange(world.url, [poll(first.thread) + connecting + poll(second.thread)])
    expect(statuses(text)).toEqual([200, 400])
    expect(text).toContain('"approval_token":"')
    expect((await bot.poll({ thread_id: second.thread })).body.approval_token).toBeDefined()
  })
})
