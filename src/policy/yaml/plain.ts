import { needsScan } from './scan.ts'
import { toNfc } from '../../domain/normal-form.ts'
import { MAX_YAML_NODES } from '../language/bounds.ts'
import type { Doc, DocEntry, DocList, DocMap } from './doc.ts'
import {
  BLOCK_WORDS,
  match,
  MAX_PLAIN_DEPTH,
  readInline,
  readKey,
  readScalar,
  VALUE_FOLLOWS,
  type Reading,
} from './plain-value.ts'
import { hasHidden } from '../language/text.ts'

/**
 * Reads the YAML that policy files are written in: blocks of keys and dashes, lists and maps in brackets on one line, words, whole numbers,
 * quotes without escapes. Whatever else a text holds, wrong or only unusual, gives undefined, and the library reads all of it. So nothing is
 * refused or reported here, and what is read is what the library would have read, places included (docs/decisions/0010).
 */
export function parsePlain(text: string): DocMap | undefined {
  // A text has no more parts than characters.
  if (text.length > MAX_YAML_NODES || !isOrdinary(text) || needsScan(text)) return undefined
  const reading: Reading = { text, at: 0, column: 0, end: 0 }
  if (!toNextLine(reading) || reading.column !== 0) return undefined
  const map = readMap(reading, 1)
  return isAtEnd(reading) ? map : undefined
}

const isAtEnd = ({ column }: Reading): boolean => column === -1

function isOrdinary(text: string): boolean {
  return !/[\t\r]/.test(text) && !hasHidden(text) && toNfc(text) === text
}

const GAP = /\n|( *)#[^\n]*(?:\n|$)/y
const INDENT = / */y

/**
 * Over empty lines and comments to the next line; false when a comment stands deeper than that line, because the library counts it to what is
 * above.
 */
function toNextLine(reading: Reading): boolean {
  let deepest = 0
  while (reading.at < reading.text.length) {
    const gap = match(reading, GAP)
    if (!gap) break
    deepest = Math.max(deepest, gap[1]?.length ?? 0)
  }
  const indent = match(reading, INDENT)?.[0].length ?? 0
  const ended = reading.at === reading.text.length
  reading.column = ended ? -1 : indent
  return ended ? deepest + indent === 0 : deepest <= indent
}

function readBlock(reading: Reading, depth: number): Doc | undefined {
  if (depth > MAX_PLAIN_DEPTH) return undefined
  return reading.text.startsWith('- ', reading.at) ? readItems(reading, depth) : readMap(reading, depth)
}

/** A block map whose first key is at `at`, to the first line that is not as deep. */
function readMap(reading: Reading, depth: number): DocMap | undefined {
  const { at: start, column } = reading
  const entries: DocEntry[] = []
  const seen = new Set<string>()
  do {
    const entry = readEntry(reading, depth)
    if (!entry || seen.has(entry.key)) return undefined
    seen.add(entry.key)
    entries.push(entry)
  } while (reading.column === column)
  if (reading.column > column) return undefined
  return { kind: 'map', entries, mark: { start, end: reading.end } }
}

const COLON = /:(?=[ \n])/y

function readEntry(reading: Reading, depth: number): DocEntry | undefined {
  const { column } = reading
  const key = readKey(reading, BLOCK_WORDS)
  if (!key) return undefined
  const value = match(reading, VALUE_FOLLOWS)
    ? readLast(reading, depth)
    : match(reading, COLON) && toNextBlock(reading, column)
      ? readBlock(reading, depth + 1)
      : undefined
  return value && { key: key.value, keyMark: key.mark, value }
}

function toNextBlock(reading: Reading, column: number): boolean {
  return match(reading, LINE_END) !== null && toNextLine(reading) && reading.column > column
}

/** A block list whose first dash is at `at`. */
function readItems(reading: Reading, depth: number): DocList | undefined {
  const { at: start, column } = reading
  const items: Doc[] = []
  do {
    if (!reading.text.startsWith('- ', reading.at)) return undefined
    reading.at += 2
    reading.column = column + 2
    const item = isKeyAhead(reading) ? readBlockMapItem(reading, depth + 1) : readLast(reading, depth)
    if (!item) return undefined
    items.push(item)
  } while (reading.column === column)
  if (reading.column > column) return undefined
  return { kind: 'list', items, mark: { start, end: reading.end } }
}

function readBlockMapItem(reading: Reading, depth: number): DocMap | undefined {
  return depth > MAX_PLAIN_DEPTH ? undefined : readMap(reading, depth)
}

function isKeyAhead(reading: Reading): boolean {
  const { at } = reading
  const isKey = readScalar(reading, BLOCK_WORDS) !== undefined && match(reading, COLON) !== null
  reading.at = at
  return isKey
}

const LINE_END = /(?: +#[^\n]*| *)(?:\n|$)/y

/** A value that ends its line. */
function readLast(reading: Reading, depth: number): Doc | undefined {
  const value = readInline(reading, BLOCK_WORDS, depth)
  if (!value || !match(reading, LINE_END)) return undefined
  reading.end = reading.at
  return toNextLine(reading) ? value : undefined
}
