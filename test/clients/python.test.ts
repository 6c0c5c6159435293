import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer, request as httpRequest, type RequestListener } from 'node:http'
import { createServer as createTcpServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureProgram } from '../debian.ts'
import { makeAuthority } from '../webhooks/certificates.ts'
import { type Agent, openWorld, type Reviewer, until, type World } from '../gateway-fixture.ts'

/** clients/python/countersign.py before a whole gateway, and before servers that lie or fail. */
const CLIENT = fileURLToPath(new URL('../../clients/python', import.meta.url))

/** Runs one call, and prints what came of it. */
const SCRIPT = `
import json, sys
from countersign import Gate, NotExecuted
asked = json.loads(sys.stdin.read())
ran = []
def execute(approved):
    ran.append(approved)
    if asked.get("fails"):
        raise RuntimeError("no funds")
    if asked.get("refused"):
        raise NotExecuted("rejected", "not that much")
    return "done"
def pending(decision):
    print("pending", decision["thread_id"], flush=True)
gate = Gate(asked["url"], asked["key"], task_id="py", **asked.get("gate", {}))
options = {"on_pending": pending, **asked.get("options", {})}
try:
    result = {"result": gate.guard(asked["tool"], asked["payload"], execute, **options)}
except NotExecuted as refused:
    result = {"outcome": refused.outcome, "message": str(refused), "thread_id": refused.thread_id}
except RuntimeError as error:
    result = {"raised": str(error)}
print(json.dumps({**result, "ran": ran}))
`

interface Ran {
  readonly result?: string
  readonly outcome?: string
  readonly message?: string
  readonly thread_id?: string
  readonly raised?: string
  readonly ran: readonly unknown[]
}

let world: World
let agent: Agent
let ann: Reviewer

beforeAll(async () => {
  ensureProgram('python3', 'python3-minimal')
  world = await openWorld()
  agent = await world.agent()
  ann = await world.reviewer('ann')
  // polls of the gateway end by its clock
  world.clock.run()
})
afterAll(() => world.close())

async function python(asked: object, heard: (thread: string) => void = () => undefined): Promise<Ran> {
  const env = { PATH: process.env['PATH'] ?? '', PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1' }
  const running = promisify(execFile)('python3', ['-c', SCRIPT], { env })
  const { stdin, stdout } = running.child
  stdout?.on('data', (text: string) => {
    const thread = /^pending (\S+)/m.exec(text)?.[1]
    if (thread !== undefined) heard(thread)
  })
  stdin?.end(JSON.stringify({ url: world.url, key: agent.key, ...asked }))
  const lines = (await running).stdout.trim().split('\n')
  return JSON.parse(lines.at(-1) ?? '') as Ran
}

/** The same, held: `decide` is told of the thread. */
async function held(asked: object, decide: (thread: string) => Promise<unknown>): Promise<Ran> {
  let thread = ''
  const running = python(asked, (heard) => (thread = heard))
  await until(() => thread !== '')
  await decide(thread)
  return running
}

describe('the client in Python', () => {
  it('runs what policy allows, and reports that it did', async () => {
    let ran: Ran | undefined
    const payload = { text: 'ü 😀', n: [1, 2.5, null, true], deep: { a: {} } }
    const recorded = await world.evidenceOf(async () => {
      ran = await python({ tool: 't', payload })
    })
    expect(ran).toEqual({ result: 'done', ran: [payload] })
    expect(recorded.map(({ record }) => record.type)).toEqual(['decision.allowed', 'agent.event'])
    expect(JSON.stringify(recorded.at(-1))).toContain('tool.execution.completed')
  })

  it('runs what people approve, with its proof redeemed before', async () => {
    let ran: Ran | undefined
    const options = { workflow_name: 'invoices', summary: ['one', 'two'] }
    const recorded = await world.evidenceOf(async () => {
      ran = await held({ tool: 'hold', payload: { n: 1 }, options }, async (thread) => {
        expect((await ann.show(thread)).text).toContain('invoices')
        await ann.approve(thread)
      })
    })
    expect(ran).toEqual({ result: 'done', ran: [{ n: 1 }] })
    expect(recorded.map(({ record }) => record.type)).toContain('token.redeemed')
  })

  it('does not run what policy or people reject, nor what they want otherwise', async () => {
    expect(await python({ tool: 'bare', payload: {} })).toMatchObject({ outcome: 'rejected', ran: [] })
    const vote = (decision: string) => (thread: string) =>
      ann.vote(thread, { decision, revision: 1, comment: 'not like this' })
    for (const [decision, outcome] of [
      ['reject', 'rejected'],
      ['request_changes', 'changes_requested'],
    ] as const) {
      const ran = await held({ tool: 'hold', payload: { decision } }, vote(decision))
      expect(ran).toMatchObject({ outcome, message: expect.stringContaining('not like this'), ran: [] })
    }
  })

  it('says which member does not fit the contract', async () => {
    const ran = await python({ tool: 'pay', payload: { amount: 'all' } })
    expect(ran).toMatchObject({
      outcome: 'invalid_payload',
      message: expect.stringContaining('/amount'),
      ran: [],
    })
  })

  it('goes on with the same thread by the id of the call, once', async () => {
    const asked = { tool: 'hold', payload: { n: 2 }, options: { call_id: 'c', max_wait: 1 } }
    const first = await python(asked)
    expect(first).toMatchObject({ outcome: 'timeout', ran: [] })
    await ann.approve(first.thread_id ?? '')
    expect(await python(asked)).toEqual({ result: 'done', ran: [{ n: 2 }] })
    expect(await python(asked)).toMatchObject({ outcome: 'no_proof', thread_id: first.thread_id, ran: [] })
  })

  it('asks anew for what policy allows, each time that the same id comes again', async () => {
    const asked = { tool: 't', payload: { n: 'again' }, options: { call_id: 'c' } }
    const recorded = await world.evidenceOf(async () => {
      for (let i = 0; i < 3; i++) expect(await python(asked)).toMatchObject({ result: 'done' })
    })
    const types = recorded.map(({ record }) => record.type)
    expect(types).toEqual(Array.from({ length: 3 }, () => ['decision.allowed', 'agent.event']).flat())
  })

  it.each([
    [
      'judged again, where others may know its id',
      { call_id: 'lost' },
      ['decision.allowed', 'decision.allowed'],
    ],
    ['counted once, where nobody can', {}, ['decision.allowed']],
  ])('is, when the answer was lost, %s', async (_, options, allowed) => {
    let lose = true
    const lossy = createServer((request, response) => {
      const { method = '', url = '', headers } = request
      const passed = httpRequest(world.url + url, { method, headers }, (answer) => {
        const lost = lose && url.endsWith('/requests')
        if (lost) lose = false
        if (lost) return void request.socket.destroy()
        response.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(response)
      })
      request.pipe(passed)
    }).listen(0, '127.0.0.1')
    await once(lossy, 'listening')
    try {
      const url = `http://127.0.0.1:${(lossy.address() as AddressInfo).port}`
      const recorded = await world.evidenceOf(async () => {
        expect(await python({ url, tool: 't', payload: { n: 'lost' }, options })).toMatchObject({
          result: 'done',
        })
      })
      expect(lose).toBe(false)
      expect(recorded.map(({ record }) => record.type)).toEqual([...allowed, 'agent.event'])
    } finally {
      lossy.close()
    }
  })

  it('passes on what the call raises, and reports the failure', async () => {
    let ran: Ran | undefined
    const recorded = await world.evidenceOf(async () => {
      ran = await python({ tool: 't', payload: {}, fails: true })
    })
    expect(ran).toEqual({ raised: 'no funds', ran: [{}] })
    expect(JSON.stringify(recorded.at(-1))).toContain('tool.execution.failed')
  })
})

it('a call that ran, and failed because another one did not, is not NotExecuted', async () => {
  const ran = await python({ tool: 't', payload: {}, refused: true })
  expect(ran).toEqual({ raised: 't ran, and failed: not that much', ran: [{}] })
})

it.each(['async def', 'def'])('what only begins later is not reported as done: %s', async (kind) => {
  const body = kind === 'def' ? 'yield 1' : 'return 1'
  const script = `
import sys
from countersign import Gate
${kind} execute(approved):
    ${body}
try:
    Gate(sys.argv[1], sys.argv[2], task_id="py").guard("t", {}, execute)
except TypeError as error:
    print(error)
`
  const env = { PATH: process.env['PATH'] ?? '', PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1' }
  let said = ''
  const recorded = await world.evidenceOf(async () => {
    said = (await promisify(execFile)('python3', ['-c', script, world.url, agent.key], { env })).stdout
  })
  expect(said).toContain('has not run yet')
  expect(JSON.stringify(recorded.at(-1))).toContain('tool.execution.failed')
})

/** Prints where a gate connects to, for each address of the arguments. */
const WHERE = `
import http.client, sys
from countersign import Gate, NotExecuted
def connect(self):
    print(self.host, self.port, flush=True)
    raise SystemExit
http.client.HTTPConnection.connect = http.client.HTTPSConnection.connect = connect
for url in sys.argv[1:]:
    try:
        Gate(url, "csk_x").guard("t", {}, lambda approved: None)
    except (SystemExit, NotExecuted):
        pass
    except ValueError as error:
        print(error)
`

it('connects to where the address says, and takes none that says nowhere', async () => {
  const urls = [
    'http://[::1]',
    'https://[2001:db8::1]/gateway',
    'http://[::1]:8787',
    'https://gateway.example',
  ]
  const env = { PATH: process.env['PATH'] ?? '', PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1' }
  const script = ['-c', WHERE, ...urls, 'http://gateway:port', 'http://gateway:99999']
  const { stdout } = await promisify(execFile)('python3', script, { env })
  expect(stdout.trim().split('\n')).toEqual([
    '::1 80',
    '2001:db8::1 443',
    '::1 8787',
    'gateway.example 443',
    expect.stringContaining('Port'),
    expect.stringContaining('Port'),
  ])
})

describe('a server that lies or fails: nothing runs', () => {
  const FAST = { gate: { timeout: 0.3, max_wait: 1 } }
  const json =
    (body: (hash: unknown) => object, status = 200): RequestListener =>
    (request, response) => {
      let text = ''
      request.on('data', (chunk) => (text += String(chunk)))
      request.on('end', () => {
        const { action_hash } = (text === '' ? {} : JSON.parse(text)) as { action_hash?: unknown }
        response.writeHead(status, { 'content-type': 'application/json', location: '/elsewhere' })
        response.end(JSON.stringify(body(action_hash)))
      })
    }
  const pending = (hash: unknown) => ({ status: 'pending_review', thread_id: 'thr_1', action_hash: hash })

  it.each<[string, RequestListener]>([
    ['an unknown status', json((action_hash) => ({ status: 'sure', action_hash }))],
    ['no status', json((action_hash) => ({ action_hash }))],
    ['allow without the hash', json(() => ({ status: 'allow' }))],
    [
      'allow about another action',
      json(() => ({ status: 'allow', task_id: 'py', action_hash: '0'.repeat(64) })),
    ],
    ['allow in another task', json((action_hash) => ({ status: 'allow', task_id: 'another', action_hash }))],
    ['allow with status 201', json((action_hash) => ({ status: 'allow', action_hash }), 201)],
    ['allow with status 302', json((action_hash) => ({ status: 'allow', action_hash }), 302)],
    ['allow with status 403', json((action_hash) => ({ status: 'allow', action_hash }), 403)],
    ['a refusal of an odd shape', json(() => ({ errors: 5, detail: [] }), 400)],
    ['an answer that is a list', (_, response) => response.end('[{"status":"allow"}]')],
    ['an answer that is no JSON', (_, response) => response.end('allow')],
    ['pending without a thread', json(() => ({ status: 'pending_review' }))],
    [
      'approved at once without a proof',
      json((action_hash) => ({ status: 'approved', action_hash, thread_id: 't' })),
    ],
    [
      'allow where people were to decide',
      (request, response) =>
        request.method === 'GET'
          ? json(() => ({ status: 'allow', thread_id: 'thr_1' }))(request, response)
          : json(pending)(request, response),
    ],
    ['pending for ever', json(pending)],
    ['silence', () => undefined],
    ['a connection that is cut', (request) => request.socket.destroy()],
    [
      'an answer that drips',
      (_, response) => {
        const timer = setInterval(() => response.write(' '), 50)
        response.on('close', () => clearInterval(timer))
      },
    ],
  ])('%s', async (_, listener) => {
    const server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ran = await python({ url, tool: 't', payload: {}, ...FAST })
    server.closeAllConnections()
    server.close()
    expect(ran).toMatchObject({ outcome: expect.any(String), message: expect.stringMatching(/./), ran: [] })
  })

  it('headers that drip', async () => {
    const server = createTcpServer((socket) => {
      const timer = setInterval(() => socket.write('X-A: b\r\n'), 50)
      socket.write('HTTP/1.1 200 OK\r\n')
      socket.on('close', () => clearInterval(timer)).on('error', () => undefined)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await python({ url, tool: 't', payload: {}, ...FAST })).toMatchObject({
      outcome: 'gateway_error',
      ran: [],
    })
    server.close()
  })

  it.each<[string, object, string]>([
    ['valid, with the reason why it is not', { reason: 'used' }, 'proof_refused'],
    ['valid in another task', { task_id: 'another' }, 'proof_refused'],
    ['nothing wrong', {}, 'ran'],
  ])('a redemption that says %s', async (_, change, outcome) => {
    let hash: unknown
    const server = createServer((request, response) => {
      const about = { task_id: 'py', thread_id: 'thr_1', action_hash: hash }
      const { url = '' } = request
      if (url.includes('decisions'))
        return json(() => ({ ...about, status: 'approved', approval_token: 'cst_x' }))(request, response)
      if (url.includes('validate'))
        return json(() => ({ ...about, valid: true, ...change }))(request, response)
      return json((given) => pending((hash = given)))(request, response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ran = await python({ url, tool: 't', payload: {}, ...FAST })
    server.closeAllConnections()
    server.close()
    expect(ran).toMatchObject(outcome === 'ran' ? { result: 'done', ran: [{}] } : { outcome, ran: [] })
  })

  it('a gateway that is away while people decide is asked again, longer than four times', async () => {
    let hash: unknown
    let polls = 0
    const server = createServer((request, response) => {
      const about = { task_id: 'py', thread_id: 'thr_1', action_hash: hash }
      const { url = '' } = request
      if (url.includes('decisions') && polls++ < 5)
        return void response.writeHead(503, { 'retry-after': '0' }).end('{}')
      if (url.includes('decisions'))
        return json(() => ({ ...about, status: 'approved', approval_token: 'cst_x' }))(request, response)
      if (url.includes('validate')) return json(() => ({ ...about, valid: true }))(request, response)
      return json((given) => pending((hash = given)))(request, response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ran = await python({ url, tool: 't', payload: {}, gate: { timeout: 0.3, max_wait: 30 } })
    server.closeAllConnections()
    server.close()
    expect(ran).toMatchObject({ result: 'done', ran: [{}] })
  })

  it('an allow that is always said to be an old one is not asked for without end', async () => {
    let asked = 0
    const server = createServer((request, response) => {
      asked++
      response.setHeader('idempotent-replayed', 'true')
      json((action_hash) => ({ status: 'allow', task_id: 'py', action_hash }))(request, response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ran = await python({ url, tool: 't', payload: {}, options: { call_id: 'call_0' } })
    server.closeAllConnections()
    server.close()
    expect(ran).toMatchObject({ outcome: 'gateway_error', ran: [] })
    expect(asked).toBeLessThan(1_100)
  })

  it('what is no gateway, in words that lead there: something answered', async () => {
    const server = createServer((_, response) => response.writeHead(404).end('nothing here')).listen(
      0,
      '127.0.0.1',
    )
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const ran = await python({ url, tool: 't', payload: {}, ...FAST })
    server.close()
    const message =
      'what came with status 404 is no answer of the agent API: something else may stand at this address, or between'
    expect(ran).toMatchObject({ outcome: 'gateway_error', message, ran: [] })
  })

  it('nobody there, and a payload that is no JSON', async () => {
    const nobody = await python({ url: 'http://127.0.0.1:9', tool: 't', payload: {}, ...FAST })
    expect(nobody).toMatchObject({ outcome: 'gateway_error', ran: [] })
  })
})

/** A gateway that says something in the clear behind the handshake, and a request whose time is over before that was read. */
const CUT = `
import socket, ssl, sys, threading
import countersign
_, ca, cert, key = sys.argv
listening = socket.create_server(("127.0.0.1", 0))
said = threading.Event()
def serve():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with context.wrap_socket(listening.accept()[0], server_side=True) as secured:
        socket.socket.send(secured, b"HTTP/1.1 200 OK in the clear")
        said.set()
        over.wait()
over = threading.Event()
threading.Thread(target=serve, daemon=True).start()
context = ssl.create_default_context(cafile=ca)
plain = socket.create_connection(listening.getsockname(), timeout=10)
secured = context.wrap_socket(plain, server_hostname="127.0.0.1")
said.wait()
countersign._cut(secured, threading.Event())
try:
    print(secured.recv(65536))
except ssl.SSLError:
    print(b"")
over.set()
`

describe('over https', () => {
  let authority: ReturnType<typeof makeAuthority>

  beforeAll(() => {
    authority = makeAuthority()
    authority.issue('gateway', { names: ['IP:127.0.0.1'] })
  })
  afterAll(() => rm(authority.directory, { recursive: true, force: true }))

  it('what is in the clear is never read, when time is over neither', async () => {
    const files = ['ca.crt', 'gateway.crt', 'gateway.key'].map((name) => join(authority.directory, name))
    const env = { PATH: process.env['PATH'] ?? '', PYTHONPATH: CLIENT, PYTHONDONTWRITEBYTECODE: '1' }
    const { stdout } = await promisify(execFile)('python3', ['-c', CUT, ...files], { env })
    expect(stdout).toBe("b''\n")
  })
})
