/*
 * A gateway in this process, with a clock that the caller moves: months of calls take minutes. Nothing happens by
 * itself. `due` does the work of the timer, and `publishAll` signs and publishes the log.
 */
import pino from 'pino'
import { startApp } from '../dist/app.js'
import { signingKeyOf } from '../dist/domain/checkpoint.js'
import { poll } from '../dist/gateway/agent/poll.js'
import { redeem } from '../dist/gateway/agent/redeem.js'
import { submit } from '../dist/gateway/agent/submit.js'
import { identify } from '../dist/gateway/auth/identify.js'
import { issueKey } from '../dist/gateway/auth/keys.js'
import { read, SYSTEM } from '../dist/gateway/core/records.js'
import { sizeOf } from '../dist/gateway/integrity/size.js'
import { makeCheckpoint } from '../dist/gateway/jobs/checkpoints.js'
import { publishTiles } from '../dist/gateway/jobs/publish-tiles.js'
import { removePublished } from '../dist/gateway/jobs/remove-published.js'
import { runDue } from '../dist/gateway/jobs/scheduler.js'
import { vote } from '../dist/gateway/review/vote.js'
import { loadConfig } from '../dist/settings/config.js'
import { openEmbeddedArchive } from '../dist/store/embedded/archive.js'
import { openEmbeddedStore } from '../dist/store/embedded/store.js'
import { parseRedisAddress } from '../dist/store/redis/address.js'
import { openRedisArchive } from '../dist/store/redis/archive.js'
import { openRedisStore } from '../dist/store/redis/store.js'
import { directoryPlace } from '../dist/tiles/directory/directory-place.js'
import { ADMIN_KEY } from './gateway.mjs'

export const TENANT = 'acme'
export const DAY_MS = 24 * 3_600_000
/** An amount that the starter policies allow, one that they hold, and one that they reject. */
export const CENTS = { allowed: 2_500, held: 25_000, rejected: 5_000_000 }
const NEVER_MS = 2 ** 30
const TOGETHER = 32

/** Returns a clock that does not run. The caller sets `now`. */
export function movedClock(now) {
  const clock = { now, wall: () => clock.now, monotonic: () => clock.now }
  return clock
}

/** Starts a gateway on the embedded store in `data`, or on Redis at `redis`. It publishes no tiles by itself. */
export function startMoved({ policies, data, redis, clock }) {
  const own = ['--port', '0', '--metrics-port', '0', '--tiles', 'off']
  const { config } = loadConfig({
    args: [...own, '--policies', policies, '--store', redis ?? `file:${data}`],
    env: { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY, COUNTERSIGN_BUDGET_BYTES_PER_DAY: String(10 ** 12) },
  })
  return startApp(config, {
    log: pino({ level: 'silent' }),
    openStore: () =>
      redis === undefined
        ? openEmbeddedStore({ path: data, clock, minFreeBytes: 0 })
        : openRedisStore({ address: parseRedisAddress(redis), clock, durability: 'async' }),
    timerEveryMs: NEVER_MS,
    reportEveryMs: NEVER_MS,
    checkpointEveryMs: NEVER_MS,
  })
}

/** The agent and the reviewer of the calls. */
export async function peopleOf({ deps }) {
  const issue = async (kind, id) => {
    const { api_key } = await issueKey(deps, { kind, tenant: TENANT, id }, {})
    return identify(deps, kind, api_key)
  }
  return { agent: await issue('agent', 'demo-agent'), reviewer: await issue('reviewer', 'erin') }
}

const payloadOf = (i, amount_cents, memo = `taxi to the airport, trip ${i}`) => ({
  from: 'acct_ops',
  to: 'acct_travel',
  amount_cents,
  currency: 'eur',
  memo,
})

/** Submits call `i`. Returns the answer. */
export async function submitted({ deps }, { agent }, { i, cents, memo }) {
  const request = { tool_name: 'ledger.transfer', payload: payloadOf(i, cents, memo) }
  const { answer } = await submit(deps, agent, { taskId: `task-${i}`, request })
  return answer
}

export async function voted({ deps }, { reviewer }, { thread_id }, decision) {
  await vote(deps, reviewer, { thread_id, vote: { decision, revision: 1, comment: 'Fine.' } })
}

/** A held call from the submission to its redemption. */
export async function heldAndRedeemed(app, people, { i, memo }) {
  const { deps } = app
  const { thread_id } = await submitted(app, people, { i, cents: CENTS.held, memo })
  await voted(app, people, { thread_id }, 'approve')
  const { answer: approved } = await poll(deps, people.agent, { thread_id }, { callerGone: () => false })
  const { answer: redeemed } = await redeem(deps, people.agent, {
    task_id: `task-${i}`,
    signature: approved.approval_token,
    request_payload: payloadOf(i, CENTS.held, memo),
  })
  if (!redeemed.valid) throw new Error(`call ${i} was not redeemed`)
}

/** Runs `one(i)` for each number from `from` to before `to`, some at the same time. `onSome` hears how many ended. */
export async function inTurn({ from = 0, to, onSome = () => undefined }, one) {
  for (let i = from; i < to; i += TOGETHER) {
    const some = Math.min(TOGETHER, to - i)
    await Promise.all(Array.from({ length: some }, (_, k) => one(i + k)))
    onSome(some)
  }
}

/** Does everything that is due, in rounds as a gateway would have them. */
export async function due({ deps }, clock) {
  for (let quiet = 0; quiet < 3;) {
    quiet = (await runDue(deps)) > 0 ? 0 : quiet + 1
    clock.now += 300
  }
}

/** The name and the key of the log, with which the gateway itself signs after each thousand records. */
async function identityOf({ store }) {
  const secret = async (id) => (await read(store, SYSTEM, 'secret', id)).value.value
  const seed = Buffer.from(await secret('signing'), 'base64url')
  return { name: await secret('log'), key: signingKeyOf(seed) }
}

const placesIn = (tiles, identity) => ({ identity, address: tiles, placeOf: () => directoryPlace(tiles) })

/** Signs all records of the log, and publishes them in the folder `tiles`. */
export async function publishAll({ deps }, tiles) {
  const identity = await identityOf(deps)
  while ((await makeCheckpoint(deps, identity, TENANT)).more);
  await publishTiles(deps, placesIn(tiles, identity), TENANT, new AbortController().signal)
}

/** Removes records from the store that are in the folder `tiles` for long. */
export async function removeAll({ deps }, tiles) {
  while (await removePublished(deps, placesIn(tiles), TENANT));
}

/** Opens the content of a store that no gateway uses. */
export const openContent = ({ data, redis, clock }) =>
  redis === undefined
    ? openEmbeddedArchive({ path: data, clock })
    : openRedisArchive({ address: parseRedisAddress(redis), clock, durability: 'async' })

/** Returns the bytes of names and contents in a store that no gateway uses. */
export async function bytesIn(store) {
  const archive = await openContent(store)
  try {
    const sums = { state: 0, disclosures: 0, evidence: 0 }
    for (const { kind, bytes } of await sizeOf(archive)) sums[kind in sums ? kind : 'state'] += bytes
    return sums
  } finally {
    await archive.close()
  }
}
