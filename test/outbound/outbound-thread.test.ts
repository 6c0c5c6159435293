import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { parseAllowed } from '../../src/outbound/address.ts'
import type { Outbound, Sent } from '../../src/outbound/outbound.ts'
import { createOutboundThread } from '../../src/outbound/outbound-thread.ts'
import { makeAuthority } from '../webhooks/certificates.ts'

/** Deliveries out of a thread: the same guard, and a thread that dies takes nothing with it but tries. */

const THREAD = new URL('../../dist/outbound/delivery-thread.js', import.meta.url)
const DEADLINE_MS = 5_000

let authority: ReturnType<typeof makeAuthority>
const read = (name: string): string => readFileSync(join(authority.directory, name), 'utf8')
beforeAll(() => {
  authority = makeAuthority()
  authority.issue('good', { names: ['IP:127.0.0.1'] })
})
afterAll(() => rmSync(authority.directory, { recursive: true, force: true }))

const open: Server[] = []
afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

type Heard = readonly [path: string | undefined, body: string, header: unknown]

async function receiver(behave: (response: ServerResponse) => void) {
  const heard: Heard[] = []
  const arrived: (() => void)[] = []
  const hear = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    heard.push([request.url, String(Buffer.concat(chunks)), request.headers['x-test']])
    for (const done of arrived.splice(0)) done()
    behave(response)
  }
  const server = createServer({ cert: read('good.crt'), key: read('good.key') }, (request, response) => {
    hear(request, response).catch(() => undefined)
  })
  open.push(server)
  const gone = new Promise<void>((resolve) =>
    server.on('secureConnection', (socket) => {
      socket.on('error', () => undefined)
      socket.once('close', () => resolve())
    }),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as { port: number }
  return { port, heard, gone, next: () => new Promise<void>((resolve) => arrived.push(resolve)) }
}

function threadFor(
  port: number,
  { url = THREAD, onError = () => undefined }: { url?: URL; onError?: (error: unknown) => void } = {},
): Outbound {
  const allowed = parseAllowed(`127.0.0.1/32:${port}`)
  const outbound = createOutboundThread({ allowed, ca: read('ca.crt'), url, onError })
  onTestFinished(() => outbound.close())
  return outbound
}

const post = (outbound: Outbound, url: string, signal?: AbortSignal): Promise<Sent> =>
  outbound.post(url, {
    headers: { 'x-test': 'yes' },
    body: '{"a":1}',
    deadlineMs: DEADLINE_MS,
    ...(signal && { signal }),
  })

/** Threads of this process. */
const threads = (): number => readdirSync('/proc/self/task').length

/** Once those of earlier tests have ended. */
async function threadsLeft(): Promise<number> {
  for (let seen = threads(); ; seen = threads()) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    if (threads() === seen) return seen
  }
}

describe('outbound requests in a thread', () => {
  it('outbound requests in a thread deliver the request and return the answer', async () => {
    const { port, heard } = await receiver((response) =>
      response.writeHead(429, { 'retry-after': '7' }).end('later'),
    )
    const sent = await post(threadFor(port), `https://127.0.0.1:${port}/hook`)
    expect(sent).toEqual({ kind: 'answered', status: 429, retryAfter: '7' })
    expect(heard).toEqual([['/hook', '{"a":1}', 'yes']])
  })

  it('outbound requests in a thread return each of many concurrent outcomes to its own request', async () => {
    const { port, heard } = await receiver((response) => response.end())
    const outbound = threadFor(port)
    const urls = Array.from({ length: 40 }, (_, i) =>
      i % 4 === 0 ? `https://10.0.0.${i}/` : `https://127.0.0.1:${port}/${i}`,
    )
    const sent = await Promise.all(urls.map((url) => post(outbound, url)))
    expect(sent.map((one) => (one.kind === 'answered' ? one.status : one.code))).toEqual(
      urls.map((_, i) => (i % 4 === 0 ? 'refused_url' : 200)),
    )
    expect(heard).toHaveLength(30)
  })

  it('outbound requests in a thread apply the guard: a forbidden URL is refused in both threads', async () => {
    const { port } = await receiver((response) => response.end())
    const outbound = threadFor(1)
    expect(outbound.refusalOf(`https://127.0.0.1:${port}/`)).toBeDefined()
    expect(await post(outbound, `https://127.0.0.1:${port}/`)).toEqual({
      kind: 'failed',
      code: 'refused_url',
    })
    expect(await post(outbound, 'https://169.254.169.254/')).toEqual({ kind: 'failed', code: 'refused_url' })
  })

  it('outbound requests in a thread end when they are cancelled, before or after they began', async () => {
    const hanging = await receiver(() => undefined)
    const outbound = threadFor(hanging.port)
    const stop = new AbortController()
    const arrived = hanging.next()
    const trying = post(outbound, `https://127.0.0.1:${hanging.port}/`, stop.signal)
    await arrived
    stop.abort()
    expect(await trying).toEqual({ kind: 'failed', code: 'stopped' })
    await hanging.gone
    const before = post(outbound, `https://127.0.0.1:${hanging.port}/`, stop.signal)
    expect(await before).toEqual({ kind: 'failed', code: 'stopped' })
    expect(hanging.heard).toHaveLength(1)
  })

  it('outbound requests in a thread fail when the thread dies, so that they are retried and reported', async () => {
    const { port } = await receiver((response) => response.end())
    const errors: unknown[] = []
    const url = new URL('./no-such-thread.js', import.meta.url)
    const outbound = threadFor(port, { url, onError: (error) => errors.push(error) })
    for (let i = 0; i < 2; i++)
      expect(await post(outbound, `https://127.0.0.1:${port}/`)).toEqual({
        kind: 'failed',
        code: 'connection',
      })
    expect(errors).toHaveLength(2)
  })

  it('outbound requests in a thread end a thread that is stuck, and continue in the next', async () => {
    const { port } = await receiver((response) => response.end())
    const directory = mkdtempSync(join(tmpdir(), 'countersign-stuck-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const url = new URL(`file://${directory}/stuck.mjs`)
    writeFileSync(url, 'for (;;);')
    const errors: unknown[] = []
    const outbound = threadFor(port, { url, onError: (error) => errors.push(error) })
    const sending = { headers: {}, body: '{}', deadlineMs: 1 }
    const stuck = Array.from({ length: 3 }, () => outbound.post(`https://127.0.0.1:${port}/`, sending))
    for (const one of stuck) expect(await one).toEqual({ kind: 'failed', code: 'connection' })
    expect(errors).toEqual([new Error('it did not answer')])
    writeFileSync(url, `await import(${JSON.stringify(THREAD.href)})`)
    expect(await post(outbound, `https://127.0.0.1:${port}/`)).toEqual({ kind: 'answered', status: 200 })
  })

  it('outbound requests in a thread give a receiver that resets late and then hangs only its own deadline', async () => {
    let connections = 0
    const hostile = await receiver((response) => {
      if (response.socket === null || connections > 1) return
      const { socket } = response
      if (hostile.heard.length === 1) response.end()
      else setTimeout(() => socket.destroy(), 3_500)
    })
    open.at(-1)?.on('secureConnection', () => (connections += 1))
    const slow = await receiver((response) => void setTimeout(() => response.end(), 1_500))
    const errors: unknown[] = []
    const allowed = parseAllowed(`127.0.0.1/32:${hostile.port},127.0.0.1/32:${slow.port}`)
    const outbound = createOutboundThread({
      allowed,
      ca: read('ca.crt'),
      url: THREAD,
      onError: (error) => errors.push(error),
    })
    onTestFinished(() => outbound.close())
    const to = (port: number): Promise<Sent> =>
      outbound.post(`https://127.0.0.1:${port}/`, { headers: {}, body: '{}', deadlineMs: 6_000 })
    expect(await to(hostile.port)).toEqual({ kind: 'answered', status: 200 })
    await new Promise((resolve) => setTimeout(resolve, 500))
    const hung = to(hostile.port)
    // A second connection with a deadline of its own would hang longer than the 8 s that the thread gets. The other
    // receiver is at work then.
    await new Promise((resolve) => setTimeout(resolve, 7_000))
    expect(await to(slow.port)).toEqual({ kind: 'answered', status: 200 })
    expect(await hung).toEqual({ kind: 'failed', code: 'timeout' })
    expect([errors, connections]).toEqual([[], 2])
  })

  it.runIf(process.platform === 'linux')(
    'outbound requests in a thread start a thread with the first delivery, and end it with close',
    async () => {
      const hanging = await receiver(() => undefined)
      const before = await threadsLeft()
      const outbound = threadFor(hanging.port)
      expect(threads()).toBe(before)
      const arrived = hanging.next()
      const trying = post(outbound, `https://127.0.0.1:${hanging.port}/`)
      await arrived
      expect(threads()).toBeGreaterThan(before)
      outbound.close()
      expect(await trying).toEqual({ kind: 'failed', code: 'stopped' })
    },
  )
})
