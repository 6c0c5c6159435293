import type { StoredEntry } from '../store/archive.ts'
import { FORMAT, otherFormat } from '../domain/format.ts'

/*
 * The file of a backup, with one JSON value per line. Equal content always yields an equal file.
 *
 *   {"format":"countersign/4"}
 *   {"partition":"acme"}
 *   {"of":1,"disclosures":"..."}
 *   {"event":2,"commit":"c1","body":"...","disclosures":"..."}
 *   {"index":"due","score":1767225600000,"member":"thr_..."}
 *   {"limit":"...","width":3600000,"buckets":[[490896,2]]}
 *   {"record":"thread","id":"thr_...","revision":3,"commit":"c1","body":"..."}
 *   {"time":1767225600000}
 *   {"end":[{"partition":"acme","last":2,"events":1,"index":1,"limits":1,"records":1}],"sha256":"<hash>"}
 *
 * Lines after `partition` belong to it, in the order of an archive. `time` is the latest time that the store has
 * recorded. `sha256` covers all earlier lines, including their line ends. The reader recomputes the whole last line
 * from the earlier lines, so it detects every changed byte. Disclosures before the first event belong to deleted
 * events (S22).
 */
/** A body of 16 Mi code units, each escaped as six bytes, with its name and its commit id. */
export const LONGEST_LINE_BYTES = 128 * 1024 * 1024
export const HEADER = JSON.stringify({ format: FORMAT })

/**
 * Types of records that a backup leaves out: what they say is true only beside the original store. The gateway of the
 * restored store finds out anew. Without the record of its tiles, it compares the place with the store.
 */
export const LEFT_OUT: ReadonlySet<string> = new Set(['tiles'])

/** Totals of one partition. */
export interface Totals {
  readonly partition: string
  /** Number of the last event. */
  last: number
  events: number
  index: number
  limits: number
  records: number
}

export type BackupLine =
  | { readonly line: 'partition'; readonly partition: string }
  | { readonly line: 'entry'; readonly entry: StoredEntry }
  | { readonly line: 'time'; readonly time: number }
  | { readonly line: 'footer' }

/** The error for a file that is not a backup or is damaged. */
export class DamagedBackup extends Error {
  override readonly name = 'DamagedBackup'
}

/** The error for an intact backup of another format. */
export class OtherFormat extends Error {
  override readonly name = 'OtherFormat'
}

/** Checks the first line. @throws OtherFormat, DamagedBackup */
export function checkHeader(text: string): void {
  if (text === HEADER) return
  const found = /^\{"format":"(countersign[-/\w]{0,40})"[^}]*\}$/.exec(text)?.[1]
  if (found === undefined) throw new DamagedBackup(`this is not a backup of the format ${FORMAT}`)
  throw new OtherFormat(otherFormat('the backup', found))
}

export function newTotals(partition: string): Totals {
  return { partition, last: 0, events: 0, index: 0, limits: 0, records: 0 }
}

const COUNTED = {
  disclosures: undefined,
  event: 'events',
  index: 'index',
  limit: 'limits',
  record: 'records',
} as const

export function countEntry(totals: Totals, entry: StoredEntry): void {
  const counted = COUNTED[entry.kind]
  if (counted !== undefined) totals[counted] += 1
  if (entry.kind === 'event') totals.last = entry.number
}

export const partitionLine = (partition: string): string => JSON.stringify({ partition })
export const timeLine = (time: number): string => JSON.stringify({ time })
export const footerLine = (totals: readonly Totals[], sha256: string): string =>
  JSON.stringify({ end: totals, sha256 })

export function entryLine(entry: StoredEntry): string {
  switch (entry.kind) {
    case 'disclosures':
      return JSON.stringify({ of: entry.number, disclosures: entry.text })
    case 'event':
      return JSON.stringify({
        event: entry.number,
        commit: entry.commitId,
        body: entry.body,
        disclosures: entry.disclosures,
      })
    case 'index':
      return JSON.stringify({ index: entry.index, score: entry.score, member: entry.member })
    case 'limit':
      return JSON.stringify({ limit: entry.limit, width: entry.width, buckets: entry.buckets })
    case 'record': {
      const { type, id, revision, commitId, body } = entry
      return JSON.stringify({ record: type, id, revision, commit: commitId, body })
    }
  }
}

/** Parses a line. @throws DamagedBackup */
export function readLine(text: string): BackupLine {
  const value = parse(text)
  if ('partition' in value) return { line: 'partition', partition: textIn(value, 'partition') }
  if ('time' in value) return { line: 'time', time: numberIn(value, 'time') }
  if ('end' in value) return { line: 'footer' }
  return { line: 'entry', entry: readEntry(value) }
}

type Members = Readonly<Record<string, unknown>>

function readEntry(value: Members): StoredEntry {
  if ('of' in value)
    return { kind: 'disclosures', number: numberIn(value, 'of'), text: textIn(value, 'disclosures') }
  if ('event' in value) {
    const disclosures = 'disclosures' in value ? { disclosures: textIn(value, 'disclosures') } : {}
    return { kind: 'event', number: numberIn(value, 'event'), ...writtenIn(value), ...disclosures }
  }
  if ('index' in value) {
    const score = numberIn(value, 'score')
    return { kind: 'index', index: textIn(value, 'index'), score, member: textIn(value, 'member') }
  }
  if ('limit' in value) {
    const width = numberIn(value, 'width')
    return { kind: 'limit', limit: textIn(value, 'limit'), width, buckets: bucketsIn(value['buckets']) }
  }
  const type = textIn(value, 'record')
  const revision = numberIn(value, 'revision')
  return { kind: 'record', type, id: textIn(value, 'id'), revision, ...writtenIn(value) }
}

function writtenIn(value: Members): { commitId: string; body: string } {
  return { commitId: textIn(value, 'commit'), body: textIn(value, 'body') }
}

function bucketsIn(value: unknown): [number, number][] {
  if (!Array.isArray(value)) throw unknownLine()
  return value.map((pair: unknown): [number, number] => {
    const [number, amount] = Array.isArray(pair) ? (pair as unknown[]) : []
    if (typeof number !== 'number' || typeof amount !== 'number') throw unknownLine()
    return [number, amount]
  })
}

function textIn(value: Members, name: string): string {
  const text = value[name]
  if (typeof text !== 'string') throw unknownLine()
  return text
}

function numberIn(value: Members, name: string): number {
  const number = value[name]
  if (typeof number !== 'number') throw unknownLine()
  return number
}

function parse(text: string): Members {
  try {
    const value = JSON.parse(text) as unknown
    if (typeof value === 'object' && value !== null) return value as Members
  } catch {
    // the error is the same as for a value of another kind
  }
  throw unknownLine()
}

function unknownLine(): DamagedBackup {
  return new DamagedBackup('the line does not belong to a backup')
}
