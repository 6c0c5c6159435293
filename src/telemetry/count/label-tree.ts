export type Labels = Readonly<Record<string, string>>

/**
 * The places of series by their labels, in one level for each label. Every count looks up a place, and a joined key
 * would be a new string that V8 must hash.
 */
export interface LabelTree<Place> {
  get(labels: Labels): Place | undefined
  add(labels: Labels, place: Place): void
  /** Drops a place, with the levels that are then empty. */
  drop(labels: Labels): void
}

interface Level<Place> {
  readonly next: Map<string | undefined, Level<Place>>
  place: Place | undefined
}

export function createTree<Place>(names: readonly string[]): LabelTree<Place> {
  const top: Level<Place> = { next: new Map(), place: undefined }
  return {
    get(labels) {
      let level: Level<Place> | undefined = top
      for (const name of names) {
        level = level.next.get(labels[name])
        if (level === undefined) return undefined
      }
      return level.place
    },
    add(labels, place) {
      let level = top
      for (const name of names) {
        const next: Level<Place> = level.next.get(labels[name]) ?? { next: new Map(), place: undefined }
        level.next.set(labels[name], next)
        level = next
      }
      level.place = place
    },
    drop: (labels) => drop(top, names, labels),
  }
}

function drop(level: Level<unknown>, [name, ...rest]: readonly string[], labels: Labels): void {
  if (name === undefined) {
    level.place = undefined
    return
  }
  const next = level.next.get(labels[name])
  if (next === undefined) return
  drop(next, rest, labels)
  if (next.place === undefined && next.next.size === 0) level.next.delete(labels[name])
}
