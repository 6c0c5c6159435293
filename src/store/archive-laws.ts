import { compareText } from './archive.ts'
import type {
  DisclosuresEntry,
  DumpEntry,
  EventEntry,
  HeadEntry,
  Fault,
  LimitEntry,
  MemberEntry,
  RecordEntry,
} from './archive.ts'
import { STORE_LIMITS } from './store.ts'

/**
 * Maximum number of buckets in a window: 24, a partial bucket, and a few spare buckets. After a limit's window becomes
 * shorter, a bucket of the longer window may lie in the future (src/domain/limit-window.ts).
 */
const MOST_BUCKETS = 24 + 1 + 7
const WIDEST_BUCKET_MS = Math.ceil(STORE_LIMITS.windowMs / 24)

const RANKS = { head: 0, fault: 0, disclosures: 1, event: 2, index: 3, limit: 4, record: 5 } as const

/**
 * Checks stored data against the laws of store.ts. It reads the stream of one partition in constant memory. `check`
 * reports each fault. `export` and `restore` refuse such data, because a store would not accept it again.
 */
export type LawCheck = ReturnType<typeof createLawCheck>

export function createLawCheck() {
  let head: HeadEntry | undefined
  /** The numbers of the first event and of the next. The head of a backup follows its events. */
  let first: number | undefined
  let next = 1
  let before: DumpEntry | undefined

  const order = (entry: DumpEntry): Fault[] => {
    const fits = before === undefined || compareEntries(before, entry) < 0
    before = entry
    return fits ? [] : [{ law: 'S05', what: `${nameOf(entry)} is out of order, or appears twice` }]
  }

  const number = ({ number: found }: EventEntry): Fault[] => {
    if (first === undefined) next = head?.first ?? found
    first ??= next
    const expected = next
    next = Math.max(next, found) + 1
    if (found === expected) return []
    return [{ law: 'S06', what: `event ${expected} is missing: event ${found} follows ${expected - 1}` }]
  }

  let last = 0
  const disclosed = (entry: DisclosuresEntry): Fault[] => {
    const fits = first === undefined && entry.number > last
    last = entry.number
    return fits ? [] : [{ law: 'S05', what: `${nameOf(entry)} are out of order, or appear twice` }]
  }

  const ends = ({ first: kept, last: assigned }: HeadEntry): Fault[] => {
    if (next - 1 !== assigned)
      return [{ law: 'S06', what: `the last event is ${next - 1}, but ${assigned} numbers were assigned` }]
    const what = `the first event is ${first}, but those from ${kept} are kept`
    return first === undefined || first === kept ? [] : [{ law: 'S22', what }]
  }

  return {
    take(entry: DumpEntry): Fault[] {
      switch (entry.kind) {
        case 'head':
          head = entry
          return headProblems(entry)
        case 'fault':
          return [{ law: entry.law, what: entry.what }]
        case 'disclosures':
          return [...disclosed(entry), ...disclosuresProblems(entry)]
        case 'event':
          return [...number(entry), ...writtenProblems(entry)]
        case 'index':
          return [...order(entry), ...memberProblems(entry)]
        case 'limit':
          return [...order(entry), ...limitProblems(entry)]
        case 'record':
          return [...order(entry), ...recordProblems(entry)]
      }
    },
    /** Reports faults that can be found only at the end of the stream. */
    end(): Fault[] {
      return head === undefined ? [] : ends(head)
    },
  }
}

/** Describes an entry for use in a sentence. */
export function nameOf(entry: DumpEntry): string {
  switch (entry.kind) {
    case 'disclosures':
      return `the disclosures of event ${entry.number}`
    case 'event':
      return `event ${entry.number}`
    case 'index':
      return `member ${shown(entry.member)} of index ${shown(entry.index)}`
    case 'limit':
      return `limit ${shown(entry.limit)}`
    case 'record':
      return `record ${shown(entry.type)} ${shown(entry.id)}`
    case 'head':
    case 'fault':
      return `the ${entry.kind}`
  }
}

/** Escapes the characters of a name that a terminal would interpret. */
export function shown(text: string): string {
  return `\`${JSON.stringify(text).slice(1, -1)}\``
}

function compareEntries(a: DumpEntry, b: DumpEntry): number {
  const rank = RANKS[a.kind] - RANKS[b.kind]
  if (rank !== 0) return rank
  if (a.kind === 'index' && b.kind === 'index')
    return compareText(a.index, b.index) || a.score - b.score || compareText(a.member, b.member)
  if (a.kind === 'limit' && b.kind === 'limit') return compareText(a.limit, b.limit)
  if (a.kind === 'record' && b.kind === 'record')
    return compareText(a.type, b.type) || compareText(a.id, b.id)
  return -1
}

function headProblems({ first, last }: HeadEntry): Fault[] {
  if (!isCount(last)) return [{ law: 'S06', what: `the last number is \`${last}\`` }]
  const isIn = isCount(first) && first >= 1 && first <= Math.max(1, last)
  return isIn ? [] : [{ law: 'S22', what: `the first number is \`${first}\`, and the last \`${last}\`` }]
}

function disclosuresProblems(entry: DisclosuresEntry): Fault[] {
  if (!isCount(entry.number)) return [{ law: 'S21', what: `${nameOf(entry)} have no number` }]
  return entry.text.isWellFormed() ? [] : [{ law: 'S16', what: `${nameOf(entry)} hold a lone surrogate` }]
}

function writtenProblems(entry: EventEntry | RecordEntry): Fault[] {
  const faults: Fault[] = []
  const { commitId, body } = entry
  if (!isLine(commitId)) faults.push({ law: 'S14', what: `${nameOf(entry)} has no commit id` })
  if (!body.isWellFormed())
    faults.push({ law: 'S16', what: `the body of ${nameOf(entry)} holds a lone surrogate` })
  if ('disclosures' in entry && entry.disclosures?.isWellFormed() === false)
    faults.push({ law: 'S16', what: `the disclosures of ${nameOf(entry)} hold a lone surrogate` })
  return faults
}

function isLine(text: string): boolean {
  return (
    text.length > 0 &&
    text.length <= STORE_LIMITS.commitIdLength &&
    !text.includes('\n') &&
    text.isWellFormed()
  )
}

function recordProblems(entry: RecordEntry): Fault[] {
  const faults = [...writtenProblems(entry), ...tooLong(entry, entry.type, entry.id)]
  if (!isCount(entry.revision) || entry.revision < 1)
    faults.push({ law: 'S10', what: `${nameOf(entry)} has revision \`${entry.revision}\`` })
  return faults
}

function memberProblems(entry: MemberEntry): Fault[] {
  const faults = tooLong(entry, entry.index, entry.member)
  if (!Number.isFinite(entry.score))
    faults.push({ law: 'S16', what: `${nameOf(entry)} has the score \`${entry.score}\`` })
  return faults
}

function tooLong(entry: DumpEntry, name: string, id: string): Fault[] {
  if (name.length <= STORE_LIMITS.nameLength && id.length <= STORE_LIMITS.idLength) return []
  return [{ law: 'S16', what: `the name of ${nameOf(entry)} is too long` }]
}

function limitProblems(entry: LimitEntry): Fault[] {
  const { limit, width, buckets } = entry
  const what = [
    ...(limit.length <= STORE_LIMITS.idLength ? [] : ['has a name that is too long']),
    ...(isCount(width) && width >= 1 && width <= WIDEST_BUCKET_MS ? [] : [`has buckets of \`${width}\` ms`]),
    ...(buckets.length <= MOST_BUCKETS ? [] : [`has ${buckets.length} buckets`]),
    ...(buckets.length > 0 ? [] : ['is empty']),
    ...(buckets.every(([, amount]) => isCount(amount) && amount > 0)
      ? []
      : ['holds an amount that is not a positive whole number']),
    ...(areAscending(buckets) ? [] : ['has a bucket twice, or one without a number']),
  ]
  return what.map((one) => ({ law: 'S18', what: `${nameOf(entry)} ${one}` }))
}

function areAscending(buckets: LimitEntry['buckets']): boolean {
  return buckets.every(
    ([number], i) => Number.isSafeInteger(number) && (i === 0 || number > (buckets[i - 1]?.[0] ?? Infinity)),
  )
}

function isCount(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0
}
