import * as child from 'node:child_process'

/**
 * Child processes that block the thread until they end. No time limit of a test or hook can end such a wait. A hang
 * would lose the worker with the rest of its tests, so each child has a limit of its own. No other file of the tests
 * starts such a child (test/architecture.test.ts).
 */

/** Far above the time that any of them takes, ms. */
const PATIENCE_MS = 120_000

/** Options of `node:child_process`; output is text. */
export type SyncOptions = Omit<child.SpawnSyncOptions, 'encoding' | 'killSignal'>

/** Killed after `timeout` ms, 120 s without one: then `error` says so, with the code ETIMEDOUT. */
export function spawnSync(
  program: string,
  args: readonly string[],
  options: SyncOptions = {},
): child.SpawnSyncReturns<string> {
  return child.spawnSync(program, args, {
    timeout: PATIENCE_MS,
    ...options,
    killSignal: 'SIGKILL',
    encoding: 'utf8',
  })
}

/** Returns the output. @throws Error when it fails, or is killed after `timeout` ms */
export function execFileSync(program: string, args: readonly string[], options: SyncOptions = {}): string {
  return child.execFileSync(program, args, {
    timeout: PATIENCE_MS,
    ...options,
    killSignal: 'SIGKILL',
    encoding: 'utf8',
  })
}
