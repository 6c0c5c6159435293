import { constants, getPriority, setPriority } from 'node:os'

const LOWEST_PRIORITY = constants.priority.PRIORITY_LOW

/**
 * Lets the gateway's event loop go first where it shares a core with the calling thread, by so many steps of `nice`: 5 leave a third of a core that two
 * want, 12 a fifteenth. On Linux, 0 means the calling thread only; elsewhere it would be the whole process, and nothing is done.
 */
export function giveWay(steps: number): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, Math.min(getPriority(0) + steps, LOWEST_PRIORITY))
  } catch {
    // Not permitted here: the work is none the worse, only in the way.
  }
}
