/** Waits for the next commit of a partition (S11). */
export interface Watchers {
  wait(partition: string, signal: AbortSignal): Promise<void>
  wake(partition: string): void
  wakeAll(): void
}

export function createWatchers(): Watchers {
  const waiting = new Map<string, Set<() => void>>()
  const wake = (partition: string): void => {
    const waiters = waiting.get(partition)
    if (waiters === undefined) return
    waiting.delete(partition)
    for (const resume of waiters) resume()
  }
  return {
    wake,
    wakeAll() {
      for (const partition of waiting.keys()) wake(partition)
    },
    wait(partition, signal) {
      if (signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const waiters = waiting.get(partition) ?? new Set()
        waiting.set(partition, waiters)
        const resume = (): void => {
          signal.removeEventListener('abort', resume)
          waiters.delete(resume)
          if (waiters.size === 0 && waiting.get(partition) === waiters) waiting.delete(partition)
          resolve()
        }
        waiters.add(resume)
        signal.addEventListener('abort', resume, { once: true })
      })
    },
  }
}
