import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClient } from '../../packages/sdk/src/client.ts'
import { collectGarbage } from '../garbage.ts'

/** The client's own limit of time. */

let server: Server
let heard = 0

beforeEach(async () => {
  heard = 0
  server = createServer((request, response) => {
    heard += 1
    // the head and the beginning of a body, or nothing at all
    if (request.url?.includes('begun')) response.writeHead(200).write('{')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const client = (timeoutMs: number) => {
  const { port } = server.address() as AddressInfo
  return createClient({ url: `http://127.0.0.1:${port}`, key: 'k', timeoutMs })
}

describe('a call without an answer', () => {
  it.each(['silent', 'begun'])('ends in time, even after garbage collection: %s', async (task) => {
    const { signal } = new AbortController()
    const call = client(2_000).submit(task, { tool_name: 't' }, { signal })
    const ended = expect(call).rejects.toMatchObject({ code: 'unreachable' })
    await expect.poll(() => heard).toBe(1)
    await collectGarbage()
    await ended
  })

  it('ends when the caller aborts', async () => {
    const controller = new AbortController()
    const call = client(60_000).submit('silent', { tool_name: 't' }, { signal: controller.signal })
    const ended = expect(call).rejects.toMatchObject({ code: 'unreachable' })
    await expect.poll(() => heard).toBe(1)
    controller.abort()
    await ended
    const late = client(60_000).submit('silent', { tool_name: 't' }, { signal: controller.signal })
    await expect(late).rejects.toMatchObject({ code: 'unreachable' })
  })
})

/**
 * Answers of a proxy or of a broken gateway. The law: the client reports each with its true status and code, and no
 * message contains a secret.
 */
describe('an answer that is not from the agent API', () => {
  const KEY = `csk_acme_${'k'.repeat(49)}`
  const TOKEN = `cst_${'t'.repeat(49)}`
  const answered = (body: string | ReadableStream | null, init: ResponseInit = {}, heard: string[] = []) =>
    createClient({
      url: 'http://127.0.0.1:1/',
      key: KEY,
      fetch: async (url) => {
        heard.push(url)
        return new Response(body, init)
      },
    })
  const problem = (members: object) => JSON.stringify({ code: 'c', detail: 'd', ...members })

  it.each<[string, string | ReadableStream | null, ResponseInit, object]>([
    ['a page in place of an answer', '<html>', { status: 200 }, { status: 200, code: 'unreadable' }],
    ['a page of a proxy', '<html>bad gateway', { status: 502 }, { status: 502, code: 'unreadable' }],
    ['a page in place of a refusal', '<html>', { status: 401 }, { status: 401, code: 'unreadable' }],
    ['a redirect', null, { status: 307, headers: { location: '/x' } }, { status: 307, code: 'unreadable' }],
    ['half an answer', '{"status":"al', {}, { code: 'unreadable' }],
    ['a list', '["allow"]', {}, { code: 'unreadable' }],
    ['an answer without a status', '{}', {}, { code: 'unreadable' }],
    [
      'a decision with another 2xx',
      '{"status":"allow"}',
      { status: 202 },
      { status: 202, code: 'unreadable' },
    ],
    ['a decision with 500', '{"status":"allow"}', { status: 500 }, { status: 500, code: 'unreadable' }],
    ['a code that is none', '{"code":{},"detail":"d"}', { status: 400 }, { status: 400, code: 'unreadable' }],
    ['complaints that are none', problem({ errors: 'no' }), { status: 400 }, { code: 'c', errors: [] }],
    [
      'some complaints that are none',
      problem({ errors: [null, 1, { pointer: '/a', message: 'b' }] }),
      { status: 400 },
      { code: 'c', errors: [{ pointer: '/a', message: 'b' }] },
    ],
    ...['-5', '', '1e9', 'NaN', 'soon', 'Sat, 01 Jan 2028 00:00:00 GMT'].map(
      (after): [string, string, ResponseInit, object] => [
        `Retry-After: ${after}`,
        problem({}),
        { status: 503, headers: { 'retry-after': after } },
        { code: 'c', retryAfter: undefined },
      ],
    ),
    ['a number of seconds', problem({}), { status: 503, headers: { 'retry-after': '7' } }, { retryAfter: 7 }],
  ])('%s', async (_, body, init, facts) => {
    const call = answered(body, init).submit('t', { tool_name: 't' })
    await expect(call).rejects.toMatchObject({ name: 'CountersignError', ...facts })
  })

  it('is refused for a `valid` that is not boolean, contracts that are not a list, or an event with another status', async () => {
    const unreadable = { code: 'unreadable' }
    const request = { task_id: 't', signature: TOKEN, request_payload: {} }
    await expect(answered('{"valid":"false"}').validate(request)).rejects.toMatchObject(unreadable)
    await expect(answered('{"tools":{}}').resolve(['t'])).rejects.toMatchObject(unreadable)
    const event = { event_type: 'e', event_summary: 's' }
    await expect(answered('{}', { status: 200 }).record('t', event)).rejects.toMatchObject(unreadable)
    expect(await answered('{"event_id":"e"}', { status: 201 }).record('t', event)).toEqual({ event_id: 'e' })
  })

  it('is not read forever, even when it is compressed', async () => {
    let sent = 0
    const endless = new ReadableStream<Uint8Array>({
      pull: (stream) => {
        stream.enqueue(new Uint8Array(1024 * 1024).fill(32))
        sent += 1
      },
    })
    await expect(answered(endless).submit('t', { tool_name: 't' })).rejects.toMatchObject({
      status: 200,
      code: 'unreadable',
    })
    expect(sent).toBeLessThan(40)
  })

  it('does not repeat keys and tokens that a refusal contains', async () => {
    const said = problem({
      detail: `sent: Bearer ${KEY}`,
      errors: [{ pointer: '/signature', message: TOKEN }],
    })
    const request = { task_id: 't', signature: TOKEN, request_payload: {} }
    const error: unknown = await answered(said, { status: 400 })
      .validate(request)
      .catch((cause: unknown) => cause)
    const { message, errors } = error as { message: string; errors: { message: string }[] }
    expect([message, errors[0]?.message]).toEqual(['c: sent: Bearer [secret]', '[secret]'])
    expect(inspect(error, { depth: 9 })).not.toMatch(/k{40}|t{40}/)
  })

  it('is requested at the given address, with the given parameters only', async () => {
    const heard: string[] = []
    const client = answered('{"status":"allow"}', {}, heard)
    await client.poll({ thread_id: 'x', task_id: undefined })
    await client.poll({ thread_id: undefined, task_id: 'a b' })
    expect(heard).toEqual([
      'http://127.0.0.1:1/api/agent/decisions?thread_id=x',
      'http://127.0.0.1:1/api/agent/decisions?task_id=a+b',
    ])
  })

  it('waits at most as long as the gateway holds a request, and not for an invalid time', async () => {
    const asked: unknown[] = []
    const client = createClient({
      url: 'http://127.0.0.1:1',
      key: 'k',
      fetch: async (_, { headers }) => {
        asked.push((headers as Record<string, string>)['prefer'])
        return new Response('{"status":"allow"}')
      },
    })
    for (const waitSeconds of [Number.NaN, -1, 0, 0.2, 54.5, Number.POSITIVE_INFINITY])
      await client.poll({ thread_id: 'x' }, { waitSeconds })
    expect(asked).toEqual([undefined, undefined, undefined, 'wait=1', 'wait=55', 'wait=55'])
  })

  it('rejects the promise for a value that cannot be sent', async () => {
    await expect(answered('{}').submit('\ud800', { tool_name: 't' })).rejects.toThrow(URIError)
    const payload = { n: 1n } as unknown as { n: number }
    await expect(answered('{}').submit('t', { tool_name: 't', payload })).rejects.toThrow(TypeError)
  })
})

describe('options with which no call could work', () => {
  const url = 'http://127.0.0.1:1'

  it('unusable options are refused at once', () => {
    const key = 'csk_x'
    const address = /`url` must be/
    for (const bad of ['', 'gateway', 'ftp://g', 'http://g?x=1', 'http://g#x'])
      expect(() => createClient({ url: bad, key })).toThrow(address)
    expect(() => createClient({ url, key: ' ' })).toThrow(/`key` must be/)
    for (const bad of ['', undefined])
      expect(() => createClient({ url, key: bad })).toThrow(/COUNTERSIGN_AGENT_KEY, or pass `key`/)
    for (const timeoutMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])
      expect(() => createClient({ url, key, timeoutMs })).toThrow(/`timeoutMs` must be/)
    expect(() => createClient({ url: `${url}/prefix/`, key: 'csk_x\n', timeoutMs: 1 })).not.toThrow()
  })

  it('unusable options are refused without showing the secret in a bad key or address', () => {
    const thrown = (options: { url: string; key: string }): string => {
      try {
        createClient(options)
      } catch (error) {
        return inspect(error)
      }
      return ''
    }
    for (const options of [
      { url, key: 'csk_canary\nx' },
      { url, key: '“csk_canary”' },
      { url: 'http://user:canary@127.0.0.1:1', key: 'csk_x' },
    ]) {
      expect(thrown(options)).toContain('TypeError')
      expect(thrown(options)).not.toContain('canary')
    }
  })
})
