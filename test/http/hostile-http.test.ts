import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { beforeAll, describe, expect, it } from 'vitest'
import { exchange, type Reply } from './socket.ts'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import { approved, held } from '../gateway-fixture.ts'

/**
 * Hostile bytes on a TCP socket. They must not crash the gateway, change state, smuggle a second request, or get a
 * token out.
 */

interface Entry {
  readonly id: string
  readonly category: string
  readonly want: string
  readonly why: string
  readonly raw?: string
  readonly gen?: string
}

const FILE = new URL('../data/hostile/hostile-http.json', import.meta.url)
const { entries } = JSON.parse(readFileSync(FILE, 'utf8')) as { entries: Entry[] }

let names: Record<string, string>

agentWorld()
beforeAll(async () => {
  const revoked = await world.agent('other')
  await world.admin('DELETE', 'agents/acme/other/key')
  const one = await approved(bot, ann)
  names = {
    KEY_OTHER_TENANT: (await world.agent('bot', 'globex')).key,
    KEY2: (await world.agent('unsigned')).key,
    KEY: bot.key,
    REVOKED: revoked.key,
    APPROVAL_TOKEN: one.token,
  }
})

/** Text with its placeholders filled; the longest names first, so that $KEY2 is not $KEY. */
function filled(text: string, thread: string): string {
  const all = { ...names, THREAD: thread }
  return Object.keys(all)
    .toSorted((a, b) => b.length - a.length)
    .reduce(
      (result, name) => result.replaceAll(`$${name}`, () => (all as Record<string, string>)[name] ?? ''),
      text,
    )
}

const HEAD = 'Host: gw.test\r\nAuthorization: Bearer $KEY\r\n'
const BODY = '{"tool_name":"t"}'
const JSON_BODY = `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
const post = (path: string, headers = '', rest = JSON_BODY): string =>
  `POST ${path} HTTP/1.1\r\n${HEAD}${headers}${rest}`
const requests = (headers: string, rest = JSON_BODY): string =>
  post('/api/agent/tasks/a/requests', headers, rest)
const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\n${HEAD}${headers}\r\n`
const poll = (query: string, headers = ''): string => get(`/api/agent/decisions?${query}`, headers)

const DEEP = `{"tool_name":"t","payload":${'['.repeat(9_000)}${']'.repeat(9_000)}}`
const GENERATED: Readonly<Record<string, string>> = {
  '20 kB chunk extension': requests(
    'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n',
    `\r\n11;${'x'.repeat(20_000)}\r\n${BODY}\r\n0\r\n\r\n`,
  ),
  '17 kB header': get('/api/agent/decisions?task_id=a', `X: ${'x'.repeat(17_000)}\r\n`),
  '9 kB URL': get(`/api/agent/decisions?task_id=${'x'.repeat(9_000)}`),
  'depth 9,000': requests(
    '',
    `Content-Type: application/json\r\nContent-Length: ${DEEP.length}\r\n\r\n${DEEP}`,
  ),
  'Authorization: Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa': `GET /api/agent/decisions?task_id=a HTTP/1.1\r\nHost: gw.test\r\nAuthorization: Bearer ${'a'.repeat(9_000)}\r\n\r\n`,
}

/**
 * Statuses that fulfil `want`, where its text alone is not enough. `design` gives the reason where the design decides
 * otherwise.
 */
const EXPECTED: Readonly<Record<string, { statuses: number[]; design?: string }>> = {
  H014: { statuses: [400] },
  H015: { statuses: [200] },
  H033: { statuses: [415], design: 'two Content-Type headers are not one media type: 415' },
  H041: { statuses: [417] },
  H054: { statuses: [400, 413], design: "Node's parser answers an overlong chunk extension with 413" },
  H056: { statuses: [401], design: 'the trailer is ignored, so the call has no key' },
  H066: { statuses: [200], design: 'task ids have up to 128 characters; 129 are a 400 problem' },
  H068: { statuses: [413] },
  H077: { statuses: [200] },
  H087: { statuses: [200], design: 'task ids may hold `:`; nothing in the store is separated by it' },
  H090: { statuses: [404], design: 'a letter that is escaped without need is another path: none of ours' },
  H102: { statuses: [400] },
  H120: { statuses: [404] },
}

function expected(entry: Entry): number[] {
  const known = EXPECTED[entry.id]
  if (known) return known.statuses
  return [...entry.want.matchAll(/\b[245]\d\d\b/g)].map((match) => Number(match[0]))
}

describe('every answer', () => {
  it.each([
    ['of a probe', 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['of an unknown path', 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['to a stranger', 'GET /api/agent/decisions HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['of the console', 'GET /console/ HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['that is HTTP no longer', 'NONSENSE\r\n\r\n'],
  ])('%s says that browsers must not guess its type', async (_, request) => {
    expect((await exchange(world.url, [request])).text.toLowerCase()).toContain(
      'x-content-type-options: nosniff',
    )
  })
})

describe('hostile HTTP', () => {
  it('contains every entry of the file', () => {
    expect(entries.length).toBe(86)
    expect(new Set(entries.map(({ id }) => id)).size).toBe(86)
  })

  it.each(entries.map((entry) => [entry.id, entry.why.slice(0, 80), entry.want, entry] as const))(
    '%s (%s) is answered %s',
    async (_, __, ___, entry) => {
      const { thread } = await held(bot)
      await ann.approve(thread)
      const text = entry.raw ?? GENERATED[entry.gen ?? '']
      if (text === undefined) throw new Error(`no bytes for ${entry.gen}`)
      const before = await threadsAndRecords()
      const reply = await exchange(world.url, [filled(text, thread)])
      expect(expected(entry), reply.text.slice(0, 300)).toContain(reply.status)
      expect(reply.answers, 'the second message is never read').toBe(1)
      if (entry.category === 'framing' && reply.status !== 401) expect(reply.closed).toBe(true)
      checkHead(reply)
      if (reply.status >= 400) await expectUntouched(thread, before)
    },
  )
})

const FILLING = 'a:\r\n'.repeat(1_200)
const typed = (parameter: string): string =>
  `Content-Type: application/json; ${parameter}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`

/** Our own, and what the gaps of the file may hold: name, bytes, statuses, answers on the connection. */
const OURS: readonly (readonly [string, string, number[], number?])[] = [
  ['HEAD on the poll', `HEAD /api/agent/decisions?thread_id=$THREAD HTTP/1.1\r\n${HEAD}\r\n`, [404]],
  ['HEAD on evaluate', `HEAD /api/agent/tasks/a/requests HTTP/1.1\r\n${HEAD}\r\n`, [404]],
  ['PATCH on evaluate', `PATCH /api/agent/tasks/a/requests HTTP/1.1\r\n${HEAD}\r\n`, [404]],
  ['CONNECT', `CONNECT gw.test:443 HTTP/1.1\r\n${HEAD}\r\n`, [400]],
  ['QUERY on the poll', `QUERY /api/agent/decisions?thread_id=$THREAD HTTP/1.1\r\n${HEAD}\r\n`, [400, 404]],
  ['lower-case method', `post /api/agent/tasks/a/requests HTTP/1.1\r\n${HEAD}${JSON_BODY}`, [400]],
  [
    'method override',
    post('/api/agent/decisions?thread_id=$THREAD', 'X-HTTP-Method-Override: GET\r\n'),
    [404],
  ],
  ['HTTP/1.0 without Host', `GET /livez HTTP/1.0\r\n\r\n`, [200, 400]],
  ['HTTP/0.9', 'GET /livez\r\n\r\n', [400]],
  ['HTTP/3.0', 'GET /livez HTTP/3.0\r\nHost: x\r\n\r\n', [400]],
  ['an asterisk as target', `OPTIONS * HTTP/1.1\r\n${HEAD}\r\n`, [400]],
  ['no Authorization', 'GET /api/agent/decisions?thread_id=$THREAD HTTP/1.1\r\nHost: gw.test\r\n\r\n', [401]],
  ['two Authorizations', poll('thread_id=$THREAD', 'Authorization: Bearer $KEY2\r\n'), [401]],
  ['the same Authorization twice', poll('thread_id=$THREAD', 'Authorization: Bearer $KEY\r\n'), [401]],
  [
    'two spaces',
    'GET /api/agent/decisions?thread_id=$THREAD HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer  $KEY\r\n\r\n',
    [401],
  ],
  [
    'no space',
    'GET /api/agent/decisions?thread_id=$THREAD HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer$KEY\r\n\r\n',
    [401],
  ],
  [
    'the key in the query',
    'GET /api/agent/decisions?thread_id=$THREAD&access_token=$KEY HTTP/1.1\r\nHost: x\r\n\r\n',
    [401],
  ],
  [
    'the key in a cookie',
    'GET /api/agent/decisions?thread_id=$THREAD HTTP/1.1\r\nHost: x\r\nCookie: Authorization=$KEY\r\n\r\n',
    [401],
  ],
  [
    'the key as user and password',
    'GET /api/agent/decisions?thread_id=$THREAD HTTP/1.1\r\nHost: x\r\nAuthorization: Basic JEtFWTo=\r\n\r\n',
    [401],
  ],
  [
    'NUL in the key',
    'GET /api/agent/decisions?thread_id=$THREAD HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer $KEY\u0000\r\n\r\n',
    [400],
  ],
  ['two Hosts', get('/livez', 'Host: other.test\r\n'), [400]],
  ['Host with a path', 'GET /livez HTTP/1.1\r\nHost: x/../y\r\n\r\n', [400]],
  ['absolute URI of the same host', `GET http://gw.test/livez HTTP/1.1\r\n${HEAD}\r\n`, [400]],
  ['X-Forwarded-Host', poll('task_id=none', 'X-Forwarded-Host: evil.test\r\n'), [404]],
  ['two Content-Lengths', requests('Content-Length: 17\r\n'), [400]],
  ['two different Content-Lengths', requests('Content-Length: 5\r\n'), [400]],
  [
    'Content-Length with a plus',
    requests('', `Content-Type: application/json\r\nContent-Length: +17\r\n\r\n${BODY}`),
    [400],
  ],
  [
    'Content-Length that overflows',
    requests('', `Content-Type: application/json\r\nContent-Length: 99999999999999999999999\r\n\r\n${BODY}`),
    [400, 413],
  ],
  ['obsolete line folding', requests('X-A: b\r\n c\r\n'), [400]],
  ['TE.CL', requests('Transfer-Encoding: chunked\r\n'), [400]],
  [
    'two encodings, chunked not last',
    requests('', `Content-Type: application/json\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`),
    [400, 501],
  ],
  [
    'TE with a tab',
    requests(
      '',
      `Content-Type: application/json\r\nTransfer-Encoding:\tchunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n`,
    ),
    [400],
  ],
  [
    'TE twice',
    requests(
      '',
      `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ),
    [400],
  ],
  [
    'chunk size with 0x',
    requests(
      '',
      `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0x11\r\n${BODY}\r\n0\r\n\r\n`,
    ),
    [400],
  ],
  [
    'negative chunk size',
    requests(
      '',
      `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n${BODY}\r\n0\r\n\r\n`,
    ),
    [400],
  ],
  [
    'chunk size that overflows',
    requests(
      '',
      `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`,
    ),
    [400, 413],
  ],
  [
    'chunk with a bare LF',
    requests(
      '',
      `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n11\n${BODY}\r\n0\r\n\r\n`,
    ),
    [400],
  ],
  ['a space in a header name', requests('X A: b\r\n'), [400]],
  ['an empty header name', requests(': b\r\n'), [400]],
  ['a bare CR in a header', requests('X-A: b\rc\r\n'), [400]],
  [
    '2,000 headers',
    get('/livez', Array.from({ length: 2_000 }, (_, i) => `h${i}:\r\n`).join('')),
    [200, 431],
  ],
  ['gzip', requests('Content-Encoding: gzip\r\n'), [415]],
  ['identity', requests('Content-Encoding: identity\r\n'), [200]],
  [
    'a form',
    requests('', `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 11\r\n\r\ntool_name=t`),
    [415],
  ],
  [
    'text/plain with JSON in it',
    requests(
      '',
      `Content-Type: text/plain; x=application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
    ),
    [415],
  ],
  [
    'a media type with a suffix',
    requests('', `Content-Type: application/vnd.api+json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`),
    [415],
  ],
  [
    'charset in quotes',
    requests(
      '',
      `Content-Type: application/json; charset="UTF-8"\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
    ),
    [200],
  ],
  [
    'an empty Content-Type',
    requests('', `Content-Type:\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`),
    [415],
  ],
  ['an empty body', requests('', 'Content-Type: application/json\r\nContent-Length: 0\r\n\r\n'), [400]],
  ['no body and no type', requests('', 'Content-Length: 0\r\n\r\n'), [400, 415]],
  [
    'a chunked body',
    requests(
      '',
      `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n${BODY}\r\n0\r\n\r\n`,
    ),
    [200],
  ],
  ['%00 as task', post('/api/agent/tasks/%00/requests'), [400]],
  ['a%00b as task', post('/api/agent/tasks/a%00b/requests'), [400]],
  ['__proto__ as task', post('/api/agent/tasks/__proto__/requests'), [400]],
  ['an empty task', post('/api/agent/tasks//requests'), [404]],
  ['.. as task', post('/api/agent/tasks/../requests'), [404]],
  ['. as task', post('/api/agent/tasks/./requests'), [404]],
  ['%2e%2e as task', post('/api/agent/tasks/%2e%2e/requests'), [404]],
  ['overlong UTF-8 as task', post('/api/agent/tasks/%c0%af/requests'), [400]],
  ['double encoding', post('/api/agent/tasks/%2561/requests'), [400]],
  ['a broken escape', post('/api/agent/tasks/%/requests'), [400]],
  ['a backslash', post('/api/agent/tasks/a\\b/requests'), [400]],
  ['raw UTF-8 in the path', post('/api/agent/tasks/\u00e9/requests'), [400]],
  ['129 characters as task', post(`/api/agent/tasks/${'a'.repeat(129)}/requests`), [400]],
  ['a trailing slash', post('/api/agent/tasks/a/requests/'), [404]],
  ['a matrix parameter', post('/api/agent/tasks/a/requests;x=1'), [404]],
  ['thread_id twice', poll('thread_id=$THREAD&thread_id=$THREAD'), [400]],
  ['no identifier', get('/api/agent/decisions'), [400]],
  ['a plus in the query', poll('thread_id=a+b'), [400]],
  ['a broken escape in the query', poll('thread_id=%zz'), [400]],
  ['constructor in the query', poll('constructor[prototype][x]=1'), [400]],
  ['1,000 query members', poll(Array.from({ length: 1_000 }, (_, i) => `a${i}=1`).join('&')), [400]],
  ['If-None-Match on the poll is ignored', poll('task_id=none', 'If-None-Match: *\r\n'), [404]],
  ['an upgrade to a WebSocket', poll('task_id=none', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'), [404]],
  [
    'h2c',
    poll(
      'task_id=none',
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n',
    ),
    [404],
  ],
  ['Expect: 100-continue', requests('Expect: 100-continue\r\n'), [200]],
  [
    'a preflight',
    `OPTIONS /api/agent/decisions HTTP/1.1\r\nHost: gw.test\r\nOrigin: https://evil.test\r\nAccess-Control-Request-Method: GET\r\n\r\n`,
    [404],
  ],
  ['Expect: gold for a proof', post('/api/agent/approvals/validate', 'Expect: gold\r\n'), [417]],
  ['an encoding behind 1,000 headers', requests(`${FILLING}Content-Encoding: gzip\r\n`), [415]],
  ['a second key behind 1,000 headers', requests(`${FILLING}Authorization: Bearer x\r\n`), [401]],
  ['a second Host behind 1,000 headers', requests(`${FILLING}Host: x\r\n`), [400]],
  ['a second media type behind 1,000 headers', requests(`${FILLING}Content-Type: text/plain\r\n`), [415]],
  ['a quote that does not end', requests('', typed('charset="utf-8')), [415]],
  ['a quote that does not begin', requests('', typed('charset=utf-8"')), [415]],
  ['a quoted charset', requests('', typed('charset="utf-8"')), [200]],
  ['pipelined', `${requests('')}${requests('')}`, [200], 2],
  [
    'a request in the body of another',
    requests(
      '',
      `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}GET /livez HTTP/1.1\r\nHost: x\r\n\r\n`,
    ),
    [200],
    2,
  ],
  // answered before the parser reads the bytes behind them: an answer that ends the connection is the last one on it
  [
    'no coding, and a body that nothing announces',
    requests('', `Content-Type: application/json\r\nTransfer-Encoding:\r\n\r\n11\r\n${BODY}\r\n0\r\n\r\n`),
    [400],
  ],
  ['no coding, and a stray byte', `GET /livez HTTP/1.1\r\n${HEAD}Transfer-Encoding:\r\n\r\nx`, [400]],
  ['a stray byte behind the last request', get('/livez', 'Connection: close\r\n').concat('x'), [200]],
]

describe('hostile HTTP that the file does not contain', () => {
  it.each(OURS.map(([name, ...rest]) => [name, rest] as const))(
    '%s',
    async (_, [raw, statuses, answers = 1]) => {
      const { thread } = await held(bot)
      await ann.approve(thread)
      const before = await threadsAndRecords()
      const reply = await exchange(world.url, [filled(raw, thread)])
      expect(statuses, reply.text.slice(0, 300)).toContain(reply.status)
      expect(reply.answers).toBe(answers)
      checkHead(reply)
      expect(reply.text).not.toMatch(/access-control-allow/i)
      if (reply.status >= 400) await expectUntouched(thread, before)
    },
  )

  it.each([
    'x',
    'GARBAGE\r\n\r\n',
    requests('Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n', '\r\nzz\r\n'),
  ])('%j after a poll does not affect its answer: the token is returned, then the refusal', async (stray) => {
    const { thread } = await held(bot)
    await ann.approve(thread)
    const { text } = await exchange(world.url, [filled(poll('thread_id=$THREAD') + stray, thread)])
    const [first = '', second = ''] = text.split(/(?=HTTP\/1\.1 )/)
    expect(first).toMatch(/^HTTP\/1\.1 200 /)
    expect(first).toContain('"approval_token":"')
    expect(second).toMatch(/^HTTP\/1\.1 400 /)
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(2)
  })

  it('a stray byte after three requests is refused after the three answers', async () => {
    const { text } = await exchange(world.url, [filled(`${requests('').repeat(3)}x`, '')])
    expect(Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status)).toEqual([
      '200',
      '200',
      '200',
      '400',
    ])
  })

  it.each([
    ['nothing', ['']],
    ['one byte', ['G']],
    ['random bytes', [Buffer.from('8f3a00ff17e2', 'hex')]],
    ['line ends', ['\r\n'.repeat(1_000)]],
  ])('%s, followed by the end of the connection, is no error', async (_, pieces) => {
    const { port } = new URL(world.url)
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        for (const piece of pieces) socket.write(piece)
        socket.end()
      })
      socket.on('data', () => undefined)
      socket.on('error', () => resolve())
      socket.on('close', () => resolve())
    })
    expect((await world.app.health.ready()).ready).toBe(true)
  })

  it('none of these requests was logged as an error, and the gateway still answers', async () => {
    expect(world.logged.filter((line) => line.includes('"level":"error"'))).toEqual([])
    expect((await bot.submit('t', { tool_name: 't' })).body.status).toBe('allow')
  })
})

/** Whatever answers, ours or the parser's: no store, no software names, problem+json for refusals. */
function checkHead({ text, status }: Reply): void {
  const head = text.slice(0, text.indexOf('\r\n\r\n')).toLowerCase()
  expect(head).not.toMatch(/\r\n(server|x-powered-by):/)
  if ([404, 400, 401, 413, 415, 417, 431].includes(status) && head !== '') {
    expect(head).toContain('cache-control: no-store')
    expect(head).toContain('content-type: application/problem+json')
  }
}

async function threadsAndRecords(): Promise<number> {
  return (await world.app.deps.store.events('acme', 0, 10_000)).length
}

/** A refused request leaves no record, and the token of the approved thread is still to be had. */
async function expectUntouched(thread: string, before: number): Promise<void> {
  expect(await threadsAndRecords()).toBe(before)
  expect((await bot.poll({ thread_id: thread })).body.approval_token).toBeDefined()
}
