import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { MAIN } from '../crash.ts'
import { makeAuthority } from '../webhooks/certificates.ts'
import { type CliRun, runCli, runProcess } from './run.ts'

/**
 * Commands against a server that is not a gateway. The person sees one sentence about the answer, and never a stack.
 * No command claims that it did anything.
 */

const STARTER = fileURLToPath(new URL('../../policies', import.meta.url))
const KEY = 'an-admin-key-of-at-least-32-characters'

let directory: string
let server: Server | undefined

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'cs-broken-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function answering(answer: RequestListener): Promise<string> {
  server = createServer(answer)
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function run(url: string, ...args: string[]): Promise<CliRun> {
  const env = { COUNTERSIGN_URL: url, COUNTERSIGN_ADMIN_KEY: KEY, COUNTERSIGN_REVIEWER_KEY: KEY }
  return runCli(args, { cwd: directory, env })
}

describe('a command that gets no answer in time', () => {
  /** Timeouts of the command pass a hundred times as fast. */
  const HASTE = `--import data:text/javascript,${encodeURIComponent(
    'const real = AbortSignal.timeout; AbortSignal.timeout = (ms) => real.call(AbortSignal, ms / 100)',
  )}`
  const waiting = async (...args: string[]): Promise<CliRun> => {
    const url = await answering(() => undefined)
    const env = { COUNTERSIGN_URL: url, COUNTERSIGN_ADMIN_KEY: KEY, NODE_OPTIONS: HASTE }
    return runCli(args, { cwd: directory, env })
  }

  it('says that a change may have been made, instead of blaming the connection', async () => {
    const { code, out, err } = await waiting('sign-out', 'acme/alice')
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(/^countersign: no answer from the gateway at http:\S+ within 15 s\n/)
    expect(err).toContain('the request may have succeeded: check before you repeat it')
    expect(err).not.toContain('countersign serve')
  })

  it('says the same for a broken connection, but not for a read or an unreachable gateway', async () => {
    const url = await answering((request) => request.socket.destroy())
    const isSaid = async (...args: string[]): Promise<boolean> => {
      const { code, err } = await run(url, ...args)
      expect([code, err]).toEqual([1, expect.stringContaining('no answer from the gateway')])
      return err.includes('the request may have succeeded')
    }
    expect(await isSaid('sign-out', 'acme/alice')).toBe(true)
    expect(await isSaid('freeze', 'list', 'acme')).toBe(false)
    await new Promise((resolve) => server?.close(resolve))
    expect(await isSaid('sign-out', 'acme/alice')).toBe(false)
  })

  it('waits longer when it redelivers thousands of deliveries', async () => {
    const { err } = await waiting(
      'api',
      'redeliver_range',
      '-f',
      'id=whk_acme_1',
      '-f',
      'since=2026-01-01T00:00:00Z',
    )
    expect(err).toMatch(/^countersign: no answer from the gateway at http:\S+ within 60 s\n/)
  })
})

describe('an export of many pages', () => {
  it('prints each record once, and no warning', async () => {
    const size = 120_001
    const url = await answering((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://127.0.0.1')
      const lines = Math.min(10_000, size - Number(searchParams.get('after')))
      response.setHeader('content-type', 'application/x-ndjson').end('{}\n'.repeat(lines))
    })
    const env = { COUNTERSIGN_URL: url, COUNTERSIGN_ADMIN_KEY: KEY }
    const options = { cwd: directory, env }
    const { code, out, err } = await runProcess(['evidence', 'export', '--tenant', 'acme'], options)
    expect([code, out === '{}\n'.repeat(size), err]).toEqual([0, true, ''])
  })
})

describe('a gateway address with a path', () => {
  it.each(['/countersign', '/countersign/'])(
    'keeps the path, because a proxy may need it: %s',
    async (prefix) => {
      const asked: (string | undefined)[] = []
      const url = await answering((request, response) => {
        asked.push(request.url)
        response.setHeader('content-type', 'application/json').end('{"freezes":[]}')
      })
      const { code, out } = await run(`${url}${prefix}`, 'freeze', 'list', 'acme')
      expect([code, out]).toEqual([0, 'nothing is frozen\n'])
      expect(asked).toEqual(['/countersign/api/admin/freezes?tenant=acme'])
    },
  )
})

describe('a server that is not a gateway', () => {
  const page: RequestListener = (_, response) => response.setHeader('content-type', 'text/html').end('<html>')

  it('is reported when it answers with a page and 200, and no success is printed', async () => {
    const url = await answering(page)
    for (const args of [
      ['review', 'list'],
      ['keys', 'issue', 'agent', 'acme/a'],
      ['keys', 'revoke', 'agent', 'acme/a'],
      ['sign-out', 'acme/alice'],
      ['freeze', 'acme', '--reason', 'r'],
      ['api', 'delete_webhook', '-f', 'id=whk_acme_1'],
      ['evidence', 'export', '--tenant', 'acme'],
    ]) {
      const { code, out, err } = await run(url, ...args)
      expect([code, out], args.join(' ')).toEqual([1, ''])
      expect(err).toMatch(
        /^countersign: the program that answers at http:\S+ is not a gateway, or is a proxy in front of one: status 200\n/,
      )
    }
  })

  it('is reported when it answers 200 with other JSON, and no success is printed', async () => {
    const url = await answering((_, response) =>
      response.setHeader('content-type', 'application/json').end('{"ok":true}'),
    )
    for (const args of [
      ['review', 'list'],
      ['review', 'show', 'thr_1'],
      ['review', 'approve', 'thr_1'],
      ['keys', 'issue', 'agent', 'acme/a'],
      ['login-link', 'acme/alice'],
      ['freeze', 'acme', '--reason', 'r'],
      ['freeze', 'list', 'acme'],
      ['unfreeze', 'acme', '--reason', 'r'],
      ['evidence', 'key', '--tenant', 'acme'],
      ['api', 'list_webhooks', '-f', 'tenant=acme'],
      ['api', 'add_legal_hold', '-f', 'tenant=acme', '-f', 'reason=r'],
    ]) {
      const { code, out, err } = await run(url, ...args)
      expect([code, out], args.join(' ')).toEqual([1, ''])
      expect(err, args.join(' ')).toMatch(
        /^countersign: the program that answers at http:\S+ is not a gateway, or is a proxy in front of/,
      )
    }
  })

  it.each([
    { code: 'x', errors: {} },
    { code: 'x', errors: [null] },
    { code: 'x', detail: 5 },
    { code: 'x', title: {} },
    { code: 404 },
  ])('is reported when its refusal is not one of a gateway: %o', async (problem) => {
    const url = await answering((_, response) => response.writeHead(404).end(JSON.stringify(problem)))
    const { code, err } = await run(url, 'review', 'list')
    expect([code, err]).toEqual([1, expect.stringMatching(/is a proxy in front of one: status 404\n/)])
  })

  it('shows what a proxy says, where a redirect leads, and that an answer was cut off', async () => {
    const url = await answering((request, response) => {
      const path = request.url ?? ''
      if (path.includes('proxy')) return void response.writeHead(502).end('<html>')
      if (path.includes('moved'))
        return void response.writeHead(301, { location: 'https://x/\u009b2J' }).end()
      if (path.includes('null')) return void response.writeHead(400).end('null')
      response.writeHead(200, { 'content-length': 99 }).write('{')
      setImmediate(() => response.destroy())
    })
    const said = async (thread: string): Promise<string> => (await run(url, 'review', 'show', thread)).err
    expect(await said('proxy')).toMatch(/is a proxy in front of one: status 502\n/)
    expect(await said('null')).toMatch(/is a proxy in front of one: status 400\n/)
    expect(await said('moved')).toMatch(
      /is a proxy in front of one: status 301, to https:\/\/x\/<U\+009B>2J\n/,
    )
    expect(await said('half')).toMatch(/^countersign: the answer of the gateway at http:\S+ ended early\n$/)
  })

  it('exits 2 for an invalid address, and shows no password or key', async () => {
    for (const url of ['nonsense', 'ftp://127.0.0.1', 'http://user:canary@127.0.0.1:9']) {
      const { code, out, err } = await run('http://127.0.0.1:9', 'review', 'list', '--url', url)
      expect([code, out]).toEqual([2, ''])
      expect(err).toMatch(
        /^countersign: the address of the gateway is not an http or https address, or holds/,
      )
      expect(err).not.toContain('canary')
    }
    const env = { COUNTERSIGN_URL: 'http://127.0.0.1:9', COUNTERSIGN_REVIEWER_KEY: 'csr_canary\nx' }
    const { code, err } = await runCli(['review', 'list'], { cwd: directory, env })
    expect([code, err]).toEqual([2, expect.stringContaining('the key contains invalid characters')])
    expect(err).not.toContain('canary')
  })
})

describe('a command that gets no answer', () => {
  it('says why: no server listens, or the certificate is not accepted', async () => {
    const { code, err } = await run('http://127.0.0.1:9', 'review', 'list')
    expect(code).toBe(1)
    expect(err).toMatch(/^countersign: no answer from the gateway at http:\/\/127\.0\.0\.1:9 \(\S.*\)\n/)
    expect(err).toContain('start it with `countersign serve`')
    const authority = makeAuthority()
    authority.issue('front', { names: ['IP:127.0.0.1'] })
    const [key, cert] = ['front.key', 'front.crt'].map((name) =>
      readFileSync(join(authority.directory, name)),
    )
    rmSync(authority.directory, { recursive: true })
    const front = createTlsServer({ key, cert })
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
    const url = `https://127.0.0.1:${(front.address() as AddressInfo).port}`
    const refused = await run(url, 'review', 'list')
    front.close()
    expect(refused.code).toBe(1)
    expect(refused.err).toMatch(/no answer from the gateway at https:\S+ \([A-Z_]+\)\n/)
    expect(refused.err).toContain('this machine does not accept its certificate')
  })

  it('prints a refusal once when its detail repeats the title', async () => {
    const problem = { code: 'invalid_request', title: 'The request does not fit', status: 400 }
    const url = await answering((_, response) =>
      response
        .writeHead(400, { 'content-type': 'application/problem+json' })
        .end(JSON.stringify({ ...problem, detail: 'the request does not fit' })),
    )
    const { err } = await run(url, 'keys', 'issue', 'agent', 'acme/a')
    expect(err).toBe('countersign: The request does not fit\n')
  })

  it('accepts only a whole number for --after', async () => {
    for (const after of ['abc', '1e3', '0x10', '']) {
      const { code, err } = await run(
        'http://127.0.0.1:1',
        'evidence',
        'export',
        '--tenant',
        'acme',
        '--after',
        after,
      )
      expect([code, err]).toEqual([2, `countersign: --after must be a whole number, not \`${after}\`\n`])
    }
  })

  it('reports that an export of evidence is empty', async () => {
    const url = await answering((_, response) =>
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(),
    )
    const { code, out, err } = await run(url, 'evidence', 'export', '--tenant', 'acne')
    expect([code, out]).toEqual([0, ''])
    expect(err).toBe('`acne` has no evidence after record 0: nothing was exported\n')
  })
})

describe('a command with too many or missing arguments', () => {
  const nobody = 'http://127.0.0.1:9'

  it.each([
    ['keys revoke agent acme/a acme/b', 'unexpected argument `acme/b`'],
    ['api delete_webhook whk_acme_1', 'unexpected argument `whk_acme_1`'],
    ['api delete_webhook', '`delete_webhook` needs `id`'],
    ['review approve thr_1 thr_2', 'unexpected argument `thr_2`'],
    ['review list thr_1', 'unexpected argument `thr_1`'],
    ['review approve thr_1 --revision two', '--revision must be a whole number, not `two`'],
    ['review constructor thr_1', 'unknown command `review constructor`'],
    ['review lst', 'unknown command `review lst`'],
    ['review show', 'missing argument: THREAD'],
    ['review list -m no', '`-m` is not an option of this command'],
    ['review approve thr_1 --risk high', '`--risk` is not an option of this command'],
    ['freeze list acme --agent bot', '`--agent` is not an option of this command'],
    ['evidence export --tenant acme --within 1d', '`--within` is not an option of this command'],
    ['evidence verify e.ndjson --after 5', '`--after` is not an option of this command'],
    ['evidence constructor --after 5', 'unknown command `evidence constructor`'],
    ['evidence exprt', 'unknown command `evidence exprt`'],
    ['evidence export', 'name a --tenant, or a place of tiles'],
    ['config ./policies', 'unexpected argument `./policies`'],
    ['serve ./policies', 'unexpected argument `./policies`'],
    ['dev ./policies', 'unexpected argument `./policies`'],
    ['doctor ./policies', 'unexpected argument `./policies`'],
  ])('%s: exits 2 before it sends a request', async (line, message) => {
    const { code, out, err } = await run(nobody, ...line.split(' '))
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(`countersign: ${message}`)
  })
})

describe('--json', () => {
  it('prints JSON even when the answer has no body', async () => {
    const url = await answering((_, response) => response.writeHead(204).end())
    for (const args of [
      ['keys', 'revoke', 'agent', 'acme/a'],
      ['sign-out', 'acme/alice'],
      ['unfreeze', 'acme', '--reason', 'r'],
    ])
      expect(await run(url, ...args, '--json')).toEqual({ code: 0, out: '{}\n', err: '' })
  })
})

describe('a first start', () => {
  it.each([
    ['without policies', 'nothing', '`countersign init` writes a starter bundle'],
    ['with policies that do not load', 'wrong', 'run `countersign check wrong` to see why'],
  ])('%s says what to do, and that every call is rejected until then', async (_, policies, hint) => {
    mkdirSync(join(directory, 'wrong'), { recursive: true })
    writeFileSync(join(directory, 'wrong', 'routing.yaml'), 'nonsense: [\n')
    const store = `file:${join(directory, `data-${policies}`)}`
    const flags = ['--port', '0', '--metrics-port', '0', '--store', store, '--policies', policies]
    const { code, out, err } = await runCli(['dev', ...flags], { cwd: directory })
    expect([code, err.includes(hint)]).toEqual([1, true])
    expect(out).toContain('no bundle is in force, and every call is rejected')
  })
})

describe('--format json with a bundle that would not load', () => {
  it.each(['explain broken r.json', 'diff broken broken', 'backtest --evidence e.ndjson broken broken'])(
    '%s: prints the findings on standard error, and nothing on standard output',
    async (line) => {
      mkdirSync(join(directory, 'broken'), { recursive: true })
      writeFileSync(join(directory, 'broken', 'routing.yaml'), 'nonsense: [\n')
      writeFileSync(join(directory, 'r.json'), '{"tool_name":"x"}')
      writeFileSync(join(directory, 'e.ndjson'), '')
      const { code, out, err } = await run('http://127.0.0.1:9', ...line.split(' '), '--format', 'json')
      expect([code, out]).toEqual([3, ''])
      expect(err).toContain('routing.yaml:')
    },
  )
})

describe('a file that cannot be written', () => {
  it.each([
    ['test policies --junit file/x', 'cannot write `file/x`: ENOTDIR'],
    ['schema policies --out file/x', 'cannot write `file/x/rules.schema.json`: ENOTDIR'],
    ['add tool --all --tools tools.json --dir file/x', /cannot write `file\/x\/tools\/.*`: ENOTDIR/],
    ['init file', '`file` cannot be read: ENOTDIR'],
  ])('%s: reports the reason in one line', async (line, message) => {
    cpSync(STARTER, join(directory, 'policies'), { recursive: true })
    writeFileSync(join(directory, 'file'), '')
    const tool = { name: 'a', description: 'b', inputSchema: { type: 'object', properties: {} } }
    writeFileSync(join(directory, 'tools.json'), JSON.stringify({ tools: [tool] }))
    const { code, err } = await run('http://127.0.0.1:9', ...line.split(' '))
    expect([1, 2]).toContain(code)
    expect(err).toMatch(message)
    expect(err).not.toMatch(/^ {4}at /m)
  })
})

describe('standard output that no process reads', () => {
  it.each([[['check', STARTER]], [['check', '--format', 'json', STARTER]], [['test', STARTER]]])(
    '%j exits with its usual code and prints no error',
    async (args) => {
      const child = spawn(process.execPath, [MAIN, ...args], {
        cwd: directory,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child.stdout.destroy()
      let err = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
      const code = await new Promise((resolve) => child.on('close', resolve))
      expect([code, err]).toEqual([0, ''])
    },
  )
})
