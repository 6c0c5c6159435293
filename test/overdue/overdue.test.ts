import type { SpawnSyncReturns } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { processes } from '../processes.ts'
import { spawnSync } from '../sync-child.ts'
import { Overdue } from './overdue.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))

function runOf(file: string): SpawnSyncReturns<string> {
  const args = [VITEST, 'run', '--root', here, '--config', 'one-file.config.ts', file]
  return spawnSync(process.execPath, args)
}

const stateOf = (id: number): string => processes().find((one) => one.id === id)?.state ?? 'gone'

/** The line of the report about the worker, once the worker is dead. */
async function killedWorker(report: string): Promise<string> {
  const [line = '', id] =
    /^ +(\d+) .* s of processor time: .*vitest\/dist\/workers\/forks\.js$/m.exec(report) ?? []
  // killed, and perhaps not yet reaped by the process that inherits it
  await expect.poll(() => stateOf(Number(id))).toMatch(/^(gone|Z)$/)
  return line
}

describe('a test file that takes too long', () => {
  it('is reported with the running test, the one before it, and its failures', () => {
    let time = 0
    const overdue = new Overdue({ fileMs: 60_000, now: () => time })
    overdue.begun('1', 'redis a.test.ts')
    overdue.begun('2', 'redis b.test.ts')
    overdue.testBegun('1', 'passes')
    overdue.testEnded('1', 'passes')
    overdue.testBegun('1', 'fails')
    overdue.testEnded('1', 'fails', 'not so')
    overdue.testBegun('1', 'waits')
    time = 60_000
    expect(overdue.report()).toEqual([])
    time = 60_001
    overdue.ended('2')
    expect(overdue.report()).toEqual([
      'redis a.test.ts has not ended in 60 s.\n  running: waits\n  ended last: fails\n  failed: fails: not so',
    ])
    overdue.ended('1')
    expect(overdue.report()).toEqual([])
  })

  it('ends the run even when it does not yield, and leaves no process behind', async () => {
    const { status, stderr } = runOf('stuck.ts')
    expect(status).toBe(1)
    expect(stderr).toMatch(/stuck\.ts has not ended in \d+ s\./)
    expect(stderr).toContain('failed: fails at first: expected 1 to be 2')
    expect(await killedWorker(stderr)).toContain(' R 0, ')
  })
})
