/** Characters of deliveries written at the same time: each takes about seven bytes until it is written. */
const MOST = 8 * 1024 * 1024

export interface ByteSemaphore {
  /**
   * Waits for room, first come first served. Returns the function that gives the room back. A size above the whole room
   * waits until it can have all of the room.
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
