import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { MAIN } from '../crash.ts'
import { LONGEST_LINE_BYTES } from '../../src/mcp/server-process.ts'
import { runCli } from '../cli/run.ts'
import { agentWorld, ann, bot as agent, world } from '../agent-world.ts'
import { until } from '../until.ts'
import { isAlive } from '../processes.ts'

/** `countersign mcp` between a client and a server of the official SDK, of both eras of the protocol. */
const SERVER = fileURLToPath(new URL('./ledger-server.mjs', import.meta.url))

let directory: string
let effects: string

agentWorld()
beforeAll(async () => {
  // polls of the gateway end by its clock
  world.clock.run()
  directory = await mkdtemp(join(tmpdir(), 'countersign-mcp-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))
beforeEach(() => {
  effects = join(directory, 'effects')
  writeFileSync(effects, '')
})

const done = (): { name: string; arguments: unknown }[] =>
  readFileSync(effects, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { name: string; arguments: unknown })
const env = () => ({
  PATH: process.env['PATH'] ?? '',
  COUNTERSIGN_URL: world.url,
  COUNTERSIGN_AGENT_KEY: agent.key,
})

describe.each(['legacy', 'auto'] as const)('a client that negotiates: %s', (mode) => {
  let client: Client
  let transport: StdioClientTransport

  beforeEach(async () => {
    client = new Client({ name: 'test-client', version: '1.0.0' }, { versionNegotiation: { mode } })
    const args = [MAIN, 'mcp', '--max-wait', '20s', '--', process.execPath, SERVER, effects]
    transport = new StdioClientTransport({ command: process.execPath, args, env: env(), stderr: 'ignore' })
    await client.connect(transport)
  })
  afterEach(() => client.close())

  const textOf = ({ content }: Awaited<ReturnType<Client['callTool']>>): string =>
    content.map((part) => (part.type === 'text' ? part.text : '')).join('')

  it('lists the tools of the server', async () => {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['pay', 'hold', 'bare'])
  })

  it('runs allowed calls, and the server notices nothing of the gateway', async () => {
    const answer = await client.callTool({ name: 'pay', arguments: { amount: 1 } })
    expect(textOf(answer)).toBe('done, and knows []')
    expect(done()).toMatchObject([{ name: 'pay', arguments: { amount: 1 } }])
  })

  it('does not run a rejected call, and the model reads why', async () => {
    const answer = await client.callTool({ name: 'pay', arguments: { amount: 1_000_000 } })
    expect(answer.isError).toBe(true)
    expect(textOf(answer)).toContain('Nobody moves that much.')
    expect(done()).toEqual([])
  })

  it('waits for reviewers, shows progress, and runs an approved call', async () => {
    const seen: string[] = []
    const asked = client.callTool(
      { name: 'hold', arguments: { amount: 5 } },
      { onprogress: ({ message = '' }) => seen.push(message) },
    )
    await until(() => seen.length > 0)
    const thread = /thr_\w+/.exec(seen[0] ?? '')?.[0] ?? ''
    const [{ text }, effects] = [await ann.show(thread), done()]
    await ann.approve(thread)
    expect((await asked).isError).toBeUndefined()
    expect([text.includes('test-client'), effects]).toEqual([true, []])
    expect(done()).toMatchObject([{ name: 'hold', arguments: { amount: 5 } }])
  })

  it("passes on a tool's report of its failure", async () => {
    const answer = await client.callTool({ name: 'pay', arguments: { amount: 13 } })
    expect([answer.isError, textOf(answer)]).toEqual([true, 'no luck'])
  })

  it('ends with its client, and ends the server', async () => {
    const { pid } = transport
    await client.close()
    await until(() => !isAlive(pid ?? 0))
  })
})

describe('the command', () => {
  const run = (args: readonly string[], more: { env?: Record<string, string>; input?: string } = {}) =>
    runCli(['mcp', ...args], { cwd: directory, env: env(), ...more })

  it('ends with the exit code of the server', async () => {
    expect(await run(['--', process.execPath, '-e', 'process.exit(7)'])).toMatchObject({ code: 7, out: '' })
  })

  it.each([[['node', 'server.js']], [['--prefix', 'ledger.', 'node', 'server.js']], [['--']], [[]]])(
    'says where to put the server when -- is missing: %j',
    async (args) => {
      const { code, err } = await run(args)
      expect([code, err]).toEqual([
        2,
        expect.stringMatching(/^countersign: missing argument: -- COMMAND \[ARGUMENT \.\.\.\]\n/),
      ])
    },
  )

  it('passes everything after -- to the server, including --help', async () => {
    const script = 'console.log(JSON.stringify({ method: "x", params: process.argv.slice(1) }))'
    const { out } = await run(['--', process.execPath, '-e', script, '--', '--help'])
    expect(out).toBe('{"method":"x","params":["--help"]}\n')
  })

  it.each([
    ['no command', [], 'missing argument: -- COMMAND'],
    ['a wait that is none', ['--max-wait', 'long', '--', 'true'], '--max-wait'],
    ['a server that is not there', ['--', './no-such-server'], 'cannot be run'],
  ])('prints the error: %s', async (_, args, why) => {
    const { code, err } = await run(args)
    expect(code).not.toBe(0)
    expect(err).toContain(why)
    expect(err).not.toContain('    at ')
  })

  const long = 'x'.repeat(LONGEST_LINE_BYTES + 1)
  it.each([
    [
      'server',
      ['-e', `process.stdout.on('error', () => {}).write('x'.repeat(${long.length}))`],
      '',
      'was stopped',
    ],
    ['client', ['-e', 'process.stdin.resume()'], long, 'reading from the client stopped'],
  ])('reports a line that is too long from the %s', async (_, args, input, why) => {
    const { out, err } = await run(['--', process.execPath, ...args], { input })
    expect([out, err]).toEqual(['', expect.stringContaining(`${why}: a line is longer than`)])
    expect(err).not.toContain('cannot be run')
  })

  it('ends when the client no longer reads, though its input is open', async () => {
    const args = [MAIN, 'mcp', '--', process.execPath, SERVER, effects]
    const child = spawn(process.execPath, args, { env: env(), stdio: ['pipe', 'pipe', 'ignore'] })
    const ended = once(child, 'exit')
    const ask = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const params = { name: 'hold', arguments: { amount: 6 }, _meta: { progressToken: 'p' } }
    ask({ id: 1, method: 'tools/call', params })
    await once(child.stdout, 'data')
    const closed = once(child.stdout, 'close')
    child.stdout.destroy()
    await closed
    // a write to a closed pipe shows the proxy that the client no longer reads
    ask({ id: 2, method: 'no/method' })
    expect([await ended, done()]).toEqual([[0, null], []])
  })

  it.each([
    ['SIGHUP', 'SIGTERM'],
    ['SIGINT', 'SIGTERM'],
    ['SIGTERM', 'SIGTERM'],
  ] as const)('passes %s and then %s on, and leaves no server running', async (first, second) => {
    // like many servers, it keeps running when its input has ended
    const says = (what: string): string => `process.stderr.write("${what}\\n")`
    const server = `process.stdin.on("end", () => ${says('eof')}).resume()
      setInterval(() => {}, 1000); ${says('up')}; process.on("SIGTERM", () => { ${says('told')}; process.exit(0) })`
    const proxy = spawn(process.execPath, [MAIN, 'mcp', '--', process.execPath, '-e', server], {
      cwd: directory,
      env: env(),
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    onTestFinished(() => void proxy.kill('SIGKILL'))
    const ended = once(proxy, 'exit')
    const said: string[] = []
    const until = async (line: string): Promise<void> => {
      while (!said.join('').includes(line)) await once(proxy.stderr, 'data')
    }
    proxy.stderr.setEncoding('utf8').on('data', (text: string) => said.push(text))
    await until('up')
    proxy.kill(first)
    await until('eof')
    proxy.kill(second)
    await until('told')
    expect(await ended).toEqual([0, null])
  })

  it.each([
    ['SIGTERM', (proxy: ChildProcess) => proxy.kill('SIGTERM')],
    ['SIGKILL', (proxy: ChildProcess) => proxy.kill('SIGKILL')],
    ['the end of its input', (proxy: ChildProcess) => proxy.stdin?.end()],
  ] as const)(
    'leaves no server behind a shell that ignores every request to end, after %s',
    async (_, ends) => {
      const server = `process.on('SIGTERM', () => {}); process.on('SIGHUP', () => {})
      process.stdin.on('end', () => {}).resume(); setInterval(() => {}, 1000); console.error('pid ' + process.pid)`
      const command = ['sh', '-c', `"${process.execPath}" -e "$0" server; true`, server]
      const proxy = spawn(process.execPath, [MAIN, 'mcp', '--', ...command], {
        cwd: directory,
        env: env(),
        stdio: ['pipe', 'ignore', 'pipe'],
      })
      onTestFinished(() => void proxy.kill('SIGKILL'))
      let said = ''
      proxy.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
      await until(() => /pid \d+/.test(said))
      const pid = Number(/pid (\d+)/.exec(said)?.[1])
      ends(proxy)
      await until(() => !isAlive(pid))
    },
  )

  it("ends on a signal, even if its client reads none of the server's output", async () => {
    const says = `process.stderr.write("up"); for (;;) require("node:fs").writeSync(1, '{"jsonrpc":"2.0","method":"x"}\\n')`
    const command = [MAIN, 'mcp', '--', process.execPath, '-e', says]
    const proxy = spawn(process.execPath, command, { cwd: directory, env: env(), stdio: 'pipe' })
    onTestFinished(() => void proxy.kill('SIGKILL'))
    const ended = once(proxy, 'exit')
    await once(proxy.stderr, 'data')
    proxy.kill('SIGTERM')
    expect(await ended).toEqual([1, null])
  })

  it('does not start a server without a key', async () => {
    const { code, err } = await run(['--', 'touch', 'started'], { env: { COUNTERSIGN_URL: world.url } })
    expect([code, err.includes('COUNTERSIGN_AGENT_KEY')]).toEqual([2, true])
    expect(() => readFileSync(join(directory, 'started'))).toThrow('ENOENT')
  })

  it('does not read a key or a gateway from a file in the project', async () => {
    mkdirSync(join(directory, 'data'))
    const demo = { url: world.url, agent_key: agent.key }
    writeFileSync(join(directory, 'data', 'demo-credentials.json'), JSON.stringify(demo))
    const { code, err } = await run(['--', 'touch', 'started'], { env: {} })
    expect([code, err.includes('no agent key')]).toEqual([2, true])
    expect(() => readFileSync(join(directory, 'started'))).toThrow('ENOENT')
  })
})

describe('a call that waits', () => {
  /** A proxy with a client of its own; `call` asks for the same each time. */
  const open = (...args: readonly string[]) => {
    const more = { XDG_STATE_HOME: join(directory, 'state') }
    const command = [MAIN, 'mcp', ...args, '--', process.execPath, SERVER, effects]
    const child = spawn(process.execPath, command, { env: { ...env(), ...more }, stdio: 'pipe' })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
    const say = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const thread = async (): Promise<string> => {
      const found = () => /thr_\w+/.exec(said)?.[0]
      await until(() => found() !== undefined)
      return found() ?? ''
    }
    const call = (amount: number): Promise<string> => {
      const params = { name: 'hold', arguments: { amount }, _meta: { progressToken: 'p' } }
      say({ id: 1, method: 'tools/call', params })
      return thread()
    }
    return { child, ended, say, call }
  }

  it.each([
    ['its client closes', (child: ChildProcess) => child.stdin?.end()],
    ['it is told to end', (child: ChildProcess) => child.kill('SIGTERM')],
    ['it is killed', (child: ChildProcess) => child.kill('SIGKILL')],
  ] as const)('resumes in the next proxy of the task when %s', async (how, stop) => {
    const task = `restart-${how}`.replaceAll(' ', '-')
    const first = open('--task', task)
    const thread = await first.call(21)
    stop(first.child)
    await first.ended
    const second = open('--task', task)
    expect(await second.call(21)).toBe(thread)
    expect((await ann.approve(thread)).status).toBe(200)
    await until(() => done().length === 1)
    expect(done()).toMatchObject([{ name: 'hold', arguments: { amount: 21 } }])
  })

  it('is a different call while its proxy runs, in another task, and without a task', async () => {
    const threads = await Promise.all(
      [['--task', 'same'], ['--task', 'same'], ['--task', 'other'], [], []].map((args) =>
        open(...args).call(22),
      ),
    )
    expect(new Set(threads).size).toBe(5)
  })

  it('is withdrawn when the client cancels, and the next proxy opens a new thread', async () => {
    const first = open('--task', 'cancelled')
    const thread = await first.call(23)
    first.say({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'stop' } })
    await until(async () => (await ann.show(thread)).body.withdrawn_at !== undefined)
    expect((await ann.approve(thread)).status).toBe(409)
    first.child.stdin.end()
    await first.ended
    expect(await open('--task', 'cancelled').call(23)).not.toBe(thread)
    expect(done()).toEqual([])
  })

  it('is stored only in a directory with an absolute path', async () => {
    const args = ['mcp', '--task', 't', '--state', 'here', '--', 'true']
    const { code, err } = await runCli(args, { cwd: directory, env: env() })
    expect([code, err]).toEqual([2, expect.stringContaining('--state must be an absolute path, not `here`')])
  })
})
