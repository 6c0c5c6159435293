import type { Page } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { put, read, revisionId } from '../../src/gateway/core/records.ts'
import { entriesOf, listEntries } from '../../src/gateway/thread/thread-indexes.ts'
import type { Write } from '../../src/store/store.ts'
import { INSTALL_MS } from '../debian.ts'
import { held } from '../gateway-fixture.ts'
import { IS_SOAK } from '../runs.ts'
import { type Console, openConsole, WIDE } from './browser.ts'

/** The queue of a tenant with many waiting calls. */

const FEW = 100
const MANY = IS_SOAK ? 10_000 : 2_000
const ROUNDS = 5
/** The first rows of a long queue may take so many times the time of a short one. */
const MOST_TIMES = 1.5
const PER_COMMIT = 100

const open: Console[] = []
afterAll(async () => {
  for (const one of open) await one.close()
})

/** Copies one held call, because policy need not judge each. */
async function consoleWith(count: number): Promise<{ readonly console_: Console; readonly page: Page }> {
  const console_ = await openConsole()
  open.push(console_)
  const { deps } = console_.world.app
  const { thread: id } = await held(await console_.world.agent())
  const thread = await read(deps.store, 'acme', 'thread', id)
  const revision = await read(deps.store, 'acme', 'revision', revisionId(id, 1))
  if (thread === undefined || revision === undefined) throw new TypeError('the call was not held')
  for (let made = 1; made < count; made += PER_COMMIT) {
    const writes = Array.from({ length: PER_COMMIT }, (): Write[] => {
      const copy = { ...thread.value, thread_id: `thr_${deps.nextId()}` }
      const entries = [...entriesOf(copy), ...listEntries(copy)]
      return [
        put('thread', copy.thread_id, copy),
        put('revision', revisionId(copy.thread_id, 1), revision.value),
        ...entries.map((entry): Write => ({ op: 'index', ...entry })),
      ]
    }).flat()
    const commit = { commitId: deps.nextCommitId(), deadline: Infinity, guards: [], writes, events: [] }
    expect(await deps.store.commit('acme', commit)).toMatchObject({ ok: true })
  }
  return { console_, page: await console_.signedIn({ reviewer: 'ann', viewport: WIDE }) }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

describe('the first rows of the queue', () => {
  it(
    `appear with ${MANY} waiting calls within ${MOST_TIMES} times their time with ${FEW}`,
    async () => {
      const queues = [await consoleWith(FEW), await consoleWith(MANY)] as const
      const times: readonly [number[], number[]] = [[], []]
      for (let round = 0; round < ROUNDS; round++)
        for (const [i, { page }] of queues.entries()) {
          const start = performance.now()
          await page.reload()
          await page.locator('.item').first().waitFor()
          times[i]?.push(performance.now() - start)
        }
      const [few, many] = times.map(median)
      console.log(`first rows: ${few?.toFixed(0)} ms of ${FEW} calls, ${many?.toFixed(0)} ms of ${MANY}`)
      expect((many ?? Infinity) / (few ?? 0)).toBeLessThan(MOST_TIMES)
    },
    INSTALL_MS,
  )
})
