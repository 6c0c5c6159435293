/**
 * Runs tests as a machine does that has other work: as many busy loops beside them as there are cores, and all of their processes
 * stopped together for 60 ms to 2 s about once a second, as a hypervisor does. A test that then fails counts on time.
 *
 *     npm run test:busy -- --project embedded test/http
 *
 * Linux only (processes are found in /proc). Pauses come in the same order each time. Exits as vitest does.
 */
import { spawn } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const PAUSES_MS = [60, 120, 250, 500, 60, 2_000, 120, 60, 1_000]
const BETWEEN_MS = [300, 1_500, 700, 1_100, 450]

const VITEST = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url))

const tests = spawn(process.execPath, [VITEST, 'run', ...process.argv.slice(2)], { stdio: 'inherit' })
const loops = Array.from({ length: availableParallelism() }, () =>
  spawn(process.execPath, ['-e', 'for (;;);']),
)
const done = new Promise((resolve) => tests.once('exit', (code) => resolve(code ?? 1)))
process.once('SIGINT', () => tests.kill('SIGINT'))
process.once('SIGTERM', () => tests.kill('SIGTERM'))

let pauses = 0
let code
void done.then((ended) => (code = ended))
while (code === undefined) {
  await Promise.race([done, sleep(BETWEEN_MS[pauses % BETWEEN_MS.length])])
  if (code !== undefined) break
  // What a test has stopped itself stays stopped.
  const stopped = descendants(tests.pid).filter((id) => signalled(id, 'SIGSTOP'))
  await sleep(PAUSES_MS[pauses % PAUSES_MS.length])
  for (const id of stopped) signalled(id, 'SIGCONT')
  pauses += 1
}
for (const loop of loops) loop.kill('SIGKILL')
console.log(`stopped ${pauses} times`)
process.exit(code)

/** Ids of the running processes below one; what has ended meanwhile, or is stopped, is left out. */
function descendants(root) {
  const children = new Map()
  const running = new Set()
  for (const name of readdirSync('/proc')) {
    const status = /^\d+$/.test(name) ? statusOf(name) : undefined
    if (status === undefined) continue
    const [state, parent] = status
    children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    if (!'TtZ'.includes(state)) running.add(Number(name))
  }
  const found = []
  const left = [root]
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    const below = children.get(id) ?? []
    found.push(...below)
    left.push(...below)
  }
  return found.filter((id) => running.has(id))
}

/** State and parent of a process (proc(5): what follows the last parenthesis of `stat`). */
function statusOf(id) {
  try {
    const [state, parent] = readFileSync(`/proc/${id}/stat`, 'utf8').split(') ').at(-1).split(' ')
    return [state, Number(parent)]
  } catch {
    return undefined
  }
}

function signalled(id, signal) {
  try {
    return process.kill(id, signal)
  } catch {
    return false
  }
}
