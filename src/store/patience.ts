/*
 * Distinguishes a silent server or disk from a pause of this process. After a pause of the machine or the process,
 * answers are queued after the timers that are already due.
 */

/** The number of parts of a wait. Each pause of this process counts as one part at most. */
const PARTS = 4

/**
 * Rejects when `work` has not settled after `ms` in which this process could receive answers. A later outcome of the
 * work is ignored.
 */
export async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_, reject) => {
    const listen = (parts: number): void => {
      // first reads the answers that have arrived
      if (parts === 0) setImmediate(() => reject(new Error(`no answer within ${ms} ms`)))
      else timer = setTimeout(() => listen(parts - 1), ms / PARTS)
    }
    listen(PARTS)
  })
  try {
    return await Promise.race([work, silence])
  } finally {
    clearTimeout(timer)
  }
}

/** Calls `act` after `ms`, once the process has read the answers that arrived by then. */
export function afterSilence(act: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(() => setImmediate(act), ms)
}
