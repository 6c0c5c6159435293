/** Characters of deliveries that are written at the same time: each takes about seven bytes until it is. */
const MOST = 8 * 1024 * 1024

/** For what destinations are told in full, which takes memory and time until it is written: first come, first served. */
export interface OutboxRoom {
  /**
   * Resolves when there is room, to what gives it back. What is larger than all of it has it alone.
   *
   * @param size in characters
   */
  take(size: number): Promise<() => void>
}

export function createOutboxRoom(most = MOST): OutboxRoom {
  const waiting: { readonly size: number; readonly enter: () => void }[] = []
  let taken = 0
  const fits = (size: number): boolean => taken === 0 || taken + size <= most
  const leave = (size: number): void => {
    taken -= size
    for (let [next] = waiting; next !== undefined && fits(next.size); [next] = waiting) {
      waiting.shift()
      taken += next.size
      next.enter()
    }
  }
  return {
    async take(size) {
      if (waiting.length > 0 || !fits(size))
        await new Promise<void>((resolve) => waiting.push({ size, enter: resolve }))
      else taken += size
      return () => leave(size)
    },
  }
}
