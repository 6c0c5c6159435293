/*
 * A real gateway for all benchmarks: a `serve` process of dist/ on free loopback ports, its keys, and a simple client.
 * Its state is in a temporary directory, which `stop` removes.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const MAIN = fileURLToPath(new URL('../dist/bin/main.js', import.meta.url))
const STARTER_POLICIES = fileURLToPath(new URL('../policies', import.meta.url))
const copies = new Map()

/**
 * Returns a copy of a checkout's starter policies for benchmarks. Allowed calls need no proof, so an allow is one
 * request, unless `proofs` is set. Transfers have no limit, and the agent of the benchmarks has a rate that it never
 * reaches.
 *
 * @param retention the value of `retention` in routing.yaml; by default, the checkout decides
 * @param expected adds `ledger.expected`, with these lines in its contract
 */
export function plainPolicies({ from = STARTER_POLICIES, proofs = false, retention, expected } = {}) {
  const key = `${proofs} ${retention} ${expected} ${from}`
  const known = copies.get(key)
  if (known !== undefined) return known
  const copy = mkdtempSync(join(tmpdir(), 'countersign-bench-policies-'))
  copies.set(key, copy)
  cpSync(from, copy, { recursive: true })
  const edit = (path, part) => writeFileSync(path, readFileSync(path, 'utf8').replace(part, ''))
  edit(join(copy, 'rules/ledger.transfer.yaml'), /^limits:.*$/ms)
  for (const file of readdirSync(join(copy, 'tools')))
    if (!proofs) edit(join(copy, 'tools', file), /^proof: always.*\n/m)
  if (retention !== undefined) {
    const routing = join(copy, 'routing.yaml')
    edit(routing, /^retention:.*\n/m)
    appendFileSync(routing, `\nretention: ${retention}\n`)
  }
  if (expected !== undefined) addExpected(copy, expected)
  const directory = join(copy, 'directory.yaml')
  const text = readFileSync(directory, 'utf8')
  writeFileSync(directory, text.replace(/(demo-agent: +\{ )/, '$1rate: 9999999/s, '))
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }))
  return copy
}

/** Adds `ledger.expected`, which is `ledger.transfer` with these lines in its contract. */
function addExpected(copy, lines) {
  for (const folder of ['tools', 'rules']) {
    const text = readFileSync(join(copy, folder, 'ledger.transfer.yaml'), 'utf8')
    const more = folder === 'tools' ? lines : ''
    const own = text
      .replace(/^tool: .*\n/m, `tool: ledger.expected\n${more}`)
      .replaceAll('transfer-', 'expected-')
    writeFileSync(join(copy, folder, 'ledger.expected.yaml'), own)
  }
  const directory = join(copy, 'directory.yaml')
  const text = readFileSync(directory, 'utf8')
  writeFileSync(directory, text.replace(/(demo-agent:.*tools: \[)/, '$1ledger.expected, '))
}

export const ADMIN_KEY = 'an-admin-key-for-benchmarks-on-loopback-only'
const READY_WITHIN_MS = 20_000
/** Budgets that no benchmark exhausts. */
const BUDGETS = {
  COUNTERSIGN_BUDGET_WAITING_PER_AGENT: '10000000',
  COUNTERSIGN_BUDGET_WAITING_PER_TENANT: '10000000',
}

const running = new Set()
process.once('exit', () => running.forEach((child) => child().kill('SIGKILL')))

/** Ends the child with this process, so that it does not outlive a failed benchmark. */
export function endWithUs(child) {
  running.add(child)
}

const hasTaskset = spawnSync('taskset', ['--version']).status === 0

/** Pins this process and its unpinned children to core 1. Pinned servers run on core 0. Warns if taskset is missing. */
export function pinThisProcess() {
  if (!hasTaskset) {
    console.log('taskset is missing: server and load share the cores, so treat the ratios with care')
    return
  }
  spawnSync('taskset', ['-a', '-c', '-p', '1', String(process.pid)])
}

/** The options of Node.js in the image and in the systemd unit (docs/operations.md). */
const AS_DEPLOYED = ['--v8-pool-size=0', '--min-semi-space-size=16']

/** Starts a Node.js script, on core 0 when `pinned`, or on `cores` (a list for taskset). */
export function startNode(
  args,
  { pinned = false, cores = pinned ? '0' : undefined, env = {}, flags = [] } = {},
) {
  const command = [process.execPath, ...AS_DEPLOYED, ...flags, ...args]
  const [file, ...rest] = cores && hasTaskset ? ['taskset', '-c', cores, ...command] : command
  const child = spawn(file, rest, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production', ...env },
  })
  return child
}

/** Returns the first line of output that `fits`. Rejects if the process ends first. */
export function lineOf(child, fits) {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: child.stdout })
    lines.on('line', (line) => fits(line) && resolve(line))
    child.once('exit', (code, signal) => reject(new Error(`the process ended too early (${signal ?? code})`)))
  })
}

/**
 * Starts a gateway: on Redis with `store` (and its `settings`), otherwise on the embedded store in `directory`.
 *
 * @param program another script and its first arguments, instead of `serve`
 */
export async function startGateway({
  policies = plainPolicies(),
  program = [MAIN, 'serve'],
  directory,
  store,
  settings = [],
  pinned,
  cores,
  flags,
  logLevel,
} = {}) {
  const own = directory ?? mkdtempSync(join(tmpdir(), 'countersign-bench-'))
  const place = store ?? `file:${own}/data`
  const args = ['--port', '0', '--metrics-port', '0', '--store', place, ...settings]
  const started = performance.now()
  const child = startNode([...program, ...args, '--policies', policies, '--log-level', logLevel ?? 'info'], {
    pinned,
    cores,
    flags,
    env: { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY, ...BUDGETS },
  })
  endWithUs(() => child)
  const line = await lineOf(child, (text) => text.includes('"listening"'))
  const { url, metrics } = JSON.parse(line)
  await untilReady(url, started)
  return {
    url,
    metrics,
    pid: child.pid,
    output: child.stdout,
    directory: own,
    readyMs: performance.now() - started,
    /** Returns a page of the tenant's evidence in the format of an export. */
    evidence: (after) => evidenceOf(url, after),
    admin: (method, path) => call(url, { method, path: `/api/admin${path}`, key: ADMIN_KEY }),
    key: async (kind, id) =>
      (await call(url, { method: 'POST', path: `/api/admin/${kind}s/acme/${id}/key`, key: ADMIN_KEY }))
        .api_key,
    stop: async ({ keep = false } = {}) => {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      if (!keep) rmSync(own, { recursive: true, force: true })
    },
  }
}

async function evidenceOf(url, after) {
  const response = await fetch(`${url}/api/admin/evidence?tenant=acme&after=${after}`, {
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
  })
  if (!response.ok) throw new Error(`evidence: ${response.status}`)
  return response.text()
}

async function untilReady(url, started) {
  while (performance.now() - started < READY_WITHIN_MS) {
    const { ok } = await fetch(`${url}/readyz`).catch(() => ({ ok: false }))
    if (ok) return
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  throw new Error('the gateway did not become ready')
}

/**
 * Sends one request and returns its JSON.
 *
 * @throws for any status other than 2xx
 */
export async function call(url, { method = 'GET', path, key, body, headers = {} }) {
  const response = await fetch(url + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return JSON.parse(text)
}

/** Returns resident and anonymous memory from /proc/<pid>/status, in kilobytes (Linux). */
export function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kilobytes = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? Number.NaN)
  return { rss: kilobytes('VmRSS'), anonymous: kilobytes('RssAnon') }
}

/** Returns the processor time of a process so far, in all threads, in microseconds (Linux). */
export function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]

/** Returns the median, and in brackets the values below and above which lies a tenth of all. */
export function rangeOf(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(2)
  return `${at(0.5)} (${at(0.1)} to ${at(0.9)})`
}
