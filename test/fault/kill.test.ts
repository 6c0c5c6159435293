import { expect, it } from 'vitest'
import { Replay } from '../../src/evidence/replay.ts'
import { seeded } from '../random.ts'
import { evidenceAfter, type Gateway, inDirectory, SOAK, startGateway } from './gateway.ts'
import {
  createNotebook,
  expectReceiptsIn,
  expectSound,
  expectThreadsAsKnown,
  type Keys,
  live,
  type Notebook,
} from './life.ts'

const KILLS = Number(process.env['COUNTERSIGN_KILLS'] ?? (SOAK ? 500 : 20))
const CLIENTS = 24
/** The server dies when a random number of answers, up to this one, was acknowledged since its start. */
const MOST_ANSWERS = 400
/** The promise is 2 s; the median must keep it, and a single start on a busy machine may take this long. */
const START_MEDIAN_MS = 2_000
const START_WORST_MS = 10_000

it(
  `${KILLS} times kill -9 under load: nothing acknowledged is lost, no token is redeemed twice, evidence has no gap`,
  () => inDirectory(killAgainAndAgain),
  KILLS * 20_000,
)

async function killAgainAndAgain(directory: string): Promise<void> {
  const seed = Number(process.env['COUNTERSIGN_SEED'] ?? Date.now() % 2 ** 31)
  console.log(`seed ${seed} (COUNTERSIGN_SEED repeats the moments of the kills)`)
  const random = seeded(seed)
  const total = { receipts: 0, threads: 0, starts: [] as number[] }
  const tokens = {
    replay: new Replay(),
    minted: new Map<string, number>(),
    redeemed: new Map<string, number>(),
  }
  let keys: Keys | undefined
  let checked = 0
  let notebook = createNotebook()
  for (let kill = 0; kill <= KILLS; kill++) {
    const gateway = await startGateway({ directory })
    total.starts.push(gateway.readyMs)
    keys ??= {
      agent: await gateway.key('agent', 'demo-agent'),
      reviewer: await gateway.key('reviewer', 'alice'),
    }
    await expectThreadsAsKnown(gateway, keys, notebook)
    const evidence = await evidenceAfter(gateway, checked)
    expectSound(evidence, checked, tokens)
    expectReceiptsIn(evidence, notebook)
    checked += evidence.length
    total.receipts += notebook.receipts.size
    total.threads += notebook.threads.size
    notebook = createNotebook()
    if (kill < KILLS) await killUnderLoad(gateway, keys, notebook, 1 + Math.floor(random() * MOST_ANSWERS))
    else await gateway.process.kill('SIGTERM')
    gateway.hangUp()
  }
  const starts = total.starts.sort((a, b) => a - b)
  const median = starts[Math.floor(starts.length / 2)] ?? 0
  console.log(
    `${KILLS} kills, ${total.receipts} acknowledged answers and ${total.threads} threads found again, ${checked} records without a gap, ` +
      `${tokens.redeemed.size} tokens redeemed once; ready after ${median.toFixed(0)} ms (median), ${(starts.at(-1) ?? 0).toFixed(0)} ms (worst)`,
  )
  expect(median).toBeLessThan(START_MEDIAN_MS)
  expect(starts.at(-1)).toBeLessThan(START_WORST_MS)
}

async function killUnderLoad(
  gateway: Gateway,
  keys: Keys,
  notebook: Notebook,
  answers: number,
): Promise<void> {
  const name = `${gateway.process.pid}-${answers}`
  const clients = Array.from({ length: CLIENTS }, (_, i) => live(gateway, keys, notebook, `${name}-${i}`))
  const all = Promise.all(clients)
  const enough = (async () => {
    while (notebook.acknowledged < answers) await new Promise((resolve) => setImmediate(resolve))
  })()
  await Promise.race([enough, all])
  await gateway.process.kill('SIGKILL')
  await all
}
