import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { IS_SOAK } from '../runs.ts'

/**
 * Each benchmark starts once with its smallest load, so that none breaks unnoticed when a record or a starter policy
 * changes. The check starts those that take a second; the soak starts the others.
 */

const FOLDER = new URL('../../bench/', import.meta.url)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** The time in which a benchmark with its smallest load ends on a busy machine, ms. */
const ENDS_WITHIN_MS = 150_000

const CHEAP: Readonly<Record<string, readonly string[]>> = {
  disk: ['20', '10'],
  hook: ['5'],
  store: ['0.05', '4', '1'],
  verify: ['20'],
}
const DEAR: Readonly<Record<string, readonly string[]>> = {
  check: ['1'],
  collections: ['0.1', '2'],
  compare: [ROOT, '1', '0.05'],
  diff: ['1'],
  'files-entered': [],
  guard: ['5'],
  http: ['0.05', '1', '2'],
  lifecycle: ['200'],
  memory: ['20'],
  overload: ['1', '1'],
  policy: ['1'],
  proof: ['1', '20'],
  reload: ['2', '1'],
  start: ['1', '20'],
  tiles: ['--rounds', '1', '--seconds', '0.1', '--old', '20'],
  'tiles-bytes': ['20'],
  waits: ['5'],
}
/** Benchmarks without a smaller load, which take minutes, a browser or Redis. The others of the folder are parts. */
const WHOLE = ['burst', 'console', 'metrics', 'redis', 'webhooks']

async function start(name: string, args: readonly string[]): Promise<string> {
  const script = fileURLToPath(new URL(`${name}.mjs`, FOLDER))
  const options = { timeout: ENDS_WITHIN_MS, killSignal: 'SIGKILL' } as const
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...args], options)
  return stdout
}

describe('a benchmark', () => {
  it.each(Object.entries(CHEAP))('%s runs with its smallest load', async (name, args) => {
    expect(await start(name, args)).toMatch(/\d/)
  })

  it.runIf(IS_SOAK).each(Object.entries(DEAR))('%s runs with its smallest load', async (name, args) => {
    expect(await start(name, args)).toMatch(/\d/)
  })

  it('that the whole run starts is in one of these lists', async () => {
    const { LANES } = (await import(`${FOLDER.href}lanes.mjs`)) as { LANES: readonly string[] }
    const known = [...Object.keys({ ...CHEAP, ...DEAR }), ...WHOLE]
    expect(LANES.filter((name) => !known.includes(name))).toEqual([])
    const files = readdirSync(FOLDER)
    expect(known.filter((name) => !files.includes(`${name}.mjs`))).toEqual([])
  })
})
