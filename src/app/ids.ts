import { randomFillSync } from 'node:crypto'
import { successor, timeOrderedId } from '../domain/id.ts'

/** Ids and secrets of the gateway. */

const ID_RANDOM_BYTES = 10

/** The size of a block. Random bytes come from the system in blocks, and each byte is used once. */
const RANDOM_BLOCK_BYTES = 4_096

export function randomSource(): (bytes: number) => Uint8Array {
  const block = new Uint8Array(RANDOM_BLOCK_BYTES)
  let used = block.length
  return (bytes) => {
    if (used + bytes > block.length) {
      randomFillSync(block)
      used = 0
    }
    const taken = block.slice(used, used + bytes)
    block.fill(0, used, used + bytes)
    used += bytes
    return taken
  }
}

/** Creates a source of commit ids, unique by 96 random bits per process and by a counter. */
export function commitIds(random: (bytes: number) => Uint8Array): () => string {
  const instance = Buffer.from(random(12)).toString('base64url')
  let count = 0
  return () => `${instance}.${(count++).toString(36)}`
}

/** Creates a source of ids that sort by age, even within one millisecond, so that a task's newest thread is last. */
export function orderedIds(now: () => number, random: (bytes: number) => Uint8Array): () => string {
  let last = Number.NEGATIVE_INFINITY
  let tail: Uint8Array = new Uint8Array(ID_RANDOM_BYTES)
  return () => {
    const time = now()
    tail = time === last ? successor(tail) : random(ID_RANDOM_BYTES)
    last = time
    return timeOrderedId(time, tail)
  }
}
