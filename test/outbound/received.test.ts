import { createSocket, type Socket as Datagrams } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { parseAllowed } from '../../src/outbound/address.ts'
import { createOutbound } from '../../src/outbound/outbound.ts'
import { RECEIVED_BYTES } from '../../src/outbound/received.ts'
import { makeAuthority } from '../webhooks/certificates.ts'
import { stopwatch } from '../stopwatch.ts'

/** Answers that cost bytes and time without any meaning: a receiver can send plenty of them. */

const DEADLINE_MS = 2_000
/** For events that are sure to happen. */
const PATIENT = { timeout: 60_000 }
/**
 * The guard may read two megabytes, and buffers of the kernel take more of the written bytes. Without a limit it would
 * be hundreds.
 */
const WRITTEN_BYTES = 20e6

let authority: ReturnType<typeof makeAuthority>
const read = (name: string): string => readFileSync(join(authority.directory, name), 'utf8')

beforeAll(() => {
  authority = makeAuthority()
  authority.issue('good', { names: ['DNS:pub.test', 'IP:127.0.0.1'] })
})
afterAll(() => rmSync(authority.directory, { recursive: true, force: true }))

const open = new Set<Server>()
const sockets = new Set<Socket>()
let written = 0
let connections = 0
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of open) server.close()
  open.clear()
  written = 0
  connections = 0
})

async function listening(server: Server): Promise<number> {
  open.add(server)
  server.on('connection', (socket: Socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      sockets.delete(socket)
      written += socket.bytesWritten
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as { port: number }).port
}

/** Calls `behave` with each connection once it has received a request, or the first bytes of TLS. */
function receiver(behave: (socket: Socket) => void, secure = true): Promise<number> {
  const heard = (socket: Socket): void => {
    socket.on('error', () => undefined)
    socket.once('data', () => behave(socket))
  }
  if (!secure) return listening(createServer(heard))
  return listening(createTlsServer({ cert: read('good.crt'), key: read('good.key') }, heard))
}

function pour(socket: Socket, text: string | Buffer): void {
  const piece = Buffer.from(text)
  const many = Buffer.concat(Array.from({ length: Math.ceil(65_536 / piece.length) }, () => piece))
  const go = (): void => {
    while (socket.writable && socket.write(many));
    if (socket.writable) socket.once('drain', go)
  }
  go()
}

const guarded = (port: number, dnsServers: string[] = []) =>
  createOutbound({
    allowed: parseAllowed(`127.0.0.1/32:${port}`),
    ca: read('ca.crt'),
    ...(dnsServers.length === 0 ? {} : { dnsServers }),
  })
const sending = { headers: {}, body: '{}', deadlineMs: DEADLINE_MS }
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const OK_200 = { kind: 'answered', status: 200 }
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'

describe('a receiver that sends endless uncounted bytes', () => {
  it.each([
    ['blank lines before its answer', '\r\n', 'protocol', true],
    [
      'requests for another handshake within the first',
      Buffer.from('160303000400000000', 'hex'),
      'tls',
      false,
    ],
  ] as const)('a receiver that sends %s is cut off before the deadline', async (_, text, code, secure) => {
    const port = await receiver((socket) => pour(socket, text), secure)
    const tookMs = stopwatch()
    expect(await guarded(port).post(`https://127.0.0.1:${port}/`, sending)).toEqual({ kind: 'failed', code })
    expect(tookMs()).toBeLessThan(DEADLINE_MS)
    await vi.waitFor(() => expect(sockets.size).toBe(0), PATIENT)
    expect(written).toBeLessThan(WRITTEN_BYTES)
  })

  it.each([
    ['zeros before the size of a chunk', '0'],
    ['extensions of chunks of one byte', `1;${'a'.repeat(16_000)}\r\na\r\n`],
  ])('a receiver that sends %s has answered, and is cut off', async (_, text) => {
    const port = await receiver((socket) => {
      socket.write(CHUNKED)
      pour(socket, text)
    })
    const sent = await guarded(port).post(`https://127.0.0.1:${port}/`, sending)
    expect(sent).toEqual(OK_200)
    await vi.waitFor(() => expect(sockets.size).toBe(0), PATIENT)
    expect(written).toBeLessThan(WRITTEN_BYTES)
  })

  it('fails a fetch before its deadline', async () => {
    const port = await receiver((socket) => {
      socket.write(CHUNKED)
      pour(socket, '0')
    })
    const tookMs = stopwatch()
    const fetching = guarded(port).fetch(`https://127.0.0.1:${port}/`, { method: 'GET', ...sending })
    await expect(fetching).rejects.toBeInstanceOf(TypeError)
    expect(tookMs()).toBeLessThan(DEADLINE_MS)
    await vi.waitFor(() => expect(sockets.size).toBe(0), PATIENT)
  })
})

describe('a receiver that sends its status just before the deadline', () => {
  it('has answered, and may continue its body until the deadline', async () => {
    const deadlineMs = 2_000
    const port = await receiver((socket) => {
      setTimeout(() => {
        socket.write(CHUNKED)
        const dripping = setInterval(() => socket.write('1\r\na\r\n'), 20)
        socket.once('close', () => clearInterval(dripping))
      }, 1_500)
    })
    const tookMs = stopwatch()
    const outbound = guarded(port)
    expect(await outbound.post(`https://127.0.0.1:${port}/`, { ...sending, deadlineMs })).toEqual(OK_200)
    expect(sockets.size).toBe(1)
    await vi.waitFor(() => expect(sockets.size).toBe(0), { ...PATIENT, interval: 10 })
    expect(tookMs()).toBeLessThan(2 * deadlineMs)
    outbound.close()
  })
})

describe('a connection that is kept', () => {
  it('has its bytes counted separately for each attempt', async () => {
    const large = `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(12_000)}\r\nContent-Length: 50000\r\n\r\n${'a'.repeat(50_000)}`
    let pauseMs = 0
    const port = await receiver((socket) => {
      const answer = (): void => {
        if (pauseMs === 0) socket.write(large)
        else setTimeout(() => socket.write(large), pauseMs)
      }
      socket.on('data', answer)
      answer()
    })
    const outbound = guarded(port)
    const post = () => outbound.post(`https://127.0.0.1:${port}/`, sending)
    const least = (): number => Math.min(...[...sockets].map(({ bytesWritten }) => bytesWritten))
    expect(await post()).toEqual(OK_200)
    for (let tries = 0; tries < 2_000 && least() < 2 * RECEIVED_BYTES; tries++)
      expect(await post()).toEqual(OK_200)
    expect(least()).toBeGreaterThan(2 * RECEIVED_BYTES)
    // The pause is long enough for the guard to look at a connection. The loop ends once a post uses a kept connection.
    // The guard makes a new one while it has read no kept one to its end.
    pauseMs = 100
    for (let before = -1; before !== connections;) {
      before = connections
      expect(await post()).toEqual(OK_200)
    }
    outbound.close()
  })
})

/** A name server that answers 127.0.0.1, from when it is let. */
async function nameServer(): Promise<{
  server: Datagrams
  at: string
  answer: () => void
  asked: () => number
}> {
  const server = createSocket('udp4')
  const waiting: (() => void)[] = []
  let asked = 0
  let isOpen = false
  server.on('message', (question, from) => {
    asked += 1
    const type = question.readUInt16BE(question.indexOf(0, 12) + 1)
    const reply = Buffer.from(question.subarray(0, question.indexOf(0, 12) + 5))
    reply.writeUInt16BE(0x8180, 2)
    reply.writeUInt16BE(type === 1 ? 1 : 0, 6)
    reply.writeUInt32BE(0, 8)
    const record = type === 1 ? Buffer.from('c00c00010001000000000004' + '7f000001', 'hex') : Buffer.alloc(0)
    const send = (): void => server.send(Buffer.concat([reply, record]), from.port, from.address)
    if (isOpen) send()
    else waiting.push(send)
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  const answer = (): void => {
    isOpen = true
    for (const send of waiting.splice(0)) send()
  }
  return { server, at: `127.0.0.1:${server.address().port}`, answer, asked: () => asked }
}

describe('a name that resolves only after the deadline', () => {
  it('is no longer called', async () => {
    const port = await receiver((socket) => void socket.write(OK))
    const { server, at, answer, asked } = await nameServer()
    const outbound = guarded(port, [at])
    const url = `https://pub.test:${port}/`
    const late = await outbound.post(url, { ...sending, deadlineMs: 200 })
    expect([late, asked()]).toEqual([{ kind: 'failed', code: 'timeout' }, 2])
    answer()
    // asked later, it comes after what the first would have opened
    expect(await outbound.post(url, sending)).toEqual(OK_200)
    expect(connections).toBe(1)
    outbound.close()
    server.close()
  })
})
