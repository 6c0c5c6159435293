import { readFileSync } from 'node:fs'
import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import { displayedDigest } from '../../src/domain/digest.ts'
import type { EventType } from '../../src/events/events.ts'
import {
  approved,
  at,
  decided,
  keyOf,
  minted,
  pending,
  record,
  redeemed,
  refused,
  THREAD,
  voted,
} from './records.ts'

/** Reads histories.txt, whose first lines explain its notation. */

export interface History {
  readonly name: string
  readonly records: readonly JsonObject[]
  /** The fault of the first impossible record, or `possible`. */
  readonly verdict: string
}

const ANN = 'reviewer:ann'
const shared = {
  pending: pending(),
  voted: voted(ANN),
  approved: approved(ANN, ['ann']),
  minted: minted(),
  redeemed: redeemed(),
  refused: refused('used'),
  allowed: decided('allow'),
  rejected: decided('reject'),
  key: keyOf('agent', 'bot'),
}
const names = new Map<string, readonly JsonObject[]>(
  Object.entries(shared).map(([name, one]) => [name, [one]]),
)
const values = new Map<string, JsonValue>()

const MEMBERS = ['v', 'type', 'tenant', 'at', 'actor', 'task_id', 'thread_id', 'revision', 'tool']
const TIMES = ['at', 'expires_at', 'due_at', 'old_key_until', 'outcome_by']
const PARTS = / (?=(?:[^"]*"[^"]*")*[^"]*$)/
const RECORDS = /; (?=(?:[^"]*"[^"]*")*[^"]*$)/

function valueOf(name: string, text: string): JsonValue {
  const value = values.get(text) ?? parsed(text)
  return TIMES.includes(name) && typeof value === 'number' ? at(value) : value
}

function parsed(text: string): JsonValue {
  if (/^\[[^"{[]*\]$/.test(text) && text !== '[]') return text.slice(1, -1).split(',').map(parsed)
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return text
  }
}

/** The place of a part in a record: `revision`, `digest`, `.by`, `key` or `shown.level`. */
function placeOf(name: string): readonly string[] {
  if (name === 'by') return ['actor']
  if (name === 'key') return ['actor', 'key']
  if (MEMBERS.includes(name)) return [name]
  const [about = '', member] = name.split('.')
  if (member === undefined) return ['details', name]
  return about === '' ? ['details', member] : ['disclosed', about, member]
}

function put(one: JsonObject, [first = '', ...rest]: readonly string[], value: unknown): JsonObject {
  const inner = rest.length === 0 ? value : put((one[first] ?? {}) as JsonObject, rest, value)
  return { ...one, [first]: inner as JsonValue }
}

/** The record with one part changed. The record omits an undefined member. */
function changed(one: JsonObject, part: string): JsonObject {
  if (part === '~') return { ...one, ...(NOT_OF_A_CALL as object) }
  if (part.startsWith('-')) return put(one, placeOf(part.slice(1)), undefined)
  const [, name = '', text = ''] = /^([^=]+)=(.*)$/.exec(part) ?? []
  const [kind, id] = text.split(':')
  return put(one, placeOf(name), name === 'by' ? { kind, id } : valueOf(name, text))
}

const NOT_OF_A_CALL = { task_id: undefined, thread_id: undefined, revision: undefined, tool: undefined }

const seen = ['payload.amount']
const SHOWN = {
  thread_id: THREAD,
  revision: 1,
  revision_digest: 'd',
  bundle: 'bundle',
  level: 'low',
  reviewer: 'ann',
}

/** The record, whose display has the digest of what was shown. */
function displayed(one: JsonObject): JsonObject {
  const { shown, display } = (one['disclosed'] ?? {}) as Record<'shown' | 'display', JsonObject>
  if (shown === undefined && display === undefined) return one
  const digest = displayedDigest({ ...SHOWN, seen, ...shown })
  return { ...one, disclosed: { display: { digest, seen, unseen: ['payload.to'], ms: 14, ...display } } }
}

function recordOf(text: string): readonly JsonObject[] {
  const [name = '', ...parts] = text.split(PARTS)
  const times = /^\*(\d+)$/.exec(parts[0] ?? '')?.[1]
  const changes = times === undefined ? parts : parts.slice(1)
  const known = names.get(name) ?? [record(name as EventType)]
  return Array.from({ length: Number(times ?? 1) }, (_, i) =>
    known.map((one) => {
      const whole = changes.map((part) => part.replace('#', `${i + 1}`)).reduce(changed, one)
      return JSON.parse(JSON.stringify(displayed(whole))) as JsonObject
    }),
  ).flat()
}

/** The records of `pending; voted decision=reject; rejecting`. */
export const recordsOf = (text: string): readonly JsonObject[] => text.split(RECORDS).flatMap(recordOf)

function read(line: string): readonly History[] {
  const [, name = '', is = ''] = /^([\w-]+) = (.*)$/.exec(line) ?? []
  if (name === '') {
    const [title = '', records = '', verdict = ''] = line.split(' | ')
    return [{ name: title, records: recordsOf(records), verdict }]
  }
  if (/^[{["]/.test(is)) values.set(name, JSON.parse(is) as JsonValue)
  else names.set(name, recordsOf(is))
  return []
}

const file = readFileSync(new URL('histories.txt', import.meta.url), 'utf8')
export const HISTORIES = file
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .flatMap(read)
