import { readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

const LOWEST_PRIORITY = constants.priority.PRIORITY_LOW
/** The id of the caller. System calls on Linux read 0 as the calling thread, and on other systems as the process. */
const CALLER = 0

/**
 * Gives the event loop priority over the calling thread on a shared core, by this many steps of `nice`. With 5 steps,
 * the thread keeps a third of a contended core; with 12 steps, a fifteenth. Only Linux has priorities for threads, so
 * the function has no effect elsewhere.
 */
export function giveWay(steps: number): void {
  if (process.platform === 'linux') lower(CALLER, steps)
}

/** Lowers the priority of a whole process: its threads, and the threads that they start. */
export function giveWayAsProcess(steps: number): void {
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [CALLER]
  for (const thread of threads) lower(thread, steps)
}

function lower(thread: number, steps: number): void {
  try {
    setPriority(thread, Math.min(getPriority(thread) + steps, LOWEST_PRIORITY))
  } catch {
    // not permitted, or the process has ended; the work still runs, but delays other work
  }
}
