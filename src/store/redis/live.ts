import type { DumpEntry, Placed } from '../archive.ts'
import type { Connection } from './connection.ts'
import {
  eventPages,
  keysLike,
  membersOf,
  Pace,
  pagesBefore,
  readMembers,
  readValue,
  unlessOfAnotherType,
} from './dump.ts'
import { type KeySpace, readKey } from './keys.ts'

/*
 * Yields the content of one server while it changes, in the order of SCAN. It keeps no keys but those of streams and
 * long indexes. SCAN may repeat a key, and a repeated stream would count all evidence of a tenant twice.
 */

/** Members of an index in one round trip, and indexes whose first members are read together. */
const INDEX_PAGE = 500
const FIRST_MEMBERS = 50
const INDEX_KEYS = 50

export async function* livePages(connection: Connection, space: KeySpace): AsyncGenerator<readonly Placed[]> {
  const read = new Set<string>()
  const isNew = (key: string): boolean => {
    const before = read.size
    return read.add(key).size > before
  }
  const pace = new Pace()
  for await (const keys of keysLike(connection, space.all)) {
    yield []
    const values: Key[] = []
    const indexes: IndexKey[] = []
    for (const key of keys) {
      const name = readKey(key)
      if (name === undefined) continue
      const { kind, partition } = name
      if (kind === 'record' || kind === 'limit') values.push({ key, partition })
      else if (kind === 'index') indexes.push({ key, partition, index: name.name })
      else if (kind !== 'head' && isNew(key))
        for await (const page of STREAMS[kind](connection, space.of(partition))) yield placed(partition, page)
    }
    yield* valuePages(connection, values, pace)
    yield* indexPages(connection, indexes, isNew)
  }
}

/** Events have their disclosures; those of deleted events are alone in the other stream (S22). */
const STREAMS = { events: eventPages, disclosures: pagesBefore } as const

interface Key {
  readonly key: string
  readonly partition: string
}

interface IndexKey extends Key {
  readonly index: string
}

const placed = (partition: string, entries: Iterable<DumpEntry>): Placed[] =>
  Array.from(entries, (entry) => ({ partition, entry }))

/** Reads values one by one, because the keys of a page belong to several slots of a cluster. */
async function* valuePages(
  connection: Connection,
  keys: readonly Key[],
  pace: Pace,
): AsyncGenerator<readonly Placed[]> {
  for (let from = 0; from < keys.length;) {
    const group = keys.slice(from, from + pace.count)
    from += group.length
    const values = await Promise.all(
      group.map(({ key }) => unlessOfAnotherType<string | null>(connection.sendCommand(['GET', key]))),
    )
    pace.held(values.reduce((sum, value) => sum + (value?.length ?? 0), 0))
    yield group.flatMap(({ key, partition }, i) => {
      const value = values[i]
      return typeof value === 'string' ? placed(partition, [readValue(key, value)]) : []
    })
  }
}

async function* indexPages(
  connection: Connection,
  keys: readonly IndexKey[],
  isNew: (key: string) => boolean,
): AsyncGenerator<readonly Placed[]> {
  for (let from = 0; from < keys.length; from += INDEX_KEYS) {
    const group = keys.slice(from, from + INDEX_KEYS)
    const firsts = await Promise.all(group.map(({ key }) => membersOf(connection, key, 0, FIRST_MEMBERS)))
    const isShort = (i: number): boolean => (firsts[i]?.length ?? 0) < 2 * FIRST_MEMBERS
    yield group.flatMap(({ partition, index }, i) =>
      isShort(i) ? placed(partition, readMembers(index, firsts[i] ?? [])) : [],
    )
    for (const { key, partition, index } of group
      .filter((_, i) => !isShort(i))
      .filter(({ key }) => isNew(key)))
      for (let rank = 0; ; rank += INDEX_PAGE) {
        const page = (await membersOf(connection, key, rank, INDEX_PAGE)) ?? []
        yield placed(partition, readMembers(index, page))
        if (page.length < 2 * INDEX_PAGE) break
      }
  }
}

/** Members and their scores in turn; undefined for a key that is no index. */
