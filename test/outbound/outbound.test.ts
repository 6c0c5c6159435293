// @first
import { getEventListeners } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as passing } from 'node:timers/promises'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { parseAllowed } from '../../src/outbound/address.ts'
import { createOutbound, type Sent } from '../../src/outbound/outbound.ts'
import { collectGarbage } from '../garbage.ts'
import { makeAuthority } from '../webhooks/certificates.ts'
import { stopwatch } from '../stopwatch.ts'

/** Receivers misbehave in every way that the list names. Each try is bounded, and has the outcome of the list. */

const DEADLINE_MS = 1_000
/** For events that are sure to happen. */
const PATIENT = { timeout: 60_000 }
/** Time that a slow machine may add to the deadline. */
const GRACE_MS = 100
/**
 * Most bytes that one try may add to the memory of both sides, in the middle of it and after it. Each measurement
 * collects garbage first: the engine may keep unreachable objects for a while.
 */
const HELD_BYTES = 10e6

let authority: ReturnType<typeof makeAuthority>
let ca: string
const read = (name: string): string => readFileSync(join(authority.directory, name), 'utf8')

beforeAll(() => {
  authority = makeAuthority()
  ca = read('ca.crt')
  authority.issue('good', { names: ['DNS:localhost', 'IP:127.0.0.1'] })
  authority.issue('self', { names: ['IP:127.0.0.1'], self: true })
  authority.issue('other', { names: ['DNS:other.test'] })
  authority.issue('expired', { names: ['IP:127.0.0.1'], days: -1 })
})
afterAll(() => rmSync(authority.directory, { recursive: true, force: true }))

const open: Server[] = []
const sockets = new Set<Socket>()
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of open.splice(0)) server.close()
})

interface Receiver {
  readonly port: number
  readonly connections: () => number
  readonly heard: string[]
}

async function listening(server: Server): Promise<number> {
  open.push(server)
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as { port: number }).port
}

/** Does `behave` with each connection once the request has come. */
async function receiver(behave: (socket: Socket) => void, options: TlsOptions = {}): Promise<Receiver> {
  const heard: string[] = []
  let connections = 0
  const server = createTlsServer({ cert: read('good.crt'), key: read('good.key'), ...options }, (socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (data) => {
      heard.push(String(data))
      behave(socket)
    })
  })
  server.on('tlsClientError', () => undefined)
  server.on('connection', () => (connections += 1))
  return { port: await listening(server), connections: () => connections, heard }
}

async function held(): Promise<number> {
  await collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/**
 * Compares with a plain timer of the same length, which is also late when the machine pauses. Twice the deadline is too
 * late in any case.
 */
async function inTime(act: () => Promise<Sent>): Promise<Sent> {
  const start = performance.now()
  const ranMs = stopwatch()
  const passed = (): number => performance.now() - start
  const ended = new AbortController()
  const timer = passing(DEADLINE_MS, undefined, { signal: ended.signal }).then(passed, () => DEADLINE_MS)
  const sent = await act()
  const ms = passed()
  if (ms < DEADLINE_MS) ended.abort()
  expect(ms).toBeLessThan((await timer) + GRACE_MS)
  expect(ranMs()).toBeLessThan(DEADLINE_MS * 2)
  return sent
}

async function post(port: number, path = '/hook'): Promise<Sent> {
  const outbound = createOutbound({ allowed: parseAllowed(`127.0.0.1/32:${port}`), ca })
  const request = { headers: { 'content-type': 'application/json' }, body: '{}', deadlineMs: DEADLINE_MS }
  const before = await held()
  const half = new AbortController()
  const halfway = passing(DEADLINE_MS / 2, undefined, { signal: half.signal }).then(held, () => before)
  const sent = await inTime(() => outbound.post(`https://127.0.0.1:${port}${path}`, request))
  half.abort()
  expect((await halfway) - before).toBeLessThan(HELD_BYTES)
  expect((await held()) - before).toBeLessThan(HELD_BYTES)
  return sent
}

const answer =
  (text: string) =>
  (socket: Socket): void =>
    void socket.end(text)
const ok = (status: number, more = ''): string => `HTTP/1.1 ${status} X\r\n${more}Content-Length: 0\r\n\r\n`

function pour(socket: Socket, chunk: Buffer | string): void {
  // small writes would take the processor from the receiver of the answer
  const piece = Buffer.from(chunk)
  const many = Buffer.concat(Array.from({ length: Math.ceil(65_536 / piece.length) }, () => piece))
  const go = (): void => {
    while (socket.writable && socket.write(many));
    if (socket.writable) socket.once('drain', go)
  }
  go()
}

function drip(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 20)
  socket.once('close', () => clearInterval(timer))
}

/** Fifty megabytes. */
const PACKED = gzipSync(Buffer.alloc(50e6))
const CHUNK = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 97), Buffer.from('\r\n')])
const HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const EARLY = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
const answered = (status: number): Sent => ({ kind: 'answered', status })
const failing = { kind: 'failed' }

interface Said {
  readonly id: string
  readonly want: number | 'failed'
  readonly why: string
  readonly raw: string
  /** Whether the receiver ends the connection then. */
  readonly ends: boolean
}
const RECEIVERS = (
  JSON.parse(readFileSync(new URL('../data/hostile/more-receivers.json', import.meta.url), 'utf8')) as {
    entries: Said[]
  }
).entries
const saying =
  (raw: string, ends: boolean) =>
  (socket: Socket): void => {
    socket.write(raw, 'latin1')
    if (ends) socket.end()
  }

describe('a receiver that answers', () => {
  it.each([200, 204, 299, 400, 401, 403, 404, 410, 429, 500, 503, 999])(
    '%i is returned as the answer',
    async (status) => {
      const { port } = await receiver(answer(ok(status)))
      expect(await post(port)).toEqual(answered(status))
    },
  )

  it.each([301, 302, 303, 307, 308])('%i is not followed: one connection, one request', async (status) => {
    const other = await receiver(answer(ok(200)))
    const target = `Location: https://127.0.0.1:${other.port}/\r\n`
    const { port, connections, heard } = await receiver(answer(ok(status, target)))
    expect(await post(port)).toEqual(answered(status))
    expect([connections(), heard.length, other.connections()]).toEqual([1, 1, 0])
  })

  it.each(['120', '99999999999', '-5', 'Fri, 20 Nov 2026 12:00:00 GMT'])(
    'returns the answer with its Retry-After %s',
    async (text) => {
      const { port } = await receiver(answer(ok(503, `Retry-After: ${text}\r\n`)))
      expect(await post(port)).toEqual({ kind: 'answered', status: 503, retryAfter: text })
    },
  )

  it.each(RECEIVERS.filter(({ want }) => want !== 'failed'))(
    '$id, $why, has answered $want',
    async ({ raw, ends, want }) => {
      const { port } = await receiver(saying(raw, ends))
      expect(await post(port)).toEqual({ kind: 'answered', status: want })
    },
  )

  const statusFirst: [string, (socket: Socket) => void][] = [
    ['drips its body for ever', (socket) => (socket.write(HEAD), drip(socket, '1\r\na\r\n'))],
    ['has an endless body', (socket) => (socket.write(HEAD), pour(socket, CHUNK))],
    [
      'says that ten gigabytes follow',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n')
        pour(socket, Buffer.alloc(65_536, 97))
      },
    ],
    [
      'resets after its headers',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe', () =>
          setTimeout(() => socket.destroy(), 50),
        )
      },
    ],
    ['has endless trailers', (socket) => (socket.write(`${HEAD}0\r\n`), pour(socket, 'X: aaaaaaaa\r\n'))],
    [
      'has an endless chunk extension',
      (socket) => (socket.write(`${HEAD}5;a=`), pour(socket, Buffer.alloc(65_536, 97))),
    ],
    ['has a chunk of no size', (socket) => void socket.write(`${HEAD}-1\r\n`)],
    ['says 103 sixteen times before', (socket) => void socket.write(`${EARLY.repeat(16)}${ok(200)}`)],
    ['says more than one answer', (socket) => void socket.write(`${ok(200)}${ok(500)}`)],
    [
      'packs fifty megabytes into a few',
      (socket) => {
        const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${PACKED.length}\r\n\r\n`
        socket.end(Buffer.concat([Buffer.from(head), PACKED]))
      },
    ],
  ]
  it.each(statusFirst)('a receiver that %s has answered as soon as its status arrives', async (_, behave) => {
    const { port } = await receiver(behave)
    expect(await post(port)).toEqual(answered(200))
  })
})

describe('a receiver that answers without reading the body', () => {
  it('has answered, and its connection ends at once', async () => {
    const { port } = await receiver((socket) => {
      socket.pause()
      socket.write(ok(200))
      setTimeout(() => socket.resume(), 500)
    })
    const outbound = createOutbound({ allowed: parseAllowed(`127.0.0.1/32:${port}`), ca })
    const large = { headers: {}, body: 'a'.repeat(8e6), deadlineMs: DEADLINE_MS }
    expect(await outbound.post(`https://127.0.0.1:${port}/`, large)).toEqual(answered(200))
    await vi.waitFor(() => expect(sockets.size).toBe(0), PATIENT)
    outbound.close()
  })
})

describe('a receiver without a usable answer', () => {
  const hopeless: [string, (socket: Socket) => void, string?][] = [
    ['never answers', () => undefined, 'timeout'],
    ['drips its headers', (socket) => (socket.write('HTTP/1.1 200 OK\r\nX: '), drip(socket, 'a')), 'timeout'],
    ['sends a header of a megabyte', answer(`HTTP/1.1 200 OK\r\nX: ${'a'.repeat(1e6)}\r\n\r\n`)],
    [
      'sends five thousand headers',
      answer(
        `HTTP/1.1 200 OK\r\n${Array.from({ length: 5_000 }, (_, i) => `X${i}: a`).join('\r\n')}\r\n\r\n`,
      ),
    ],
    ['says 100 for ever', (socket) => pour(socket, 'HTTP/1.1 100 Continue\r\n\r\n')],
    ['says 103 seventeen times', answer(`${EARLY.repeat(17)}${ok(200)}`), 'protocol'],
    ['says 103 for ever', (socket) => pour(socket, EARLY)],
    ['says 102 for ever', (socket) => pour(socket, 'HTTP/1.1 102 Processing\r\n\r\n')],
    ['has a reason of a megabyte', answer(`HTTP/1.1 200 ${'a'.repeat(1e6)}`)],
    ['folds its headers', answer('HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n')],
    ['ends its lines without a return', answer('HTTP/1.1 200 OK\nContent-Length: 0\n\n')],
    ['answers as HTTP/0.9', answer('<html>200 OK</html>')],
    ['answers as HTTP/2', (socket) => void socket.write(Buffer.from('00000c040000000000', 'hex'))],
    ['has a length below zero', answer('HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n')],
    ['has a status of four digits', answer('HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n')],
    ['resets at once', (socket) => void socket.destroy()],
    ['ends at once', (socket) => void socket.end()],
    ['speaks something else', answer('SSH-2.0-OpenSSH_9.9\r\n')],
    ['has status 000', answer('HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n')],
    ['has two lengths', answer('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n')],
    [
      'has a length and chunks',
      answer('HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
    ],
    [
      'switches to another protocol',
      (socket) => void socket.write('HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
      'protocol',
    ],
  ]
  it.each(hopeless)('fails in time, because it %s', async (_, behave, code) => {
    const { port } = await receiver(behave)
    expect(await post(port)).toMatchObject({ ...failing, ...(code === undefined ? {} : { code }) })
  })

  it.each(RECEIVERS.filter(({ want }) => want === 'failed'))(
    'fails in time because of $id, $why',
    async ({ raw, ends }) => {
      const { port } = await receiver(saying(raw, ends))
      expect(await post(port)).toMatchObject(failing)
    },
  )

  it('fails in time when no server listens, or none speaks TLS', async () => {
    const port = await listening(createServer())
    expect(await post(port)).toEqual({ kind: 'failed', code: 'timeout' })
    open.splice(0).forEach((server) => server.close())
    for (const socket of sockets) socket.destroy()
    expect(await post(port)).toEqual({ kind: 'failed', code: 'connection' })
  })

  it.each([
    ['its certificate is signed by itself', 'self', {}],
    ['its certificate has expired', 'expired', {}],
    ['its certificate is for another name', 'other', {}],
    [
      'it speaks TLS 1.1 at the most',
      'good',
      { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    ],
    ['it wants a certificate of ours', 'good', { requestCert: true, rejectUnauthorized: true }],
    ['it speaks HTTP/2 only', 'good', { ALPNProtocols: ['h2'] }],
    [
      'its key exchange costs us a third of a second',
      'good',
      { ecdhCurve: 'ffdhe8192', minVersion: 'TLSv1.3' },
    ],
  ] as const)('gets nothing, because %s', async (_, name, options) => {
    const own = { cert: read(`${name}.crt`), key: read(`${name}.key`), ...options }
    const { port, heard } = await receiver(answer(ok(200)), own)
    expect(await post(port)).toEqual({ kind: 'failed', code: 'tls' })
    expect(heard).toEqual([])
  })
})

describe('fetch, for libraries', () => {
  const guarded = (port: number) => createOutbound({ allowed: parseAllowed(`127.0.0.1/32:${port}`), ca })
  const init = { method: 'GET', headers: { accept: 'application/json' }, deadlineMs: DEADLINE_MS }

  it('returns the whole answer for any status, and follows no redirect', async () => {
    const { port, heard } = await receiver(
      answer('HTTP/1.1 302 X\r\nLocation: /x\r\nContent-Length: 2\r\n\r\nhi'),
    )
    const response = await guarded(port).fetch(`https://127.0.0.1:${port}/a`, init)
    expect([response.status, response.headers.get('location'), await response.text()]).toEqual([
      302,
      '/x',
      'hi',
    ])
    expect(heard[0]).toMatch(/^GET \/a HTTP\/1\.1\r\n/)
    const empty = await receiver(answer('HTTP/1.1 204 X\r\n\r\n'))
    expect((await guarded(empty.port).fetch(`https://127.0.0.1:${empty.port}/`, init)).status).toBe(204)
  })

  it("throws fetch's errors for a forbidden URL, an endless answer, and a dripping one", async () => {
    const cause = async (asked: Promise<unknown>): Promise<unknown> =>
      asked.then(
        () => 'answered',
        (error: unknown) => (error instanceof TypeError ? error.cause : error),
      )
    expect(await cause(guarded(1).fetch('https://10.0.0.1/', init))).toBe('refused_url')
    const endless = await receiver((socket) => (socket.write(HEAD), pour(socket, CHUNK)))
    expect(await cause(guarded(endless.port).fetch(`https://127.0.0.1:${endless.port}/`, init))).toBe(
      'protocol',
    )
    const dripping = await receiver((socket) => (socket.write(HEAD), drip(socket, '1\r\na\r\n')))
    expect(await cause(guarded(dripping.port).fetch(`https://127.0.0.1:${dripping.port}/`, init))).toBe(
      'timeout',
    )
  })
})

describe('a name', () => {
  const lookup = (host: string, dnsServers: string[]): Promise<Sent> =>
    createOutbound({ allowed: [], ca, dnsServers }).post(`https://${host}/`, {
      headers: {},
      body: '{}',
      deadlineMs: DEADLINE_MS,
    })

  it('fails in time without an answer from DNS', async () => {
    const silent = await import('node:dgram').then(({ createSocket }) => createSocket('udp4'))
    await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve))
    const sent = await inTime(() => lookup('pub.test', [`127.0.0.1:${silent.address().port}`]))
    expect(sent).toEqual({ kind: 'failed', code: 'timeout' })
    silent.close()
  })

  it('drops a final dot for TLS', async () => {
    const told: string[] = []
    const { port } = await receiver((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'), {
      SNICallback: (name, done) => {
        told.push(name)
        done(null)
      },
    })
    const guard = createOutbound({
      allowed: parseAllowed(`127.0.0.1/32:${port}`),
      ca,
      dnsServers: [`127.0.0.1:${await answeringDns()}`],
    })
    const sending = { headers: {}, body: '{}', deadlineMs: DEADLINE_MS }
    expect(await guard.post(`https://other.test.:${port}/`, sending)).toEqual({ kind: 'failed', code: 'tls' })
    expect(await guard.post(`https://localhost.:${port}/`, sending)).toMatchObject({ status: 200 })
    expect(told).toEqual(['other.test', 'localhost'])
    guard.close()
  })

  it('fails with no_address for a missing name', async () => {
    const port = await refusingDns()
    expect(await lookup('pub.test', [`127.0.0.1:${port}`])).toEqual({ kind: 'failed', code: 'no_address' })
  })
})

/** Answers NXDOMAIN to everything. */
const refusingDns = (): Promise<number> =>
  dns((question) => {
    const reply = Buffer.from(question)
    reply.writeUInt16BE(0x8583, 2)
    return reply
  })

/** Answers 127.0.0.1 to everything. */
const answeringDns = (): Promise<number> =>
  dns((question) => {
    const end = question.indexOf(0, 12) + 5
    const isForIPv4 = question.readUInt16BE(end - 4) === 1
    const reply = Buffer.from(question.subarray(0, end))
    reply.writeUInt16BE(0x8180, 2)
    reply.writeUInt16BE(isForIPv4 ? 1 : 0, 6)
    reply.writeUInt32BE(0, 8)
    return Buffer.concat([reply, Buffer.from(isForIPv4 ? 'c00c000100010000000000047f000001' : '', 'hex')])
  })

async function dns(answer: (question: Buffer) => Buffer): Promise<number> {
  const { createSocket } = await import('node:dgram')
  const socket = createSocket('udp4')
  socket.on('message', (question, from) => socket.send(answer(question), from.port, from.address))
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  socket.unref()
  return socket.address().port
}

describe('a kept connection', () => {
  /** `count` is of the requests on one connection. */
  const keeping = (behave: (socket: Socket, count: number) => void) => {
    return receiver((socket) => {
      let count = 0
      const answer = (): void => behave(socket, ++count)
      socket.on('data', answer)
      answer()
    })
  }
  const sending = { headers: {}, body: '{}', deadlineMs: DEADLINE_MS }

  it('serves the next attempt, and closes with the guard', async () => {
    const { port, connections } = await keeping((socket) => void socket.write(ok(200)))
    const outbound = createOutbound({ allowed: parseAllowed(`127.0.0.1/32:${port}`), ca })
    let tries = 0
    // a connection is kept once its answer is read to the end, a moment after the status
    await vi.waitFor(async () => {
      tries += 1
      expect(await outbound.post(`https://127.0.0.1:${port}/`, sending)).toEqual(answered(200))
      expect(connections()).toBeLessThan(tries)
    }, PATIENT)
    outbound.close()
    await vi.waitFor(() => expect(sockets.size).toBe(0), PATIENT)
  })

  it('serves no attempt after a minute, because its name may have moved', async () => {
    const now = performance.now.bind(performance)
    let later = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + later)
    try {
      const { port, connections } = await keeping((socket) => {
        later += 60_000
        socket.write(ok(200))
      })
      const outbound = createOutbound({ allowed: parseAllowed(`127.0.0.1/32:${port}`), ca })
      for (let tries = 1; tries <= 20; tries++) {
        const answer = await outbound.post(`https://127.0.0.1:${port}/`, { ...sending, deadlineMs: 120_000 })
        expect([answer, connections()]).toEqual([answered(200), tries])
      }
      outbound.close()
    } finally {
      clock.mockRestore()
    }
  })

  it('is replaced without a failure when the receiver has closed it', async () => {
    const { port, connections } = await keeping((socket, count) => {
      if (count === 1) socket.write(ok(200))
      else socket.destroy()
    })
    const outbound = createOutbound({ allowed: parseAllowed(`127.0.0.1/32:${port}`), ca })
    for (let i = 0; i < 4; i++)
      expect(await outbound.post(`https://127.0.0.1:${port}/`, sending)).toEqual(answered(200))
    expect(connections()).toBeGreaterThan(1)
    outbound.close()
  })

  it('gives the receiver no second deadline when it is reset late', async () => {
    const { port, connections } = await keeping((socket, count) => {
      if (connections() > 1) return
      if (count === 1) socket.write(ok(200))
      else setTimeout(() => socket.destroy(), DEADLINE_MS - GRACE_MS)
    })
    const outbound = createOutbound({ allowed: parseAllowed(`127.0.0.1/32:${port}`), ca })
    const url = `https://127.0.0.1:${port}/`
    expect(await outbound.post(url, sending)).toEqual(answered(200))
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(await inTime(() => outbound.post(url, sending))).toEqual({ kind: 'failed', code: 'timeout' })
    expect(connections()).toBe(2)
    outbound.close()
  })

  it.each([
    ['says more than it was asked', (socket: Socket) => void socket.write(ok(299))],
    ['goes on with its body', (socket: Socket) => drip(socket, 'a')],
  ])('is closed when the receiver %s', async (_, behave) => {
    const { port, connections } = await keeping((socket, count) => {
      socket.write(ok(connections() === 1 && count === 1 ? 200 : 500))
      if (connections() === 1) setTimeout(() => behave(socket), 20)
    })
    const outbound = createOutbound({ allowed: parseAllowed(`127.0.0.1/32:${port}`), ca })
    expect(await outbound.post(`https://127.0.0.1:${port}/`, sending)).toEqual(answered(200))
    await vi.waitFor(() => expect(sockets.size).toBe(0), PATIENT)
    expect(await outbound.post(`https://127.0.0.1:${port}/`, sending)).toEqual(answered(500))
    expect(connections()).toBe(2)
    outbound.close()
  })

  it('serves one URL only, so that stray bytes answer no other delivery', async () => {
    const { port, connections, heard } = await keeping((socket) => void socket.write(ok(200)))
    const outbound = createOutbound({ allowed: parseAllowed(`127.0.0.1/32:${port}`), ca })
    for (const path of ['a', 'b', 'a?b'])
      await vi.waitFor(async () => {
        expect(await outbound.post(`https://127.0.0.1:${port}/${path}`, sending)).toEqual(answered(200))
        expect(heard.some((text) => text.startsWith(`POST /${path} `))).toBe(true)
      }, PATIENT)
    expect(connections()).toBe(3)
    outbound.close()
  })

  it('closes after a status that is not final', async () => {
    const { port } = await keeping((socket) => void socket.write('HTTP/1.1 101 X\r\n\r\n'))
    const outbound = createOutbound({ allowed: parseAllowed(`127.0.0.1/32:${port}`), ca })
    expect(await outbound.post(`https://127.0.0.1:${port}/`, sending)).toMatchObject(failing)
    await vi.waitFor(() => expect(sockets.size).toBe(0), PATIENT)
    outbound.close()
  })
})

describe('a try', () => {
  it('stops with the gateway', async () => {
    const { port } = await receiver(() => controller.abort())
    const controller = new AbortController()
    const outbound = createOutbound({ allowed: parseAllowed(`127.0.0.1/32:${port}`), ca })
    const sending = { headers: {}, body: '{}', deadlineMs: 60_000, signal: controller.signal }
    const sent = await outbound.post(`https://127.0.0.1:${port}/`, sending)
    expect(sent).toEqual({ kind: 'failed', code: 'stopped' })
    const again = await outbound.post(`https://127.0.0.1:${port}/`, sending)
    expect(again).toEqual({ kind: 'failed', code: 'stopped' })
  })

  it('leaves no listener on the common stop signal, however it ends', async () => {
    const { signal } = new AbortController()
    const receivers = [
      answer(ok(200)),
      (socket: Socket) => void socket.destroy(),
      answer('HTTP/1.1 000 X\r\n\r\n'),
    ]
    for (const behave of receivers) {
      const { port } = await receiver(behave)
      const outbound = createOutbound({ allowed: parseAllowed(`127.0.0.1/32:${port}`), ca })
      await outbound.post(`https://127.0.0.1:${port}/`, {
        headers: {},
        body: '',
        deadlineMs: DEADLINE_MS,
        signal,
      })
      expect(getEventListeners(signal, 'abort')).toEqual([])
      outbound.close()
    }
  })

  it('sends the exact body, with its length and the given headers', async () => {
    const { port, heard } = await receiver(answer(ok(200)))
    const outbound = createOutbound({ allowed: parseAllowed(`127.0.0.1/32:${port}`), ca })
    const body = '{"text":"Grüße"}'
    const headers = { 'content-type': 'application/json', 'x-guard-signature': 'sha256=00' }
    await outbound.post(`https://localhost:${port}/a?b=c`, { headers, body, deadlineMs: DEADLINE_MS })
    expect(heard[0]).toMatch(/^POST \/a\?b=c HTTP\/1\.1\r\n/)
    expect(heard[0]).toMatch(new RegExp(`\r\nhost: localhost:${port}\r\n`, 'i'))
    expect(heard[0]).toMatch(/\r\ncontent-length: 18\r\n/i)
    expect(heard[0]).toMatch(/\r\nx-guard-signature: sha256=00\r\n/i)
    expect(heard[0]?.endsWith(`\r\n\r\n${body}`)).toBe(true)
  })

  it('is not made to a refused URL, and the registration says why', async () => {
    const outbound = createOutbound({ allowed: [], ca })
    expect(outbound.refusalOf('http://pub.test/')).toMatch(/https/)
    expect(outbound.refusalOf('https://pub.test/')).toBeUndefined()
    const sending = { headers: {}, body: '', deadlineMs: DEADLINE_MS }
    expect(await outbound.post('https://127.0.0.1/', sending)).toEqual({
      kind: 'failed',
      code: 'refused_url',
    })
  })
})
