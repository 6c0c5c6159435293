import { FORMAT, otherFormat } from '../../domain/format.ts'

/*
 * Keys in Redis. All keys of a partition share one hash tag. They are therefore on one node, and one script may use
 * them together:
 *
 *     cs:{<partition>}:h               hash: n last event number, f first one that is kept (S22),
 *                                      t latest time in ms, g generation, w barrier,
 *                                      v the mark of the format (src/domain/format.ts)
 *     cs:{<partition>}:e               stream of events; the id of an event is its number
 *     cs:{<partition>}:d               stream of disclosures, each with the id of its event (S21)
 *     cs:{<partition>}:r:<type>:<id>   a record, a string: `<revision> <commit id>\n<body>`
 *     cs:{<partition>}:i:<index>       sorted set: an index
 *     cs:{<partition>}:l:<limit>       a limit's window, a string: `<width> <bucket> <amount> ...` (S18)
 *
 * A restore changes the generation. Other keys and channels:
 *
 * - `cs:restoring`, a key while a restore is incomplete.
 * - `cs:{<partition>}:w`, the channel of every commit.
 * - `cs:{<partition>}:w:<type>:<id>`, the channel of commits that wrote the record.
 *
 * The keys of a named deployment begin with `cs-<name>:` instead of `cs:`, so one server can hold several deployments.
 *
 * Names may contain any code units, including lone surrogates, but sorted sets compare bytes. Names are therefore
 * escaped to ASCII, which keeps the code unit order (S05).
 */

const UNNAMED = 'cs'

/**
 * The escape: an ambiguous unit, or a unit that is not below DEL, becomes DEL and four hex digits. All other units of
 * encoded text sort before DEL.
 */
const ESCAPE = '\x7f'
const IN_MEMBER = /[\x7f-\uffff]/g
const IN_NAME = /[\0-\x20{}:\x7f-\uffff]/g
const ESCAPED = /\x7f([0-9a-f]{4})/g

/** Encodes a member and keeps the order: a < b in code units exactly when the results are in byte order. */
export function encodeMember(text: string): string {
  return text.replace(IN_MEMBER, escapeUnit)
}

export function decodeMember(text: string): string {
  return text.includes(ESCAPE) ? text.replace(ESCAPED, (_, hex: string) => unitOf(hex)) : text
}

/** Encodes a part of a key, without colons, braces or blanks. The result does not keep the order. */
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

export interface PartitionKeys {
  readonly head: string
  readonly events: string
  readonly disclosures: string
  readonly channel: string
  record(type: string, id: string): string
  index(index: string): string
  limit(limit: string): string
  recordChannel(type: string, id: string): string
}

/** The keys of one deployment. */
export interface KeySpace {
  /** The start of every key, without its colon. */
  readonly prefix: string
  of(partition: string): PartitionKeys
  /**
   * The key that exists while a restore is incomplete (restore.ts), and keeps every gateway from opening the store. Its
   * value is the id of the restore.
   */
  readonly restoring: string
  /** The scan patterns of all keys, and of the heads of all partitions. */
  readonly all: string
  readonly heads: string
  /** The scan pattern for all keys of one partition. */
  within(partition: string): string
}

const MOST_KNOWN = 10_000

export function keySpace(deployment?: string): KeySpace {
  const prefix = deployment === undefined ? UNNAMED : `${UNNAMED}-${deployment}`
  // Redis ignores an empty hash tag, so an empty partition name is written as a single escape character
  const start = (partition: string): string =>
    `${prefix}:{${partition === '' ? ESCAPE : encodeName(partition)}}:`
  const known = new Map<string, PartitionKeys>()
  return {
    prefix,
    of(partition) {
      let keys = known.get(partition)
      if (keys === undefined) {
        if (known.size >= MOST_KNOWN) known.clear()
        keys = newKeys(start(partition))
        known.set(partition, keys)
      }
      return keys
    },
    restoring: `${prefix}:restoring`,
    all: `${prefix}:*`,
    heads: `${prefix}:{*}:h`,
    within: (partition) => `${start(partition).replace(/[\\*?[\]^-]/g, '\\$&')}*`,
  }
}

function newKeys(prefix: string): PartitionKeys {
  return {
    head: `${prefix}h`,
    events: `${prefix}e`,
    disclosures: `${prefix}d`,
    channel: `${prefix}w`,
    record: (type, id) => `${prefix}r:${encodeName(type)}:${encodeName(id)}`,
    index: (index) => `${prefix}i:${encodeName(index)}`,
    limit: (limit) => `${prefix}l:${encodeName(limit)}`,
    recordChannel: (type, id) => `${prefix}w:${encodeName(type)}:${encodeName(id)}`,
  }
}

/** Checks the mark of a head that has seen a commit. @throws Error of one sentence */
export function requireFormat(time: string | null, mark: string | null): void {
  if (time !== null && mark !== FORMAT) throw new Error(otherFormat('the store', mark))
}

/** The first line of a record, with its line end. */
export function lineOf(revision: number, commitId: string): string {
  return `${revision} ${commitId}\n`
}

export type KeyName =
  | { readonly kind: 'head' | 'events' | 'disclosures'; readonly partition: string }
  | { readonly kind: 'record'; readonly partition: string; readonly type: string; readonly id: string }
  | { readonly kind: 'index' | 'limit'; readonly partition: string; readonly name: string }

const SHAPE = /^cs(?:-[a-z0-9-]+)?:\{([^{}:]+)\}:(?:(h)|(e)|(d)|r:([^:]*):([^:]*)|i:([^:]*)|l:([^:]*))$/

/** Parses a key; undefined for a foreign key. */
export function readKey(key: string): KeyName | undefined {
  const match = SHAPE.exec(key)
  if (match === null) return undefined
  const [, tag = '', head, events, disclosures, type, id, index, limit] = match
  const partition = tag === ESCAPE ? '' : decodeName(tag)
  if (head !== undefined) return { kind: 'head', partition }
  if (events !== undefined) return { kind: 'events', partition }
  if (disclosures !== undefined) return { kind: 'disclosures', partition }
  if (type !== undefined)
    return { kind: 'record', partition, type: decodeName(type), id: decodeName(id ?? '') }
  if (index !== undefined) return { kind: 'index', partition, name: decodeName(index) }
  return { kind: 'limit', partition, name: decodeName(limit ?? '') }
}
