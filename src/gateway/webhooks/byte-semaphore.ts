/** Characters of deliveries that are written at the same time: each takes about seven bytes until it is. */
const MOST = 8 * 1024 * 1024

/** For what destinations are told in full, which takes memory and time until it is written. */
export interface OutboxRoom {
  /**
   * Resolves when there is room, to what gives it back. Of one line who came first is served first, and lines take turns: a long one holds up no other. What is
   * larger than all of it has it alone.
   *
   * @param size in characters
   */
  take(line: string, size: number): Promise<() => void>
}

interface Waiting {
  readonly size: number
  readonly enter: () => void
}

type Line = readonly [Waiting, ...Waiting[]]

const isLine = (waiting: readonly Waiting[]): waiting is Line => waiting.length > 0

export function createOutboxRoom(most = MOST): OutboxRoom {
  /** Whoever waits, in the order of turns. */
  const lines = new Map<string, Line>()
  let taken = 0
  const fits = (size: number): boolean => taken === 0 || taken + size <= most
  const letIn = (): void => {
    for (const [line, [next, ...others]] of lines) {
      if (!fits(next.size)) return
      lines.delete(line)
      // behind all that wait, where this comes to it once more
      if (isLine(others)) lines.set(line, others)
      taken += next.size
      next.enter()
    }
  }
  return {
    async take(line, size) {
      await new Promise<void>((enter) => {
        const last = { size, enter }
        const before = lines.get(line)
        lines.set(line, before === undefined ? [last] : [...before, last])
        letIn()
      })
      return () => {
        taken -= size
        letIn()
      }
    },
  }
}
