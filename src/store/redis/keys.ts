/*
 * Keys in Redis. All keys of a partition share one hash tag, so they lie on one node and one script may touch them together:
 *
 *   cs:{<partition>}:h                 hash: n last event number, t latest time in ms, g generation (a restore changes it), w barrier
 *   cs:{<partition>}:e                 stream of events; the id of an event is its number
 *   cs:{<partition>}:r:<type>:<id>     a record, a string: `<revision> <commit id>\n<body>`
 *   cs:{<partition>}:i:<index>         sorted set: an index
 *   cs:{<partition>}:l:<limit>         a limit's window, a string: `<width> <bucket> <amount> <bucket> <amount> ...` (S18)
 *
 * and `cs:restoring` while a restore is not complete, `cs:format` in a store of a later version, and channels: cs:{<partition>}:w (every commit) and cs:{<partition>}:w:<type>:<id> (commits that wrote the record).
 *
 * Names may hold any code units, lone surrogates included, and sorted sets compare bytes: so text is escaped to ASCII in a way
 * that keeps code unit order (S05).
 */

const PREFIX = 'cs:{'

/** Everything that is ours. */
export const ALL_PATTERN = 'cs:*'

/** There while a restore is not complete (restore.ts): nobody may open the store. Its value names the restore. */
export const RESTORING_KEY = 'cs:restoring'

/**
 * How the keys are laid out, when it is not as described here, which is format 1 and has no such key. A version that lays them out in another way sets it
 * first, so that this one reads and writes nothing there.
 */
export const FORMAT_KEY = 'cs:format'
export const FORMAT = '1'

/** A unit that would be misread, or that is not below DEL, becomes DEL and four hex digits. Nothing below DEL sorts behind it. */
const ESCAPE = '\x7f'
const IN_MEMBER = /[\x7f-\uffff]/g
const IN_NAME = /[\0-\x20{}:\x7f-\uffff]/g
const ESCAPED = /\x7f([0-9a-f]{4})/g

/** Keeps order: a < b in code units exactly when the results are in byte order. */
export function encodeMember(text: string): string {
  return text.replace(IN_MEMBER, escapeUnit)
}

export function decodeMember(text: string): string {
  return text.includes(ESCAPE) ? text.replace(ESCAPED, (_, hex: string) => unitOf(hex)) : text
}

/** For a part of a key: does not keep order, and holds no colon, brace or blank. */
export function encodeName(text: string): string {
  return text.replace(IN_NAME, escapeUnit)
}

export const decodeName = decodeMember

function escapeUnit(unit: string): string {
  return ESCAPE + unit.charCodeAt(0).toString(16).padStart(4, '0')
}

function unitOf(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16))
}

/** An empty hash tag would be none, so the empty partition is a lone escape. */
function partitionPrefix(partition: string): string {
  return `${PREFIX}${partition === '' ? ESCAPE : encodeName(partition)}}:`
}

export interface PartitionKeys {
  readonly head: string
  readonly events: string
  readonly channel: string
  record(type: string, id: string): string
  index(index: string): string
  limit(limit: string): string
  recordChannel(type: string, id: string): string
}

const known = new Map<string, PartitionKeys>()
const MOST_KNOWN = 10_000

export function keysOf(partition: string): PartitionKeys {
  let keys = known.get(partition)
  if (keys === undefined) {
    if (known.size >= MOST_KNOWN) known.clear()
    keys = newKeys(partitionPrefix(partition))
    known.set(partition, keys)
  }
  return keys
}

function newKeys(prefix: string): PartitionKeys {
  return {
    head: `${prefix}h`,
    events: `${prefix}e`,
    channel: `${prefix}w`,
    record: (type, id) => `${prefix}r:${encodeName(type)}:${encodeName(id)}`,
    index: (index) => `${prefix}i:${encodeName(index)}`,
    limit: (limit) => `${prefix}l:${encodeName(limit)}`,
    recordChannel: (type, id) => `${prefix}w:${encodeName(type)}:${encodeName(id)}`,
  }
}

/** The first line of a record, with its end. */
export function lineOf(revision: number, commitId: string): string {
  return `${revision} ${commitId}\n`
}

/** For a scan: all keys of one partition. */
export function partitionPattern(partition: string): string {
  return `${partitionPrefix(partition).replace(/[\\*?[\]^-]/g, '\\$&')}*`
}

/** For a scan over everything: the heads of all partitions. */
export const HEADS_PATTERN = `${PREFIX}*}:h`

export type KeyName =
  | { readonly kind: 'head' | 'events'; readonly partition: string }
  | { readonly kind: 'record'; readonly partition: string; readonly type: string; readonly id: string }
  | { readonly kind: 'index' | 'limit'; readonly partition: string; readonly name: string }

const SHAPE = /^cs:\{([^{}:]+)\}:(?:(h)|(e)|r:([^:]*):([^:]*)|i:([^:]*)|l:([^:]*))$/

/** Reads a key back; undefined for one that is not ours. */
export function readKey(key: string): KeyName | undefined {
  const match = SHAPE.exec(key)
  if (match === null) return undefined
  const [, tag = '', head, events, type, id, index, limit] = match
  const partition = tag === ESCAPE ? '' : decodeName(tag)
  if (head !== undefined) return { kind: 'head', partition }
  if (events !== undefined) return { kind: 'events', partition }
  if (type !== undefined)
    return { kind: 'record', partition, type: decodeName(type), id: decodeName(id ?? '') }
  if (index !== undefined) return { kind: 'index', partition, name: decodeName(index) }
  return { kind: 'limit', partition, name: decodeName(limit ?? '') }
}
