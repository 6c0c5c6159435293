import type { Doc, DocEntry, DocList, DocMap, DocText } from './doc.ts'
import type { Mark } from './source.ts'

/** Where the reading of a text stands. */
export interface Reading {
  readonly text: string
  at: number
  /** Of the first character of the line at `at`; -1 at the end of the text. */
  column: number
  /** After the line break of the last value. */
  end: number
}

/** Far below what the scan allows, however it counts. */
export const MAX_PLAIN_DEPTH = 10
/** Of an implicit key, far below what YAML allows. */
const MAX_KEY_CHARACTERS = 200

type DocScalar = Exclude<Doc, DocList | DocMap>

/** A value within a line; brackets may not go on in the next. */
export function readInline(reading: Reading, words: RegExp, depth: number): Doc | undefined {
  const first = reading.text[reading.at]
  if (first !== '[' && first !== '{') return readScalar(reading, words)
  if (depth >= MAX_PLAIN_DEPTH) return undefined
  return first === '[' ? readFlowList(reading, depth + 1) : readFlowMap(reading, depth + 1)
}

const SPACES = / */y
/** A key's colon when the value is on its line. */
export const VALUE_FOLLOWS = /: +(?=[^ #\n])/y

function readFlowList(reading: Reading, depth: number): DocList | undefined {
  const items: Doc[] = []
  const mark = readFlow(reading, ']', () => {
    const item = readInline(reading, FLOW_WORDS, depth)
    return item !== undefined && items.push(item) > 0
  })
  return mark && { kind: 'list', items, mark }
}

function readFlowMap(reading: Reading, depth: number): DocMap | undefined {
  const entries: DocEntry[] = []
  const seen = new Set<string>()
  const mark = readFlow(reading, '}', () => {
    const key = readKey(reading, FLOW_WORDS)
    const value = key && match(reading, VALUE_FOLLOWS) ? readInline(reading, FLOW_WORDS, depth) : undefined
    if (!key || !value || seen.has(key.value)) return false
    seen.add(key.value)
    return entries.push({ key: key.value, keyMark: key.mark, value }) > 0
  })
  return mark && { kind: 'map', entries, mark }
}

/** From one bracket to the other; undefined when an item cannot be read or the line ends before. */
function readFlow(reading: Reading, close: string, readItem: () => boolean): Mark | undefined {
  const start = reading.at++
  match(reading, SPACES)
  if (reading.text[reading.at] === close) return { start, end: ++reading.at }
  while (readItem()) {
    match(reading, SPACES)
    const next = reading.text[reading.at++]
    if (next === close) return { start, end: reading.at }
    if (next !== ',') return undefined
    match(reading, SPACES)
  }
  return undefined
}

export function readKey(reading: Reading, words: RegExp): DocText | undefined {
  const { at } = reading
  const key = readScalar(reading, words)
  if (key?.kind !== 'text' || key.value === '__proto__') return undefined
  return reading.at - at > MAX_KEY_CHARACTERS ? undefined : key
}

const DOUBLE_QUOTED = /"([^"\\\n]*)"/y
const SINGLE_QUOTED = /'([^'\n]*)'(?!')/y
/** Begins with what begins nothing else, a dot when `.inf` or `.5` cannot follow; no `:` or `#` that YAML could see more in than a letter. */
export const BLOCK_WORDS =
  /(?:[A-Za-z0-9_$/-]|\.(?!inf|nan)(?=[a-z]))(?:[^ :#\n]+|(?<=[^ ])#|:(?=[^ \n])| +(?=[^ :#\n]))*/y
/** The same without brackets and commas. */
const FLOW_WORDS =
  /(?:[A-Za-z0-9_$/-]|\.(?!inf|nan)(?=[a-z]))(?:[^ :#\n,[\]{}]+|(?<=[^ ])#|:(?=[^ \n,[\]{}])| +(?=[^ :#\n,[\]{}]))*/y
const WHOLE_NUMBER = /^(?:0|-?[1-9][0-9]{0,14})$/
/** What begins like a number and is none: a date, a time, `600/m`, `8h`. */
const NO_NUMBER = /^(?:[0-9]+[:/-]|[1-9][0-9]*[a-df-z])/
const STARTS_LIKE_NUMBER = /^[-0-9]/
/** Other spellings are left to the library. */
const SPECIAL = /^(?:null|true|false)$/i

/** Words, a number or text in quotes. `words` says where words end. */
export function readScalar(reading: Reading, words: RegExp): DocScalar | undefined {
  const start = reading.at
  const quoted = match(reading, DOUBLE_QUOTED) ?? match(reading, SINGLE_QUOTED)
  const written = quoted?.[1] ?? match(reading, words)?.[0]
  if (written === undefined) return undefined
  const mark = { start, end: reading.at }
  return quoted ? { kind: 'text', value: written, mark } : meaningOf(written, mark)
}

/** What words without quotes mean; undefined when that takes more than a glance. */
function meaningOf(written: string, mark: Mark): DocScalar | undefined {
  if (WHOLE_NUMBER.test(written)) return { kind: 'number', value: Number(written), mark }
  if (STARTS_LIKE_NUMBER.test(written) && !NO_NUMBER.test(written)) return undefined
  if (!SPECIAL.test(written)) return { kind: 'text', value: written, mark }
  const isTrue = written === 'true'
  return isTrue || written === 'false' ? { kind: 'boolean', value: isTrue, mark } : undefined
}

/** Matches a sticky pattern at `at` and moves behind it. */
export function match(reading: Reading, pattern: RegExp): RegExpExecArray | null {
  pattern.lastIndex = reading.at
  const found = pattern.exec(reading.text)
  if (found) reading.at = pattern.lastIndex
  return found
}
