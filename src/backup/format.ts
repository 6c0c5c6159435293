import type { StoredEntry } from '../store/archive.ts'
import { FORMAT, otherFormat } from '../domain/format.ts'

/*
 * The file of a backup, with one JSON value per line. Equal content always yields an equal file.
 *
 *   {"format":"countersign/5"}
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

/** The members of each kind of line, in their order, with the members of the entry. The first one tells the kind. */
const LINES = {
  disclosures: { of: 'number', disclosures: 'text' },
  event: { event: 'number', commit: 'commitId', body: 'body', disclosures: 'disclosures' },
  index: { index: 'index', score: 'score', member: 'member' },
  limit: { limit: 'limit', width: 'width', buckets: 'buckets' },
  record: { record: 'type', id: 'id', revision: 'revision', commit: 'commitId', body: 'body' },
} as const satisfies Record<StoredEntry['kind'], Readonly<Record<string, string>>>

export function entryLine(entry: StoredEntry): string {
  const members = entry as unknown as Members
  return JSON.stringify(
    Object.fromEntries(Object.entries(LINES[entry.kind]).map(([name, member]) => [name, members[member]])),
  )
}

/** Parses a line. @throws DamagedBackup */
export function readLine(text: string): BackupLine {
  const value = parse(text)
  if ('partition' in value)
    return { line: 'partition', partition: checked('name', value['partition']) as string }
  if ('time' in value) return { line: 'time', time: checked('time', value['time']) as number }
  if ('end' in value) return { line: 'footer' }
  return { line: 'entry', entry: readEntry(value) }
}

type Members = Readonly<Record<string, unknown>>

function readEntry(value: Members): StoredEntry {
  const [kind, names] = Object.entries(LINES).find(([, line]) => (Object.keys(line)[0] ?? '') in value) ?? []
  if (names === undefined) throw unknownLine()
  const isThere = ([name, member]: [string, string]): boolean => member !== 'disclosures' || name in value
  const members = Object.entries<string>(names).filter(isThere)
  return {
    kind,
    ...Object.fromEntries(members.map(([name, member]) => [member, checked(member, value[name])])),
  } as StoredEntry
}

const NUMBERS = ['number', 'score', 'width', 'revision', 'time']

/** A member of an entry, if its value is of the right type. @throws DamagedBackup */
function checked(member: string, value: unknown): unknown {
  const type = NUMBERS.includes(member) ? 'number' : 'string'
  if (member === 'buckets' ? areBuckets(value) : typeof value === type) return value
  throw unknownLine()
}

const areBuckets = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every(
    (pair: unknown) =>
      Array.isArray(pair) && pair.length === 2 && pair.every((one: unknown) => typeof one === 'number'),
  )

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
