type Told = () => void

interface Listeners {
  readonly told: Set<Told>
  readonly listener: () => void
}

const bySignal = new WeakMap<AbortSignal, Listeners>()

/**
 * Calls `told` when the signal aborts, until the answer is called. Every call that shares a signal shares one listener: an agent has one signal and many calls, and
 * Node 20 warns of a leak at the eleventh listener.
 *
 * @param signal not aborted yet
 */
export function onAbort(signal: AbortSignal, told: Told): () => void {
  const listeners = bySignal.get(signal) ?? listen(signal)
  listeners.told.add(told)
  return () => {
    listeners.told.delete(told)
    // a listener that stays would keep a signal of AbortSignal.timeout alive
    if (listeners.told.size > 0 || bySignal.get(signal) !== listeners) return
    signal.removeEventListener('abort', listeners.listener)
    bySignal.delete(signal)
  }
}

function listen(signal: AbortSignal): Listeners {
  const told = new Set<Told>()
  const listener = (): void => told.forEach((one) => one())
  const listeners = { told, listener }
  signal.addEventListener('abort', listener, { once: true })
  bySignal.set(signal, listeners)
  return listeners
}
