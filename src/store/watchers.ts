import type { RecordName } from './store.ts'

/** Waits for the next commit of a partition, or of one record in it (S11). */
export function createWatchers() {
  const waiting = new Map<string, Set<() => void>>()
  const wakeTopic = (topic: string): void => {
    const waiters = waiting.get(topic)
    if (waiters === undefined) return
    waiting.delete(topic)
    for (const resume of waiters) resume()
  }
  return {
    /** Wakes the waiters of the partition and, with `record`, the waiters of that record. */
    wake: (partition: string, record?: RecordName): void => {
      if (waiting.size > 0) wakeTopic(topicOf(partition, record))
    },
    wakeAll(): void {
      for (const topic of waiting.keys()) wakeTopic(topic)
    },
    wait(partition: string, signal: AbortSignal, record?: RecordName): Promise<void> {
      if (signal.aborted) return Promise.resolve()
      const topic = topicOf(partition, record)
      return new Promise((resolve) => {
        const waiters = waiting.get(topic) ?? new Set()
        waiting.set(topic, waiters)
        const resume = (): void => {
          signal.removeEventListener('abort', resume)
          waiters.delete(resume)
          if (waiters.size === 0 && waiting.get(topic) === waiters) waiting.delete(topic)
          resolve()
        }
        waiters.add(resume)
        signal.addEventListener('abort', resume, { once: true })
      })
    },
  }
}

/** An unambiguous topic for any parts, which starts with their lengths. */
function topicOf(partition: string, record: RecordName | undefined): string {
  if (record === undefined) return `*${partition}`
  return `${partition.length},${record.type.length},${partition}${record.type}${record.id}`
}
