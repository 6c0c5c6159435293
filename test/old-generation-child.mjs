/*
 * Runs the built program for old-generation.test.ts. Prints as JSON how many bytes an allowed and a held call leave in
 * the old generation. It answers commits without a store, one call after another. All calls have the same task, and the
 * gateway remembers nothing about it: the remaining bytes are garbage.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'

const dist = new URL('../dist/', import.meta.url)
const { startApp } = await import(new URL('app.js', dist))
const { loadConfig } = await import(new URL('settings/config.js', dist))
const { identify } = await import(new URL('gateway/auth/identify.js', dist))
const { submit } = await import(new URL('gateway/agent/submit.js', dist))
const { createLog } = await import(new URL('telemetry/log/log.js', dist))

const ADMIN_KEY = 'an-admin-key-for-tests-on-the-loopback-only'
const CALLS = 2_000
const WARM_UP = 4_000
/** The least of so many counts: what warms up late is in some of them, what every call leaves is in each. */
const ROUNDS = 4

const directory = mkdtempSync(join(tmpdir(), 'countersign-old-generation-'))
const policies = process.argv[2]
const { config } = loadConfig({
  args: ['--policies', policies, '--store', `file:${directory}/data`, '--port', '0', '--metrics-port', '0'],
  env: { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY },
  parseYaml: () => undefined,
})
const app = await startApp(config, { log: createLog('silent') })
const given = await fetch(`${app.url}/api/admin/agents/acme/demo-agent/key`, {
  method: 'POST',
  headers: { authorization: `Bearer ${ADMIN_KEY}` },
})
const caller = await identify(app.deps, 'agent', (await given.json()).api_key)

let events = 0
const store = Object.create(app.deps.store, {
  commit: {
    async value(_partition, commit) {
      await turn()
      return { ok: true, numbers: commit.events.map(() => (events += 1)) }
    },
  },
  get: { value: (...name) => app.deps.store.get(...name) },
  now: { value: () => app.deps.store.now() },
  range: { value: (...bounds) => app.deps.store.range(...bounds) },
})
/** The store keeps none of these commits, which the gateway would take for a loss of its records. */
const observe = (one) => {
  if (one.kind !== 'commit') app.deps.observe(one)
}
const gateway = { ...app.deps, store, observe }

const oldBytes = () =>
  getHeapSpaceStatistics()
    .filter(({ space_name }) => space_name === 'old_space')
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0)

async function left(amount_cents) {
  const request = () => ({
    tool_name: 'ledger.transfer',
    payload: { from: 'acct_ops', to: 'acct_travel', amount_cents, currency: 'eur' },
  })
  const run = async (calls) => {
    for (let i = 0; i < calls; i++) {
      const origin = { request: `request-${i}` }
      await submit({ ...gateway, origin }, caller, { taskId: 'task', request: request() })
    }
  }
  await run(WARM_UP)
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) {
    globalThis.gc()
    const before = oldBytes()
    await run(CALLS)
    rounds.push(Math.round((oldBytes() - before) / CALLS))
  }
  return Math.min(...rounds)
}

const bytes = { allowed: await left(2_500), held: await left(25_000) }
await app.close()
rmSync(directory, { recursive: true })
console.log(JSON.stringify(bytes))
