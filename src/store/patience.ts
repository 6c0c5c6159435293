/*
 * Distinguishes a silent server or disk from a pause of this process. After a pause (of the machine or the process),
 * answers are queued behind the timers that are already due.
 */

/** The number of parts of a wait; a pause of this process counts as at most one part. */
const PARTS = 4

/** Rejects when `work` is not done within `ms` of listening. Its later outcome is ignored. */
export async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_, reject) => {
    const listen = (parts: number): void => {
      // reads the answers that have arrived first
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

/** Calls `act` after `ms`, once the answers that have arrived by then are read. */
export function afterSilence(act: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(() => setImmediate(act), ms)
}
