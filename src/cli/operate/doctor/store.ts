import { randomUUID } from 'node:crypto'
import { existsSync, lstatSync } from 'node:fs'
import { openStore } from '../../../app/store.ts'
import type { Config } from '../../../settings/config.ts'
import { put, remove, SYSTEM } from '../../../gateway/core/records.ts'
import { redisAdvice } from '../redis-advice.ts'
import { directoryAdvice, fileAdvice } from '../start-failure.ts'
import { isOurs, warnOfOwner, whyUnwritable } from './files.ts'
import { error, type Finding, ok, warning } from './finding.ts'
import { lookAtRedisTime, lookAtReplicas } from './redis.ts'

const SLOW_MS = 50
const WRITE_MS = 5_000
const CLOCK_WARNING_MS = 1_000
const CLOCK_ERROR_MS = 10_000
const DATE_FUZZ_MS = 2_000

/**
 * Opens the store like the gateway, and checks that it is reachable, durable as configured, and writable. A running
 * gateway has the embedded store open.
 */
export async function lookAtStore(config: Config, isRunning: boolean): Promise<Finding[]> {
  const name = config.store.shown
  if (config.store.kind === 'embedded') {
    if (isRunning) return [ok('store', `the gateway holds ${name}, and reports on it`)]
    const finding = unopened(config.store.path, name)
    if (finding !== undefined) return [finding]
  }
  try {
    const findings = await open(config, name)
    if (config.store.kind === 'embedded') return findings
    return [...findings, ...(await lookAtRedisTime(config)), ...(await lookAtReplicas(config))]
  } catch (cause) {
    const message = (cause as Error).message.trim()
    const advice = config.store.kind === 'embedded' ? fileAdvice(cause as Error) : redisAdvice(message)
    const otherwise = 'docs/redis.md and docs/store.md say what a store needs'
    return [error('store', `${name}: ${message}`, advice ?? otherwise)]
  }
}

/** The reason why the directory must not be opened; undefined when it may be opened. */
function unopened(path: string, name: string): Finding | undefined {
  if (!existsSync(path))
    return isLink(path)
      ? error('store', `${path} is a link to a missing place`, directoryAdvice('ENOENT'))
      : ok('store', `${name} does not exist yet: the first start creates it`)
  if (!isOurs(path)) return warnOfOwner(path)
  const why = whyUnwritable(path)
  return why === undefined
    ? undefined
    : error('store', `${path} cannot be written: ${why}`, directoryAdvice(why))
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}

async function open(config: Config, name: string): Promise<Finding[]> {
  const store = await openStore(config)
  try {
    const { ready, reason } = await store.health()
    if (!ready)
      return [
        error(
          'store',
          `${name} is not ready: ${reason ?? 'no reason given'}`,
          'fix it; until then the gateway answers 503 to every call',
        ),
      ]
    const refused = await writeRefusal(store)
    if (refused !== undefined)
      return [
        error(
          'store',
          `${name} answers reads and refuses writes: ${refused}`,
          (config.store.kind === 'embedded' ? undefined : redisAdvice(refused)) ??
            'fix it; until then the gateway answers 503 to every call',
        ),
      ]
    const start = performance.now()
    await store.get(SYSTEM, 'secret', 'admin')
    const tookMs = performance.now() - start
    const clock = clockFinding(
      config.store.kind === 'embedded' ? 'the last write' : 'Redis',
      store.now(),
      Date.now(),
    )
    const read = `${tookMs.toFixed(1)} ms for a read`
    return [
      tookMs > SLOW_MS
        ? warning(
            'store',
            `${name} answers slowly: ${read}`,
            'move it nearer to the gateway: every decision waits for it',
          )
        : ok('store', `${name}: ready, durability ${store.durability}, ${read}`),
      clock,
    ]
  } finally {
    await store.close()
  }
}

/** Writes a record that the same commit deletes, because only a write shows that the store accepts writes. */
async function writeRefusal(store: Awaited<ReturnType<typeof openStore>>): Promise<string | undefined> {
  const id = `doctor-${randomUUID()}`
  const now = store.now()
  const nothing = {
    host: '',
    version: '',
    started_at: now,
    seen_at: now,
    load_ok: false,
    load: 'loading',
  } as const
  const writes = [put('instance', id, nothing), remove('instance', id)]
  const commit = { commitId: id, deadline: now + WRITE_MS, guards: [], writes, events: [] }
  try {
    // a late commit is a problem of clocks, and a separate line reports those
    await store.commit(SYSTEM, commit)
    return undefined
  } catch (cause) {
    const { message } = cause as Error
    // a separate line reports replicas
    return message.startsWith('the replicas did not confirm') ? undefined : message
  }
}

/**
 * Compares this machine's clock with another clock. Time in the store never runs backwards, so a gateway whose clock is
 * behind waits for deadlines that have passed.
 */
export function clockFinding(whose: string, theirs: number, ours: number): Finding {
  return judge(whose, { apart: Math.abs(theirs - ours), isBehind: ours < theirs, fuzzMs: 0 })
}

/** Compares this machine's clock with a Date header, which has whole seconds. */
export function dateFinding(whose: string, date: number, ours: number): Finding {
  const apart = Math.max(0, Math.abs(date - ours) - DATE_FUZZ_MS)
  return judge(whose, { apart, isBehind: ours < date, fuzzMs: DATE_FUZZ_MS })
}

interface Apart {
  readonly apart: number
  readonly isBehind: boolean
  readonly fuzzMs: number
}

function judge(whose: string, { apart, isBehind, fuzzMs }: Apart): Finding {
  const seconds = (apart / 1_000).toFixed(1)
  const said = `the clock of this machine is ${seconds} s ${isBehind ? 'behind' : 'ahead of'} that of ${whose}`
  if (apart >= CLOCK_ERROR_MS) return error('clock', said, 'set the clocks right (NTP)')
  if (apart > CLOCK_WARNING_MS) return warning('clock', said, 'set the clocks right (NTP)')
  return ok('clock', `within ${(CLOCK_WARNING_MS + fuzzMs) / 1_000} s of ${whose}`)
}

/** Checks this machine's clock without another clock. The present cannot be earlier than the newest write. */
export function clockSanity(newestFileMs: number, ours: number): Finding[] {
  return newestFileMs > ours + CLOCK_ERROR_MS
    ? [
        error(
          'clock',
          `files have times in the future (${new Date(ours).toISOString()})`,
          'set the clock right (NTP)',
        ),
      ]
    : []
}
