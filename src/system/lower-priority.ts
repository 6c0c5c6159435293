import { readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

const LOWEST_PRIORITY = constants.priority.PRIORITY_LOW
/** To the system calls 0 is who calls: on Linux the thread, elsewhere the process. */
const CALLER = 0

/**
 * Lets the gateway's event loop go first where it shares a core with the calling thread, by so many steps of `nice`: 5 leave a third of a core that two
 * want, 12 a fifteenth. Where a thread has no priority of its own, which is everywhere but on Linux, nothing is done.
 */
export function giveWay(steps: number): void {
  if (process.platform === 'linux') lower(CALLER, steps)
}

/** The same for a whole process: all threads that it has, and so all that they will start. */
export function giveWayAsProcess(steps: number): void {
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [CALLER]
  for (const thread of threads) lower(thread, steps)
}

function lower(thread: number, steps: number): void {
  try {
    setPriority(thread, Math.min(getPriority(thread) + steps, LOWEST_PRIORITY))
  } catch {
    // Not permitted here, or gone: the work is none the worse, only in the way.
  }
}
