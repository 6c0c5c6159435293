export const LOOK_MS = 500
/** Looks that are further apart prove nothing about the time between them, ms: the page may have slept. */
export const BREAK_MS = 400

/**
 * The points of a part that were on the screen. A part counts as seen when each of its points was there for
 * `LOOK_MS` without a break, so that a quick scroll shows nothing.
 */
export type Coverage = ReturnType<typeof createCoverage>

export function createCoverage() {
  let since: (number | undefined)[] = []
  let seen: boolean[] = []
  let last = -Infinity
  return {
    /** Notes one look at all points. Returns true once the whole part was seen. */
    look(visible: readonly boolean[], now: number): boolean {
      // another height is another text: nothing of it counts yet
      if (visible.length !== seen.length) {
        since = visible.map(() => undefined)
        seen = visible.map(() => false)
      }
      const broken = now - last > BREAK_MS
      last = now
      visible.forEach((here, i) => {
        const from = broken ? undefined : since[i]
        since[i] = here ? (from ?? now) : undefined
        if (here && from !== undefined && now - from >= LOOK_MS) seen[i] = true
      })
      return seen.length > 0 && seen.every(Boolean)
    },
    /** The first point that was not seen yet; -1 when all were. */
    firstUnseen: () => seen.indexOf(false),
    /** True when each point that was not seen yet is visible now. */
    ends: (visible: readonly boolean[]): boolean =>
      visible.every((here, i) => here || (visible.length === seen.length && seen[i])),
  }
}
