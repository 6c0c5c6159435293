/** Places, and bytes of bodies: those that one sender has, or all that there are. */
interface Held {
  readonly count: number
  readonly bytes: number
}

/** So much of all that there are one sender may have: whatever is wrong with one, there is room for others. */
const SHARE = 0.75

const NOTHING: Held = { count: 0, bytes: 0 }

/** Who has how much of the places, and of the room for bodies, of one kind. */
export interface Senders {
  /** False, and nothing has changed, when the sender would have more than its share of `all`. */
  take(sender: string, bytes: number, all: Held): boolean
  /** Gives back what was taken. */
  free(sender: string, bytes: number): void
}

export function createSenders(): Senders {
  const held = new Map<string, Held>()
  return {
    take(sender, bytes, all) {
      const before = held.get(sender) ?? NOTHING
      const after = { count: before.count + 1, bytes: before.bytes + bytes }
      if (after.count > all.count * SHARE || after.bytes > all.bytes * SHARE) return false
      held.set(sender, after)
      return true
    },
    free(sender, bytes) {
      const before = held.get(sender) ?? NOTHING
      if (before.count <= 1) held.delete(sender)
      else held.set(sender, { count: before.count - 1, bytes: before.bytes - bytes })
    },
  }
}
