/*
 * Whether a server or a disk says nothing, or we did not listen: a gateway that stood still for a moment (a pause of its machine, or of its own) finds the
 * answers behind the timers that are due by then.
 */

/** A pause of ours counts as no more than one of these parts. */
const PARTS = 4

/** Rejects when `work` is not done in `ms` in which we listened; what it does later is of no interest then. */
export async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_, reject) => {
    const listen = (parts: number): void => {
      // what has come until then is read first
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

/** Calls `act` after `ms`, when what has come until then was read. */
export function afterSilence(act: () => void, ms: number): NodeJS.Timeout {
  return setTimeout(() => setImmediate(act), ms)
}
