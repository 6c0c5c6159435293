import * as child from 'node:child_process'

/**
 * Child processes that are waited for with everything stopped. No test's or hook's time limit can end such a wait, and the worker would be lost with all
 * that it still had to do: each has a limit of its own. Nothing else of the tests starts one (test/architecture.test.ts).
 */

/** Far above what any of them takes, ms. */
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

/** What it prints. @throws Error when it fails, or is killed after `timeout` ms */
export function execFileSync(program: string, args: readonly string[], options: SyncOptions = {}): string {
  return child.execFileSync(program, args, {
    timeout: PATIENCE_MS,
    ...options,
    killSignal: 'SIGKILL',
    encoding: 'utf8',
  })
}
