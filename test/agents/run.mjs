/*
 * Runs `countersign hook` and `countersign mcp` in the real coding agents, with a model on loopback (model.mjs) and a
 * real gateway. This is not a part of `npm run check`: the programs are big, change each week, and have licences of
 * their own. CONTRIBUTING.md describes how to run it. It needs Linux, and does nothing where it can reach another
 * network than loopback.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { call, MAIN, startGateway } from '../../bench/gateway.mjs'
import { startModel } from './model.mjs'
import { writePolicies } from './policies.mjs'
import { PROGRAMS } from './programs.mjs'

const LONGEST_RUN_MS = 120_000
const SERVER = fileURLToPath(new URL('../mcp/ledger-server.mjs', import.meta.url))

const [directory, ...only] = process.argv.slice(2)
if (directory === undefined) fail('usage: node test/agents/run.mjs DIRECTORY [PROGRAM]')
const networks = [...readFileSync('/proc/self/net/dev', 'utf8').matchAll(/^ *(\w+):/gm)]
  .map(([, name]) => name)
  .filter((name) => name !== 'lo')
if (networks.length > 0) fail(`this machine reaches ${networks.join(', ')}: run it under unshare -rn`)

function fail(text) {
  console.error(text)
  process.exit(2)
}

const root = mkdtempSync(join(tmpdir(), 'countersign-agents-'))
const model = await startModel()
writePolicies(join(root, 'policies'))
const gateway = await startGateway({ policies: join(root, 'policies'), directory: join(root, 'gateway') })
const agentKey = await gateway.key('agent', 'bot')
const reviewerKey = await gateway.key('reviewer', 'ann')

/** The program that the command of the settings finds: ours, or one that fails as it says. */
const COMMANDS = {
  ours: `exec ${process.execPath} ${MAIN} "$@"`,
  missing: undefined,
  killed: 'kill -9 $$',
  silent: 'exit 2',
  slow: 'exec sleep 30',
  'killed with its shell': 'kill -9 $PPID $$',
}

function commands(name) {
  const place = join(root, 'bin', name.replaceAll(' ', '-'))
  mkdirSync(place, { recursive: true })
  if (COMMANDS[name] === undefined) return place
  writeFileSync(join(place, 'countersign'), `#!/bin/sh\n${COMMANDS[name]}\n`)
  chmodSync(join(place, 'countersign'), 0o755)
  return place
}

const threads = async (query) =>
  (await call(gateway.url, { path: `/api/review/threads?limit=100&${query}`, key: reviewerKey })).threads

/** Waits for a pending thread, and votes on it; does not vote when `work` already holds a file by then. */
async function decide(decision, work) {
  const until = Date.now() + LONGEST_RUN_MS
  while (Date.now() < until) {
    const [pending] = await threads('status=pending_review')
    if (pending !== undefined && work !== undefined && readdirSync(work).length > 0) return
    if (pending !== undefined) return vote(pending, decision)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const vote = ({ thread_id }, decision) =>
  call(gateway.url, {
    method: 'POST',
    path: `/api/review/threads/${thread_id}/votes`,
    key: reviewerKey,
    body: { decision, revision: 1, comment: 'said by Ann' },
  })

function settingsOf(program, options = []) {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [MAIN, 'hook', program.name, ...options, '--settings'],
    { encoding: 'utf8' },
  )
  if (status !== 0) fail(stderr)
  return JSON.parse(stdout)
}

/** Shortens the harness's timeout, s: the printed settings allow more time than a test has. */
function withTimeout(settings, seconds) {
  const [[{ hooks }]] = Object.values(settings.hooks)
  hooks[0].timeout = hooks[0].timeout > 1_000 ? seconds * 1_000 : seconds
  return settings
}

let runs = 0

/** Runs the program in a home and a folder of its own. Returns its exit code, its files, and the model's results. */
async function run(
  program,
  script,
  { hooks, mcp, command = 'ours', url = gateway.url, during, ...more } = {},
) {
  const place = join(root, `run-${++runs}`)
  const [home, work] = [join(place, 'home'), join(place, 'work')]
  for (const one of [home, work]) mkdirSync(one, { recursive: true })
  const path = `${commands(command)}:${process.env.PATH}`
  const { args, env } = program.prepare({ home, hooks, mcp: mcp?.(work), url: model.url, ...more })
  model.play(typeof script === 'function' ? script(work) : script)
  const child = spawn(join(directory, 'node_modules/.bin', program.bin), args, {
    cwd: work,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: {
      PATH: path,
      HOME: home,
      SHELL: '/bin/sh',
      TERM: 'xterm-256color',
      COUNTERSIGN_URL: url,
      COUNTERSIGN_AGENT_KEY: agentKey,
      ...env,
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += part))
  const ended = once(child, 'exit')
  // the whole group: a hook that waits is the program's child
  const timer = setTimeout(
    () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'),
    LONGEST_RUN_MS,
  )
  await during?.(work)
  const [code, signal] = await ended
  clearTimeout(timer)
  const { told, tools } = model.state
  if (process.env.VERBOSE) console.log({ code, signal, output, told, tools })
  return { code: signal ?? code, output, told, files: readdirSync(work), work }
}

let wrong = 0
function row(program, name, good, { told, files, code }) {
  if (!good) wrong++
  const said = told.map((one) => one.replaceAll(/\s+/g, ' ').slice(0, 150)).join(' | ')
  console.log(
    `${good ? 'as it should be' : 'NOT AS IT SHOULD BE'} ${program.label}: ${name}: exit ${code}, made [${files}], told: ${said}`,
  )
}

const has = (result, text) => result.told.some((told) => told.includes(text))
const ran = (result, file) => result.files.includes(file)

async function hookRows(program) {
  const hooks = settingsOf(program)
  const shell = (text) => [program.shell(text)]
  const check = async (name, script, options, good) => {
    const result = await run(program, script, { hooks, ...options })
    row(program, name, good(result), result)
  }
  await check('allowed', shell('touch allowed'), {}, (it) => ran(it, 'allowed'))
  await check('rejected', shell('touch refused'), {}, (it) => !ran(it, 'refused') && has(it, 'Not executed'))
  await check('held, approved', shell('touch held'), { during: (work) => decide('approve', work) }, (it) =>
    ran(it, 'held'),
  )
  await check(
    'held, rejected',
    shell('touch held'),
    { during: (work) => decide('reject', work) },
    (it) => !ran(it, 'held') && has(it, 'said by Ann'),
  )
  const short = settingsOf(program, ['--max-wait', '2s'])
  await twice(program, 'held too long, called again', program.shell('touch held'), { hooks: short })
  await undecided(program, 'nobody decides', program.shell('touch held'), { hooks })
  if (program.write !== undefined)
    await check(
      'a tool without a contract',
      (work) => [program.write(join(work, 'written'))],
      {},
      (it) => !ran(it, 'written') && has(it, 'Not executed'),
    )
  await check(
    'no gateway',
    shell('touch allowed'),
    { url: 'http://127.0.0.1:9' },
    (it) => !ran(it, 'allowed') && has(it, 'Not executed'),
  )
  if (program.grants === true) {
    const granting = { hooks: settingsOf(program, ['--grant']), asks: true }
    await check(
      'allowed, but it would ask its user',
      shell('touch allowed'),
      { asks: true },
      (it) => !ran(it, 'allowed'),
    )
    await check('granted', shell('touch allowed'), granting, (it) => ran(it, 'allowed'))
    await check('rejected, with --grant', shell('touch refused'), granting, (it) => !ran(it, 'refused'))
  }
  await faults(program, check, shell)
}

/** No reviewer decides in time; the model calls again after a reviewer has approved. */
async function twice(program, name, once, options) {
  const before = (await threads('status=approved')).length
  const again = { ...once, before: () => decide('approve') }
  const result = await run(program, [once, again], options)
  const one = (await threads('status=approved')).length === before + 1
  row(program, name, result.files.length === 1 && has(result, 'Call the tool again') && one, result)
}

/** Holds a call for the default time: neither the program nor its shell gives up before the hook answers. */
async function undecided(program, name, once, options) {
  const script = program.wait === undefined ? [once] : [once, program.wait]
  const result = await run(program, script, options)
  row(program, name, result.files.length === 0 && has(result, 'Call the tool again'), result)
  await decide('reject')
}

async function faults(program, check, shell) {
  const blocked = (name) => (it) => ran(it, 'allowed') === program.open.includes(name)
  const long = `touch allowed # ${'x'.repeat(100_000)}`
  for (const command of ['missing', 'killed', 'silent'])
    for (const [size, text] of [
      ['', 'touch allowed'],
      [', long input', long],
    ])
      await check(`the program ${command}${size}`, shell(text), { command }, blocked(`${command}${size}`))
  await check(
    'the shell killed',
    shell('touch allowed'),
    { command: 'killed with its shell' },
    blocked('the shell killed'),
  )
  if (program.trust === true)
    await check(
      'a hook that nobody trusted',
      shell('touch allowed'),
      { command: 'missing', trusted: false },
      blocked('a hook that nobody trusted'),
    )
  const hooks = withTimeout(settingsOf(program), 2)
  await check('too slow', shell('touch allowed'), { hooks, command: 'slow' }, blocked('too slow'))
}

async function serverRows(program) {
  const proxied =
    (...options) =>
    (work) => ({
      command: process.execPath,
      args: [
        MAIN,
        'mcp',
        '--prefix',
        'ledger.',
        ...options,
        '--',
        process.execPath,
        SERVER,
        join(work, 'paid'),
      ],
      env: { COUNTERSIGN_URL: gateway.url, COUNTERSIGN_AGENT_KEY: agentKey },
    })
  const mcp = proxied()
  const check = async (name, amount, options, good) => {
    const result = await run(program, [program.server('pay', { amount })], { mcp, ...options })
    row(program, `MCP, ${name}`, good(result), result)
  }
  await check('allowed', 1, {}, (it) => ran(it, 'paid') && has(it, 'done'))
  await check(
    'held, approved',
    2,
    { during: (work) => decide('approve', work) },
    (it) => ran(it, 'paid') && has(it, 'done'),
  )
  await check('rejected', 3, {}, (it) => !ran(it, 'paid') && has(it, 'Not executed'))
  const held = program.server('pay', { amount: 2 })
  await twice(program, 'MCP, held too long, called again', held, { mcp: proxied('--max-wait', '2s') })
  await undecided(program, 'MCP, nobody decides', held, { mcp })
}

for (const program of PROGRAMS) {
  const bin = join(directory, 'node_modules/.bin', program.bin)
  if (!existsSync(bin) || (only.length > 0 && !only.includes(program.label))) continue
  console.log(`${program.label}: ${spawnSync(bin, ['--version'], { encoding: 'utf8' }).stdout.trim()}`)
  await hookRows(program)
  await serverRows(program)
}
await gateway.stop()
model.stop()
rmSync(root, { recursive: true, force: true })
console.log(wrong === 0 ? 'all as it should be' : `${wrong} not as they should be`)
process.exitCode = wrong === 0 ? 0 : 1
