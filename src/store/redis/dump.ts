import { type DisclosuresEntry, type DumpEntry, type EventEntry, StoreMoved } from '../archive.ts'
import { readDisclosures, readRecord, type StreamEntry } from './replies.ts'
import {
  decodeMember,
  encodeMember,
  type KeyName,
  type KeySpace,
  type PartitionKeys,
  readKey,
  requireFormat,
} from './keys.ts'
import type { Connection } from './connection.ts'
import { sortedKeys } from './sorted-keys.ts'

/*
 * Yields the content of a partition in Redis at one point in time, which Redis itself verifies. Each commit writes the
 * partition's head, so the dump watches the head (WATCH) while it lists and reads the keys. The dump also watches every
 * index that takes more than one call, because a claim moves entries without a commit. An empty transaction then fails
 * exactly when a watched key changed.
 */

const SCAN_COUNT = 2_000
/** Entries of an index, or keys of indexes, in one round trip. */
const INDEX_PAGE = 1_000
const INDEX_KEYS = 100

export async function* dumpPartition(
  connection: Connection,
  space: KeySpace,
  partition: string,
): AsyncGenerator<DumpEntry> {
  const { head } = space.of(partition)
  try {
    await connection.sendCommand(['WATCH', head])
    const ends = await endsOf(connection, head)
    yield { kind: 'head', ...ends }
    const keys = await sortedKeys(keysLike(connection, space.within(partition)), partsOf)
    const pace = new Pace()
    for (const group of grouped(keys, pace))
      yield* dumpGroup(connection, { names: space.of(partition), ...ends }, group, pace)
    const [, untouched] = await Promise.all([
      connection.sendCommand(['MULTI']),
      connection.sendCommand(['EXEC']),
    ])
    if (untouched === null) throw new StoreMoved(`partition \`${partition}\` was changed while it was read`)
  } finally {
    await connection.sendCommand(['UNWATCH']).catch(() => undefined)
  }
}

/** The numbers of the first and the last event. @throws Error of one sentence for a partition of another format */
export async function endsOf(connection: Connection, head: string): Promise<Ends> {
  const fields = await connection.sendCommand(['HMGET', head, 'f', 'n', 't', 'v'])
  const [first = null, last = null, time = null, mark = null] = fields as (string | null)[]
  requireFormat(time, mark)
  return { first: Number(first ?? 1), last: Number(last ?? 0) }
}

interface Ends {
  readonly first: number
  readonly last: number
}

/**
 * Yields pages of keys that match a pattern, in the order of SCAN: unsorted, possibly with repetitions. A page may be
 * empty.
 */
export async function* keysLike(connection: Connection, pattern: string): AsyncGenerator<string[]> {
  let cursor = '0'
  do {
    const answer = await connection.sendCommand([
      'SCAN',
      cursor,
      'MATCH',
      pattern,
      'COUNT',
      String(SCAN_COUNT),
    ])
    const [next, keys] = answer as [string, string[]]
    cursor = next
    yield keys
  } while (cursor !== '0')
}

const KINDS = ['disclosures', 'events', 'index', 'limit', 'record', 'head'] as const

/** The order of an archive: kind, then names. Foreign keys come first. */
function partsOf(key: string): readonly string[] {
  const name = readKey(key)
  if (name === undefined) return ['', key]
  const kind = String(KINDS.indexOf(name.kind))
  if (name.kind === 'record') return [kind, name.type, name.id, key]
  return 'name' in name ? [kind, name.name, key] : [kind, key]
}

const FEWEST_UNITS = 300_000
const MOST_UNITS = 1_000_000
const MOST_AT_ONCE = 500

/** The number of values to request in one round trip. A body may have twenty code units or millions. */
export class Pace {
  count = 16

  held(units: number): void {
    if (units < FEWEST_UNITS) this.count = Math.min(this.count * 2, MOST_AT_ONCE)
    if (units > MOST_UNITS) this.count = Math.max(1, Math.floor(this.count / 4))
  }
}

interface Group {
  readonly kind: KeyName['kind'] | 'unknown'
  readonly keys: readonly string[]
}

/** Groups adjacent keys of one kind. */
function* grouped(keys: readonly string[], pace: Pace): Generator<Group> {
  let group: string[] = []
  let kind: Group['kind'] = 'unknown'
  for (const key of keys) {
    const next = readKey(key)?.kind ?? 'unknown'
    if (group.length > 0 && (next !== kind || group.length >= (kind === 'index' ? INDEX_KEYS : pace.count))) {
      yield { kind, keys: group }
      group = []
    }
    kind = next
    group.push(key)
  }
  if (group.length > 0) yield { kind, keys: group }
}

async function* dumpGroup(
  connection: Connection,
  { names, first }: Ends & { readonly names: PartitionKeys },
  { kind, keys }: Group,
  pace: Pace,
): AsyncGenerator<DumpEntry> {
  if (kind === 'unknown')
    for (const key of keys) yield fault('S16', `the key ${shown(key)} does not belong to the store`)
  else if (kind === 'events') yield* dumpEvents(connection, names)
  else if (kind === 'disclosures') yield* dumpDisclosures(connection, names, first)
  else if (kind === 'index') yield* dumpIndexes(connection, keys)
  else if (kind !== 'head') {
    const values = await readAll(connection, keys)
    pace.held(values.reduce((sum, value) => sum + (value?.length ?? 0), 0))
    for (const [i, value] of values.entries()) yield readValue(keys[i] ?? '', value)
  }
}

function fault(law: string, what: string): DumpEntry {
  return { kind: 'fault', law, what }
}

const shown = (key: string): string => `\`${JSON.stringify(key).slice(1, -1)}\``

/** Returns the values; undefined for a key that is not a string. */
async function readAll(connection: Connection, keys: readonly string[]): Promise<(string | undefined)[]> {
  const values = await connection.sendCommand(['MGET', ...keys])
  return (values as (string | null)[]).map((value) => value ?? undefined)
}

async function* dumpEvents(connection: Connection, names: PartitionKeys): AsyncGenerator<DumpEntry> {
  for await (const page of eventPages(connection, names)) yield* page
}

export async function* eventPages(
  connection: Connection,
  { events: key, disclosures }: PartitionKeys,
): AsyncGenerator<DumpEntry[]> {
  const pace = new Pace()
  let from = '-'
  for (;;) {
    const { count } = pace
    const range = ['XRANGE', key, from, '+', 'COUNT', String(count)]
    const page = await unlessOfAnotherType<StreamEntry[]>(connection.sendCommand(range))
    if (page === undefined) return yield [fault('S06', `${shown(key)} is not a stream of events`)]
    const [first, last] = endsIn(page)
    if (first === '') return
    const texts = connection.sendCommand(['XRANGE', disclosures, first, last])
    const found = await unlessOfAnotherType<StreamEntry[]>(texts)
    const faults: DumpEntry[] = []
    if (found === undefined) faults.push(fault('S21', `${shown(disclosures)} is not a stream of disclosures`))
    for (const [id] of page)
      if (!id.endsWith('-0')) faults.push(fault('S06', `the event with the id ${id} has no number`))
    const known = new Map(readDisclosures(found ?? []).map(({ number, text }) => [number, text]))
    yield [...faults, ...page.map((entry) => disclosed(readEvent(entry), known))]
    if (page.length < count) return
    from = `(${last}`
    pace.held(page.reduce((sum, [, fields]) => sum + (fields[3]?.length ?? 0), 0))
  }
}

/** The first and the last id of a page; empty without entries. */
const endsIn = (page: readonly StreamEntry[]): readonly [first: string, last: string] => [
  page[0]?.[0] ?? '',
  page.at(-1)?.[0] ?? '',
]

function disclosed(event: EventEntry, texts: ReadonlyMap<number, string>): EventEntry {
  const disclosures = texts.get(event.number)
  return disclosures === undefined ? event : { ...event, disclosures }
}

function readEvent([id, fields]: StreamEntry): EventEntry {
  const [number] = id.split('-')
  return { kind: 'event', number: Number(number), commitId: fields[1] ?? '', body: fields[3] ?? '' }
}

/** Yields disclosures of deleted events (S22), and reports others without their event (S21). */
async function* dumpDisclosures(
  connection: Connection,
  names: PartitionKeys,
  first: number,
): AsyncGenerator<DumpEntry> {
  for await (const page of disclosurePages(connection, names, '+')) {
    yield* before(page, first)
    const rest = page.filter(([id]) => Number.parseInt(id, 10) >= first)
    const [from, to] = endsIn(rest)
    if (from === '') continue
    const range = connection.sendCommand(['XRANGE', names.events, from, to])
    const known = new Set((await unlessOfAnotherType<StreamEntry[]>(range))?.map(([id]) => id))
    for (const [id] of rest)
      if (!known.has(id)) yield fault('S21', `event ${id} is missing, but its disclosures are there`)
  }
}

/** Pages of the disclosures of deleted events (S22). */
export async function* pagesBefore(
  connection: Connection,
  names: PartitionKeys,
): AsyncGenerator<DumpEntry[]> {
  const { first } = await endsOf(connection, names.head)
  if (first === 1) return
  for await (const page of disclosurePages(connection, names, `(${first}-0`)) yield before(page, first)
}

const before = (page: readonly StreamEntry[], first: number): DisclosuresEntry[] =>
  readDisclosures(page)
    .filter(({ number }) => number < first)
    .map((entry) => ({ kind: 'disclosures', ...entry }))

async function* disclosurePages(
  connection: Connection,
  { disclosures }: PartitionKeys,
  to: string,
): AsyncGenerator<readonly StreamEntry[]> {
  for (let from = '-'; ;) {
    const range = ['XRANGE', disclosures, from, to, 'COUNT', String(MOST_AT_ONCE)]
    const page = await unlessOfAnotherType<StreamEntry[]>(connection.sendCommand(range))
    if (page === undefined || page.length === 0) return
    yield page
    from = `(${endsIn(page)[1]}`
  }
}

async function* dumpIndexes(connection: Connection, keys: readonly string[]): AsyncGenerator<DumpEntry> {
  const firsts = await Promise.all(keys.map((key) => membersOf(connection, key, 0)))
  for (const [i, first] of firsts.entries()) {
    const key = keys[i] ?? ''
    const name = readKey(key)
    if (first === undefined || name?.kind !== 'index') yield fault('S05', `${shown(key)} is not an index`)
    else if (first.length < 2 * INDEX_PAGE) yield* readMembers(name.name, first)
    else yield* dumpLongIndex(connection, key, name.name)
  }
}

async function* dumpLongIndex(connection: Connection, key: string, index: string): AsyncGenerator<DumpEntry> {
  await connection.sendCommand(['WATCH', key])
  for (let rank = 0; ; rank += INDEX_PAGE) {
    const page = (await membersOf(connection, key, rank)) ?? []
    yield* readMembers(index, page)
    if (page.length < 2 * INDEX_PAGE) return
  }
}

/** Members of an index from a rank on, each with its score; undefined for a key of another type. */
export function membersOf(
  connection: Connection,
  key: string,
  rank: number,
  count = INDEX_PAGE,
): Promise<string[] | undefined> {
  const range = [String(rank), String(rank + count - 1)]
  return unlessOfAnotherType(connection.sendCommand(['ZRANGE', key, ...range, 'WITHSCORES']))
}

export function* readMembers(index: string, flat: readonly string[]): Generator<DumpEntry> {
  for (let i = 0; i < flat.length; i += 2) {
    const text = flat[i] ?? ''
    const member = decodeMember(text)
    if (encodeMember(member) !== text)
      yield fault(
        'S15',
        `${shown(text)} in index ${shown(index)} decodes to a member, but is not its encoding`,
      )
    yield { kind: 'index', index, score: Number(flat[i + 1]), member }
  }
}

export function readValue(key: string, value: string | undefined): DumpEntry {
  const name = readKey(key)
  if (name?.kind === 'record') {
    const record = readRecord(value)
    if (record === undefined) return fault('S10', `${shown(key)} is not a record`)
    return { kind: 'record', type: name.type, id: name.id, ...record }
  }
  const limit = name?.kind === 'limit' ? name.name : ''
  const [width = Number.NaN, ...numbers] = (value ?? '').split(' ').map(Number)
  if (value === undefined || numbers.length % 2 !== 0) return fault('S18', `${shown(key)} is not a limit`)
  const buckets = numbers.flatMap((number, i): [number, number][] =>
    i % 2 === 0 ? [[number, numbers[i + 1] ?? Number.NaN]] : [],
  )
  return { kind: 'limit', limit, width, buckets: buckets.sort(([a], [b]) => a - b) }
}

/** Returns undefined when the type of the key differs from the type that the command expects. */
export async function unlessOfAnotherType<T>(answer: Promise<unknown>): Promise<T | undefined> {
  try {
    return (await answer) as T
  } catch (error) {
    if (String((error as Error).message).startsWith('WRONGTYPE')) return undefined
    throw error
  }
}
