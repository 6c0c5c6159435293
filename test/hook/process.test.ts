import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type CliRun, runCli } from '../cli/run.ts'
import { agentWorld, ann, bot as agent, world } from '../agent-world.ts'
import { until } from '../until.ts'
import { stopwatch } from '../stopwatch.ts'

/*
 * `countersign hook` as a harness runs it. The law: exit code 0 only for calls that the gateway allowed or people
 * approved; 2 with a reason on standard error for all others. Every other code lets the tool run.
 */
const BIN = fileURLToPath(new URL('../../dist/bin', import.meta.url))
const MAIN = join(BIN, 'main.js')

let directory: string
let session = ''
let count = 0

agentWorld()
beforeAll(async () => {
  // polls of the gateway end by its clock
  world.clock.run()
  directory = await mkdtemp(join(tmpdir(), 'countersign-hook-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))
beforeEach(() => {
  session = `s${++count}`
})

const env = (): Record<string, string> => ({
  COUNTERSIGN_URL: world.url,
  COUNTERSIGN_AGENT_KEY: agent.key,
  XDG_STATE_HOME: join(directory, 'state'),
})
const callOf = (tool_name: string, tool_input: unknown, other: object = {}): string =>
  JSON.stringify({ session_id: session, hook_event_name: 'PreToolUse', tool_name, tool_input, ...other })
const run = (args: readonly string[], input: string, more: Record<string, string> = {}): Promise<CliRun> =>
  runCli(['hook', ...args], { cwd: directory, env: { ...env(), ...more }, input })
const hook = (input: string, ...args: string[]): Promise<CliRun> => run(['claude-code', ...args], input)

/** And the event that comes before a tool. */
const HARNESSES: [string, string][] = [
  ['claude-code', 'PreToolUse'],
  ['codex', 'PreToolUse'],
  ['gemini', 'BeforeTool'],
]

/** The thread about this session, as soon as people are asked. */
async function asked(): Promise<string> {
  let thread: string | undefined
  await until(async () => {
    const records = (await world.allEvidence()).map(({ record }) => record)
    thread = records.find(
      ({ type, task_id = '' }) => type === 'review.pending' && task_id.endsWith(`:${session}`),
    )?.thread_id
    return thread !== undefined
  })
  return thread ?? ''
}

describe('a call', () => {
  it('exit code 0 without output when policy allows the call', async () => {
    expect(await hook(callOf('t', { a: 1 }))).toEqual({ code: 0, out: '', err: '' })
  })

  it('exit code 0 and an explicit allow when policy allows the call, with --grant', async () => {
    const { code, out, err } = await hook(callOf('t', {}), '--grant')
    expect([code, err]).toEqual([0, ''])
    expect(JSON.parse(out)).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'allow',
        permissionDecisionReason: 'let through by countersign',
      },
    })
  })

  it.each(HARNESSES)('exit code 0 without output when policy allows the call of %s', async (name, event) => {
    const input = callOf('t', {}, { hook_event_name: event })
    expect(await run([name], input)).toEqual({ code: 0, out: '', err: '' })
  })

  it('exit code 0 for a call of Codex with all of its fields', async () => {
    const { tool_input } = JSON.parse(callOf('t', { command: 'ls' })) as { tool_input: object }
    const more = { turn_id: 'a', agent_id: 'b', agent_type: 'c', transcript_path: null, cwd: '/', model: 'm' }
    const input = callOf('t', tool_input, { ...more, permission_mode: 'default', tool_use_id: 'call_1' })
    expect(await run(['codex'], input)).toEqual({ code: 0, out: '', err: '' })
  })

  it.each([[[]], [['--grant']]])(
    'exit code 2 and the reason when policy rejects the call (%j)',
    async (args) => {
      const { code, out, err } = await hook(callOf('pay', { amount: 1_000_000 }), ...args)
      expect([code, out]).toEqual([2, ''])
      expect(err).toBe(
        'Not executed: Nobody moves that much. Do not call the tool again with these arguments.\n',
      )
    },
  )

  it('exit code 0 when reviewers approve the call', async () => {
    const done = hook(callOf('hold', { n: 1 }))
    await ann.approve(await asked())
    expect(await done).toEqual({ code: 0, out: '', err: '' })
  })

  it('exit code 2 and the comment when reviewers reject the call', async () => {
    const done = hook(callOf('hold', { n: 1 }))
    await ann.vote(await asked(), { decision: 'reject', revision: 1, comment: 'not on a Friday' })
    expect(await done).toEqual({
      code: 2,
      out: '',
      err: 'Not executed: not on a Friday. Do not call the tool again with these arguments.\n',
    })
  })

  it('exit code 2 and advice when no reviewer decides in time; the next hook continues', async () => {
    const input = callOf('hold', { n: 2 })
    const { code, err } = await hook(input, '--max-wait', '1s')
    const thread = await asked()
    expect([code, err.includes(thread), err.includes('Call the tool again')]).toEqual([2, true, true])
    await ann.approve(thread)
    expect(await hook(input)).toEqual({ code: 0, out: '', err: '' })
  })

  it('reports that it cannot store a call, which is then asked about again', async () => {
    const input = callOf('hold', { n: 3 })
    const first = await run(['claude-code', '--max-wait', '1s', '--state', MAIN], input)
    expect(first.code).toBe(2)
    expect(first.err).toContain('cannot be kept')
    const { code, err } = await run(['claude-code', '--state', MAIN], callOf('t', {}))
    expect([code, err.includes('cannot be kept')]).toEqual([0, true])
  })
})

describe.each(HARNESSES)('exit code 2 and a reason for %s', (harness, event) => {
  const other = event === 'PreToolUse' ? 'BeforeTool' : 'PreToolUse'
  const called = (tool_name: string, tool_input: unknown, more: object = {}): string =>
    callOf(tool_name, tool_input, { hook_event_name: event, ...more })
  const hook = (input: string, ...args: string[]): Promise<CliRun> => run([harness, ...args], input)
  const rows: [string, () => Promise<CliRun>, string][] = [
    ['no input', () => hook(''), 'at character 0'],
    ['garbage', () => hook('\u0000\u0001<html>'), 'expected a value'],
    ['half a call', () => hook(called('t', {}).slice(0, -1)), 'at character'],
    ['a call and more', () => hook(`${called('t', {})}{}`), 'text after the'],
    ['10 MB', () => hook(called('t', { text: 'x'.repeat(10_000_000) })), 'longer than'],
    ['10 MB that are no JSON', () => hook('['.repeat(10_000_000)), 'longer than'],
    ['deep nesting', () => hook(called('t', 0).replace(':0}', `:${'['.repeat(1_000)}`)), 'nested'],
    ['another event', () => hook(called('t', {}, { hook_event_name: other })), event],
    ['no session', () => hook(called('t', {}, { session_id: null })), 'session'],
    ['an unknown tool', () => hook(called('Bash', {})), 'does not let this agent use Bash'],
    ['a name that is none', () => hook(called('a/b c', {})), 'Not executed'],
    ['arguments that do not fit', () => hook(called('pay', { amount: 'all' })), '/amount'],
    ['an argument too many', () => hook(called('t', {}), 'more'), 'unexpected argument `more`'],
    ['an unknown flag', () => hook(called('t', {}), '--nope'), '--nope'],
    ['no harness', () => run([], called('t', {})), 'missing argument: claude-code|codex|gemini'],
    [
      'an unknown harness',
      () => run(['constructor'], called('t', {})),
      '`constructor` is not claude-code, codex or gemini',
    ],
    ['a wait that is none', () => hook(called('t', {}), '--max-wait', 'long'), '--max-wait'],
    ['a wait beyond the day', () => hook(called('t', {}), '--max-wait', '25h'), '--max-wait'],
    ['a grant that nobody hears', () => run(['gemini', '--grant'], called('t', {})), '--grant'],
    ['an address that is none', () => hook(called('t', {}), '--url', 'nowhere'), '`url`'],
    ['no gateway', () => hook(called('t', {}), '--url', 'http://127.0.0.1:9'), 'no answer'],
    ['no key', () => run([harness], called('t', {}), { COUNTERSIGN_AGENT_KEY: '' }), 'no agent key'],
    [
      'a wrong key',
      () => run([harness], called('t', {}), { COUNTERSIGN_AGENT_KEY: 'csk_x' }),
      'Not executed',
    ],
    [
      'a key of the wrong kind',
      () => run([harness], called('t', {}), { COUNTERSIGN_AGENT_KEY: ann.key }),
      '',
    ],
  ]
  // what a harness has of its own: its event, its session, the tool's name, the grant
  const own = ['another event', 'no session', 'an unknown tool', 'a wrong key', 'no key']
  const tried = harness === 'claude-code' ? rows : rows.filter(([name]) => own.includes(name))
  it.each(tried)('for %s', async (_, go, why) => {
    const { code, out, err } = await go()
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(/^Not executed: \S/)
    expect(err).toContain(why)
    expect(err).not.toContain('    at ')
  })

  it('exit code 2 without a key, whatever a project file contains', async () => {
    const project = await mkdtemp(join(directory, 'project-'))
    mkdirSync(join(project, 'data'))
    const demo = { url: world.url, agent_key: agent.key }
    writeFileSync(join(project, 'data', 'demo-credentials.json'), JSON.stringify(demo))
    const done = await runCli(['hook', harness], {
      cwd: project,
      env: { XDG_STATE_HOME: join(directory, 'state') },
      input: called('t', {}),
    })
    expect([done.code, done.err.includes('no agent key')]).toEqual([2, true])
  })
})

describe('exit code 2 for an internal error', () => {
  const script = (text: string): Record<string, string> => ({
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(text)}`,
  })
  const THROW = `throw new Error('boom')`
  it.each([
    [
      'an exception that nobody catches',
      `globalThis.fetch = () => { setImmediate(() => { ${THROW} }); return new Promise(() => {}) }`,
    ],
    [
      'a rejection that nobody handles',
      `globalThis.fetch = () => { Promise.reject(new Error('boom')); return new Promise(() => {}) }`,
    ],
    ['no reader of JSON', `JSON.parse = () => { ${THROW} }`],
    ['no cryptography', `crypto.subtle.digest = () => { ${THROW} }`],
    ['an exit that nobody meant', `globalThis.fetch = () => process.exit(1)`],
    ['another exit that nobody meant', `globalThis.fetch = () => process.exit()`],
    ['an answer that cannot be written', `process.stdout.write = (text, done) => done(new Error('boom'))`],
    [
      'an error of standard output',
      `process.stdout.write = () => { process.stdout.emit('error', new Error('boom')) }`,
    ],
  ])('%s', async (_, text) => {
    const { code } = await run(['claude-code', '--grant'], callOf('t', {}), script(text))
    expect(code).toBe(2)
  })

  it('a program with a missing part', async () => {
    const broken = await mkdtemp(join(directory, 'broken-'))
    cpSync(BIN, broken, { recursive: true })
    writeFileSync(join(broken, 'package.json'), '{"type":"module"}')
    const parts = readdirSync(broken).filter((name) => /^hook-.*\.js$/.test(name))
    expect(parts).toHaveLength(1)
    for (const part of parts) rmSync(join(broken, part))
    const { code, err } = await ended(
      start([process.execPath, join(broken, 'main.js'), 'hook', 'claude-code']),
    )
    expect([code, err.includes('ERR_MODULE_NOT_FOUND')]).toEqual([2, true])
  })
})

interface Started {
  readonly child: ChildProcess
  readonly ended: Promise<CliRun>
}

/** With an input that does not end. */
function start([program = '', ...args]: readonly string[], input = ''): Started {
  const child = spawn(program, args, { cwd: directory, env: { PATH: process.env['PATH'] ?? '', ...env() } })
  let [out, err] = ['', '']
  child.stdout.on('data', (text: Buffer) => (out += text.toString()))
  child.stderr.on('data', (text: Buffer) => (err += text.toString()))
  child.stdin.on('error', () => undefined)
  child.stdin.write(input)
  return { child, ended: new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err }))) }
}

const ended = ({ child, ended: end }: Started): Promise<CliRun> => {
  child.stdin?.end()
  return end
}
const HOOK = [process.execPath, MAIN, 'hook', 'claude-code']

describe('a step that takes too long', () => {
  let silent: Server
  beforeAll(async () => {
    // takes every request, and answers none
    silent = createServer(() => undefined)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => {
    silent.closeAllConnections()
    silent.close()
  })

  it("an endless input, or a gateway that does not answer: exit code 2 at the hook's own deadline", async () => {
    const tookMs = stopwatch()
    const { port } = silent.address() as AddressInfo
    const stuck = [...HOOK, '--max-wait', '1s', '--url', `http://127.0.0.1:${port}`]
    const [input, gateway] = await Promise.all([
      start(HOOK, callOf('t', {})).ended,
      ended(start(stuck, callOf('t', {}))),
    ])
    expect(input).toMatchObject({ code: 2, err: 'Not executed: the harness did not end its input\n' })
    expect([gateway.code, gateway.err.includes('did not answer in time')]).toEqual([2, true])
    expect(tookMs()).toBeLessThan(25_000)
  })
})

describe('a hook that gets a signal', () => {
  it.each(['SIGTERM', 'SIGHUP'] as const)(
    'exit code 2 for %s, and the next hook joins the call',
    async (signal) => {
      const input = callOf('hold', { n: signal })
      const started = start(HOOK, input)
      const done = ended(started)
      const thread = await asked()
      started.child.kill(signal)
      const { code, err } = await done
      expect([code, err]).toEqual([2, `Not executed: a signal ended the hook (${signal})\n`])
      expect((await ann.approve(thread)).status).toBe(200)
      expect(await hook(input)).toEqual({ code: 0, out: '', err: '' })
    },
  )

  it.each(['SIGINT'] as const)('exit code 2 for %s, and the call is withdrawn', async (signal) => {
    const input = callOf('hold', { n: 4 })
    const started = start(HOOK, input)
    const done = ended(started)
    const thread = await asked()
    started.child.kill(signal)
    const { code, err } = await done
    expect([code, err]).toEqual([2, `Not executed: a signal ended the hook (${signal})\n`])
    expect((await ann.show(thread)).body).toHaveProperty('withdrawn_at')
    expect((await ann.approve(thread)).status).toBe(409)
    const { code: again, err: why } = await hook(input, '--max-wait', '1s')
    expect([again, why.includes('not decided yet'), why.includes(thread)]).toEqual([2, true, false])
  })

  it('leaves its call to the next hook after SIGKILL', async () => {
    const input = callOf('hold', { n: 6 })
    const started = start(HOOK, input)
    const done = ended(started)
    const thread = await asked()
    await until(() => readdirSync(join(directory, 'state', 'countersign', 'hooks')).length > 0)
    started.child.kill('SIGKILL')
    await done
    await ann.approve(thread)
    expect(await hook(input)).toEqual({ code: 0, out: '', err: '' })
  })

  it('exit code 2 for a signal during the input', async () => {
    // by the first word on standard error everything is set up: a hook says nothing before it ends
    const started = start([process.execPath, '--import', READY, ...HOOK.slice(1)], '{')
    await new Promise((resolve) => started.child.stderr?.once('data', resolve))
    started.child.kill('SIGTERM')
    expect(await started.ended).toMatchObject({ code: 2, err: expect.stringContaining('SIGTERM') as string })
  })

  it('ends without allowing a call when its shell is killed', async () => {
    const input = callOf('hold', { n: 5 })
    const command = `"${process.execPath}" "${MAIN}" hook claude-code || exit 2`
    const started = start(['/bin/sh', '-c', command], input)
    const done = ended(started)
    const thread = await asked()
    started.child.kill('SIGKILL')
    // standard error is the hook's, too: it closes when that has ended
    expect((await done).err).toBe('Not executed: the calling process has ended\n')
    await ann.approve(thread)
    expect(await hook(input)).toEqual({ code: 0, out: '', err: '' })
  })
})

/** Says `ready` as soon as something listens to SIGTERM. */
const READY = `data:text/javascript,${encodeURIComponent(
  `process.on('newListener', (name) => { if (name === 'SIGTERM') setImmediate(() => process.stderr.write('ready\\n')) })`,
)}`

describe('an output without a reader', () => {
  it('exit code 2 when standard error has no reader', async () => {
    const started = start(HOOK, callOf('bare', {}))
    started.child.stderr?.destroy()
    expect((await ended(started)).code).toBe(2)
  })

  it('exit code 2 for a grant when standard output has no reader', async () => {
    const started = start([...HOOK, '--grant'], callOf('t', {}))
    started.child.stdout?.destroy()
    expect((await ended(started)).code).toBe(2)
  })
})
