import { readEndOfEvents, readFirstNumber, readLastNumber, readPartitions } from './lmdb.ts'
import type { Database } from './lmdb.ts'

/* Checks that evidence is complete: numbers without a gap (S06), from the first that is kept (S22)
 * up to the last assigned number. */

/**
 * Checks both ends of every partition, which is fast enough for every start.
 *
 * @throws Error when a partition is incomplete
 */
export function checkEnds(db: Database): void {
  for (const partition of readPartitions(db)) {
    const last = readLastNumber(db, partition)
    const kept = readFirstNumber(db, partition)
    const first = readEndOfEvents(db, partition)
    const final = readEndOfEvents(db, partition, true)
    if (first !== kept || final !== last)
      throw incomplete(partition, `events ${first} to ${final} of ${kept} to ${last}`)
  }
}

/**
 * Reads every entry.
 *
 * @throws Error when entries are missing or contain only zeros, as in a truncated file
 */
export function checkEverything(db: Database): void {
  const { entryCount } = db.getStats() as { entryCount: number }
  let count = 0
  for (const { value } of db.getRange({ start: Buffer.from([0]), end: Buffer.from([0xff]) })) {
    count += 1
    if (value.endsWith('\0')) break
  }
  if (count !== entryCount)
    throw new Error(
      `the data file was cut off: ${count} of ${entryCount} entries are left, restore it from a backup`,
    )
}

function incomplete(partition: string, what: string): Error {
  return new Error(
    `the evidence of partition \`${partition}\` is incomplete (${what}): restore it from a backup`,
  )
}
