import { createServer, type Server, type ServerOptions } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { createAdmission } from '../../../src/http/admission/admission.ts'
import { admittingServer } from '../../../src/http/server/shutdown.ts'
import { answerMalformed } from '../../../src/http/server/parse-errors.ts'
import { until } from '../../until.ts'
import { standStill } from '../../stand-still.ts'

/**
 * The server distinguishes a slow client from its own suspension. Client and server are one process. While it is
 * suspended, the written bytes wait in the system.
 */

const LIMIT_MS = 200
const STILL_MS = 2 * LIMIT_MS
const KEPT_MS = 300
const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
const POST = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n'

const servers: Server[] = []
afterEach(() => servers.splice(0).forEach((server) => server.close().closeAllConnections()))

const silent = { answered: () => undefined, aborted: () => undefined, route: () => undefined }

/**
 * The gateway's listener, with limits that a test can wait for. With `reads: false` it never looks at the body of a
 * POST.
 */
async function open({ reads = true } = {}): Promise<{ server: Server; say: () => Client }> {
  const malformed = answerMalformed(silent, LIMIT_MS)
  const sender = { tenant: '?', holder: '?' }
  const admission = createAdmission({ bodyBytes: 1_000, senderOf: () => sender, onOverload: () => undefined })
  const http: ServerOptions = { headersTimeout: LIMIT_MS, connectionsCheckingInterval: 20 }
  const timeouts = { http, requestTimeout: LIMIT_MS, keepAliveTimeout: KEPT_MS }
  const server = admittingServer(admission, malformed)((request, response) => {
    if (!reads && request.method === 'POST') return
    request.resume()
    request.on('end', () => response.end('served'))
  }, timeouts as never)
  server.on('clientError', (error, socket) => malformed(error, socket as Socket))
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { server, say: () => new Client((server.address() as AddressInfo).port) }
}

class Client {
  readonly socket: Socket
  text = ''
  ended = false
  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('data', (chunk: Buffer) => (this.text += chunk.toString('latin1')))
    this.socket.on('close', () => (this.ended = true))
    this.socket.on('error', () => undefined)
  }
  statuses(): string[] {
    return Array.from(this.text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status as string)
  }
  async answers(count: number): Promise<string[]> {
    await until(() => this.ended || this.statuses().length >= count)
    return this.statuses()
  }
}

/** Until the server has read all that was written so far. */
async function heard(client: Client, connection: Promise<unknown[]>): Promise<void> {
  const [socket] = (await connection) as [Socket]
  await until(() => socket.bytesRead === client.socket.bytesWritten)
}

describe('a server that was suspended', () => {
  it.each([
    ['a header', '', GET.slice(0, 20), GET.slice(20)],
    ['a header on a connection that was used before', GET, GET.slice(0, 20), GET.slice(20)],
    ['a body', '', POST, 'abcdef'],
    ['a body on a connection that was used before', POST + 'abcdef', POST + 'abc', 'def'],
  ])('200 for %s that arrived during the suspension', async (_, before, first, second) => {
    const { server, say } = await open()
    const connection = once(server, 'connection')
    const client = say()
    const expected = before === '' ? ['200'] : ['200', '200']
    client.socket.write(before)
    await client.answers(expected.length - 1)
    client.socket.write(first)
    await heard(client, connection)
    client.socket.write(second)
    standStill(STILL_MS)
    expect(await client.answers(expected.length)).toEqual(expected)
    expect(client.ended).toBe(false)
    // a connection that was spared once is watched like any other
    client.socket.write(GET)
    expect(await client.answers(expected.length + 1)).toEqual([...expected, '200'])
  })

  it('200 for a first request that arrived during the suspension', async () => {
    const { server, say } = await open()
    const client = say()
    await once(server, 'connection')
    client.socket.write(GET)
    standStill(STILL_MS)
    expect(await client.answers(1)).toEqual(['200'])
  })

  it('200 for a request on a kept connection that timed out during the suspension', async () => {
    const { say } = await open()
    const client = say()
    client.socket.write(GET)
    await client.answers(1)
    client.socket.write(GET)
    standStill(2_000)
    expect(await client.answers(2)).toEqual(['200', '200'])
  })

  it('sends no 408 while received bytes of a body are still unread', async () => {
    const { say } = await open({ reads: false })
    const client = say()
    client.socket.write(`${POST}abc`)
    await new Promise((resolve) => setTimeout(resolve, 4 * LIMIT_MS))
    expect([client.text, client.ended]).toEqual(['', false])
  })
})

describe('a client that is too slow', () => {
  it.each([
    ['a header', '', GET.slice(0, 20)],
    ['a header on a connection that was used before', GET, GET.slice(0, 20)],
    ['a body', '', `${POST}abc`],
    ['a body on a connection that was used before', GET, `${POST}abc`],
  ])('408 for %s that stops half-way', async (_, before, half) => {
    const { say } = await open()
    const client = say()
    client.socket.write(before + half)
    const expected = before === '' ? ['408'] : ['200', '408']
    expect(await client.answers(expected.length)).toEqual(expected)
    await until(() => client.ended)
  })

  it('408 even when the server was suspended, once it has read again', async () => {
    const { server, say } = await open()
    const connection = once(server, 'connection')
    const client = say()
    client.socket.write(GET.slice(0, 10))
    await heard(client, connection)
    client.socket.write(GET.slice(10, 20))
    standStill(STILL_MS)
    expect(await client.answers(1)).toEqual(['408'])
  })

  it('a connection without any data ends without an answer', async () => {
    const { say } = await open()
    const client = say()
    await until(() => client.ended)
    expect(client.text).toBe('')
  })

  it('an idle kept connection ends without an answer', async () => {
    const { say } = await open()
    const client = say()
    client.socket.write(GET)
    await until(() => client.ended)
    expect(client.statuses()).toEqual(['200'])
  })
})

it('Node.js alone answers 408 to a complete request after a suspension (the tests above can fail)', async () => {
  const limits = { headersTimeout: LIMIT_MS, requestTimeout: LIMIT_MS, connectionsCheckingInterval: 20 }
  const server = createServer(limits, (_, response) => response.end())
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = new Client((server.address() as AddressInfo).port)
  await once(server, 'connection')
  client.socket.write(GET)
  standStill(STILL_MS)
  expect(await client.answers(1)).toEqual(['408'])
})
