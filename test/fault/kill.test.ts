import { expect, it } from 'vitest'
import { Replay } from '../../src/evidence/replay.ts'
import { seeded } from '../random.ts'
import { IS_LONG, IS_SOAK, rounds } from '../runs.ts'
import { evidenceAfter, type Gateway, inDirectory, startGateway } from './gateway.ts'
import {
  createNotebook,
  expectReceiptsIn,
  expectSound,
  expectThreadsAsKnown,
  type Keys,
  live,
  type Notebook,
} from './life.ts'

const KILLS = Number(process.env['COUNTERSIGN_TEST_KILLS'] ?? rounds({ check: 1, short: 5, long: 500 }))
const CLIENTS = 24
/** The server dies when a random number of answers, up to this one, was acknowledged since its start. */
const MOST_ANSWERS = 400
/**
 * Nothing is mended at a start: after a kill it takes no longer than after a proper end, but for the noise of the
 * machine. The soak times so many of each, and more.
 */
const PROPER_ENDS = 5
const NOISE = 2

it(
  `${KILLS} times kill -9 under load: no acknowledged write is lost, no token is redeemed twice, evidence has no gap`,
  () => inDirectory(killAgainAndAgain),
  KILLS * 60_000,
)

async function killAgainAndAgain(directory: string): Promise<void> {
  const seed = Number(process.env['COUNTERSIGN_TEST_SEED'] ?? (IS_LONG ? Date.now() % 2 ** 31 : 20_261_116))
  console.log(`seed ${seed} (COUNTERSIGN_TEST_SEED repeats the moments of the kills)`)
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
  const proper: number[] = []
  while (IS_SOAK && proper.length < PROPER_ENDS) proper.push(await startAndEnd(directory))
  const median = medianOf(total.starts)
  console.log(
    `${KILLS} kills, ${total.receipts} acknowledged answers and ${total.threads} threads found again, ${checked} records without a gap, ` +
      `${tokens.redeemed.size} tokens redeemed once; ready after ${median.toFixed(0)} ms (median), ${Math.max(...total.starts).toFixed(0)} ms (worst)`,
  )
  if (IS_SOAK) expect(median / medianOf(proper)).toBeLessThan(NOISE)
}

const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** How long a start took, ms. */
async function startAndEnd(directory: string): Promise<number> {
  const gateway = await startGateway({ directory })
  await gateway.process.kill('SIGTERM')
  gateway.hangUp()
  return gateway.readyMs
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
