import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { seeded } from '../random.ts'
import { IS_LONG, rounds } from '../runs.ts'
import { until } from '../until.ts'
import {
  type Gateway,
  inDirectory,
  LARGE_CENTS,
  SMALL_CENTS,
  startGateway,
  transfer,
  TRANSFER_PATH,
  verdictOn,
} from './gateway.ts'

/** kill -9 in the middle of an erasure: the next start finishes it, and nothing else is lost. */

const KILLS = rounds({ check: 4, short: 12, long: 100 })
/** An erasure of this test takes about as long. */
const MOST_MS = 120
const CALLS = 6
const STAYS = 'acct_stays'

it(
  `${KILLS} times kill -9 during an erasure: it is finished, evidence verifies, and other data is there`,
  () => inDirectory(killErasures),
  KILLS * 60_000,
)

async function killErasures(directory: string): Promise<void> {
  const random = seeded(IS_LONG ? Date.now() % 2 ** 31 : 20_261_128)
  let gateway = await startGateway({ directory })
  const agent = await gateway.key('agent', 'demo-agent')
  const reviewer = await gateway.key('reviewer', 'alice')
  const kept = await live(gateway, { agent, reviewer }, STAYS)
  let cut = 0
  for (let kill = 0; kill < KILLS; kill++) {
    const who = `acct_gone_${kill}`
    await live(gateway, { agent, reviewer }, who)
    const body = { tenant: 'acme', field: 'payload.to', equals: who, reason: 'asked for it' }
    const before = await erasures(gateway)
    let ended = false
    const erasure = gateway.admin('POST', '/erasures', body).then(
      () => (ended = true),
      () => undefined,
    )
    await pause(random() * MOST_MS)
    await gateway.process.kill()
    await erasure
    if (!ended) cut += 1
    gateway.hangUp()
    gateway = await startGateway({ directory })
    // the timer finishes an erasure whose record was written; another one is asked for again
    if ((await erasures(gateway)) === before) await gateway.admin('POST', '/erasures', body)
    await until(() => isGone(gateway, who), 60_000)
    expect(await exported(gateway)).toContain(STAYS)
    expect((await verdictOn(gateway, directory)).faults).toEqual([])
    for (const thread of kept)
      expect((await gateway.ask({ path: `/api/review/threads/${thread}`, key: reviewer })).status).toBe(200)
  }
  console.log(`${KILLS} kills, of which ${cut} cut an erasure off`)
  await gateway.process.kill('SIGTERM')
  gateway.hangUp()
}

const exported = async (gateway: Gateway): Promise<string> =>
  (await gateway.admin('GET', '/evidence?tenant=acme&disclosures=true&after=0&limit=10000')).text

const erasures = async (gateway: Gateway): Promise<number> =>
  (await exported(gateway)).split('"disclosures.erased"').length

const isGone = async (gateway: Gateway, who: string): Promise<boolean> =>
  !(await exported(gateway)).includes(who)

interface Keys {
  readonly agent: string
  readonly reviewer: string
}

/** Allowed, waiting and rejected calls about an account. Returns the threads. */
async function live(gateway: Gateway, { agent, reviewer }: Keys, who: string): Promise<string[]> {
  const threads: string[] = []
  for (let i = 0; i < CALLS; i++) {
    const call = transfer(i % 2 === 0 ? SMALL_CENTS : LARGE_CENTS)
    const body = { ...call, payload: { ...call.payload, to: who } }
    const path = TRANSFER_PATH(`${who.replaceAll('_', '-')}-${i}`)
    const { thread_id } = (await gateway.ask({ method: 'POST', path, key: agent, body })).body as {
      thread_id?: string
    }
    if (thread_id === undefined) continue
    threads.push(thread_id)
    if (i % 4 !== 1) continue
    const vote = { decision: 'reject', revision: 1, comment: `Not ${who}.` }
    await gateway.ask({
      method: 'POST',
      path: `/api/review/threads/${thread_id}/votes`,
      key: reviewer,
      body: vote,
    })
  }
  return threads
}
