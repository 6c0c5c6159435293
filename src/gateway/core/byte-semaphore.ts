/**
 * Maximum number of characters of deliveries that are written at the same time. Each character takes about seven bytes.
 */
const MOST = 8 * 1024 * 1024

export interface ByteSemaphore {
  /**
   * Waits for room, in the order of the calls. Returns the function that releases the room. A caller whose size exceeds
   * the total waits until the whole room is free.
   *
   * @param size in characters
   */
  acquire(size: number): Promise<() => void>
}

export function createByteSemaphore(most = MOST): ByteSemaphore {
  const waiting: { readonly size: number; readonly enter: () => void }[] = []
  let taken = 0
  const letIn = (): void => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (taken > 0 && taken + next.size > most) return
      waiting.shift()
      taken += next.size
      next.enter()
    }
  }
  return {
    async acquire(size) {
      await new Promise<void>((enter) => {
        waiting.push({ size, enter })
        letIn()
      })
      return () => {
        taken -= size
        letIn()
      }
    },
  }
}
