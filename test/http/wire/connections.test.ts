import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { networkOf } from '../../../src/http/wire/connections.ts'
import { type Agent, held, openWorld, type World } from '../../gateway-fixture.ts'
import { until } from '../../until.ts'

let world: World
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await world.close()
})

async function dial(): Promise<Socket> {
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  sockets.push(socket)
  await once(socket, 'connect')
  return socket
}

async function dialMany(count: number): Promise<Socket[]> {
  const open: Socket[] = []
  for (let i = 0; i < count; i++) open.push(await dial())
  return open
}

const isOpen = (socket: Socket): boolean => !socket.destroyed && !socket.readableEnded

/** Sends a request and resolves with the status line. */
async function ask(socket: Socket, path: string, agent?: Agent): Promise<string> {
  const key = agent === undefined ? '' : `authorization: Bearer ${agent.key}\r\n`
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n${key}\r\n`)
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  return chunk.toString().split('\r\n')[0] ?? ''
}

const scraped = async (): Promise<string> => (await fetch(world.app.metricsUrl)).text()

const drained = async (socket: Socket): Promise<string> => {
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await once(socket, 'close')
  return text
}

describe('connections without a credential', () => {
  it('ends the oldest idle connection of an address for a new one beyond the bound', async () => {
    world = await openWorld({ config: { connectionsPerAddress: 4 } })
    const many = await dialMany(10)
    for (const socket of many) socket.resume()
    await until(() => many.filter(isOpen).length === 4)
    expect(many.map(isOpen)).toEqual([...Array(6).fill(false), ...Array(4).fill(true)])
    expect(await ask(await dial(), '/livez')).toContain('200')
  })

  it('connections without a credential are no longer counted once a credential was accepted', async () => {
    world = await openWorld({ config: { connectionsPerAddress: 4 } })
    const bot = await world.agent()
    const known = await dialMany(3)
    for (const socket of known)
      expect(await ask(socket, '/api/agent/decisions?task_id=t1', bot)).toContain('404')
    await dialMany(12)
    expect(await ask(await dial(), '/livez')).toContain('200')
    expect(known.map(isOpen)).toEqual([true, true, true])
  })

  it('429 when each of them has a request in progress, which is still answered', async () => {
    world = await openWorld({ config: { connectionsPerAddress: 3 } })
    const slow = await dialMany(3)
    const page = `origin: ${world.url}\r\nsec-fetch-site: same-origin\r\n`
    const head = `POST /api/review/session HTTP/1.1\r\nhost: x\r\n${page}content-type: application/json\r\n`
    for (const socket of slow) socket.write(`${head}content-length: 9\r\n\r\n{`)
    await until(async () => /^countersign_http_requests_in_flight 3$/m.test(await scraped()))
    expect(await drained(await dial())).toContain('"code":"rate_limited"')
    for (const socket of slow) expect(isOpen(socket)).toBe(true)
  })

  it('does not count connections of a trusted proxy', async () => {
    world = await openWorld({ config: { connectionsPerAddress: 2, trustedProxies: '10.0.0.0/8, 127.0.0.1' } })
    const many = await dialMany(10)
    expect(await ask(await dial(), '/livez')).toContain('200')
    expect(many.every(isOpen)).toBe(true)
  })

  it('ends idle connections of a trusted proxy once a full gateway has no larger holder', async () => {
    world = await openWorld({ config: { connections: 8, trustedProxies: '127.0.0.1' } })
    const bot = await world.agent()
    const many = await dialMany(8)
    for (const socket of many) socket.resume()
    await until(() => many.filter(isOpen).length <= 7)
    expect(await ask(await dial(), '/api/agent/decisions?task_id=t1', bot)).toContain('404')
    expect(await ask(await dial(), '/livez')).toContain('200')
  })

  it('connections without a credential are counted by IPv4 address, and by network where a site has a whole network', () => {
    expect(networkOf('::ffff:192.0.2.7')).toBe('192.0.2.7')
    expect(networkOf('192.0.2.7')).toBe('192.0.2.7')
    expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2')
    expect(networkOf('2001:DB8:1:2::9')).toBe('2001:db8:1:2')
    expect(networkOf('2001:db8::1')).toBe('2001:db8:0:0')
    expect(networkOf('fe80::1%eth0')).toBe('fe80:0:0:0')
    expect(networkOf('::1')).toBe('0:0:0:0')
  })
})

describe('connections with a credential', () => {
  it('are counted for as long as they live: a key ends its own idle ones, and is refused when each has a request', async () => {
    // 12 for agents, 9 of one tenant, 6 of one key
    world = await openWorld({ config: { connections: 16 } })
    const bot = await world.agent()
    const path = '/api/agent/decisions?task_id=t1'
    const { thread } = await held(bot)
    const all = await dialMany(8)
    for (const socket of all) expect(await ask(socket, path, bot)).toContain('404')
    await until(() => all.filter(isOpen).length === 6)
    expect(all.map(isOpen)).toEqual([false, false, true, true, true, true, true, true])
    const holding = all.slice(2)
    for (const socket of holding)
      socket.write(
        `GET /api/agent/decisions?thread_id=${thread} HTTP/1.1\r\nhost: x\r\nprefer: wait=50\r\nauthorization: Bearer ${bot.key}\r\n\r\n`,
      )
    await until(async () => /^countersign_polls_held 6$/m.test(await scraped()))
    const refused = await dial()
    const said = drained(refused)
    refused.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bot.key}\r\n\r\n`)
    expect(await said).toMatch(/^HTTP\/1.1 429 [^]*"code":"rate_limited"/)
    expect(holding.every(isOpen)).toBe(true)
    // another key of the tenant, a person and a probe are served
    expect(await ask(await dial(), path, await world.agent('other'))).toContain('404')
    expect(await ask(await dial(), '/livez')).toContain('200')
    expect((await (await world.reviewer('ann')).approve(thread)).status).toBe(200)
    expect(await scraped()).toMatch(/^countersign_http_connections_shed_total\{how="refused"\} 1$/m)
  })

  it('a full gateway ends the idle connection of the largest holder for a new one', async () => {
    world = await openWorld({ config: { connections: 8, trustedProxies: '10.0.0.0/8' } })
    const bot = await world.agent()
    const known = await dial()
    expect(await ask(known, '/api/agent/decisions?task_id=t1', bot)).toContain('404')
    const strangers = await dialMany(20)
    for (const socket of strangers) socket.resume()
    await until(() => strangers.filter(isOpen).length <= 7)
    expect(isOpen(known)).toBe(true)
    expect(await ask(await dial(), '/livez')).toContain('200')
  })
})
