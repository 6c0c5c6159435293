import { isUtf8 } from 'node:buffer'
import { GatewayError } from './errors.ts'
import type { JsonValue } from './json.ts'
import { LIMITS } from './limits.ts'
import { isLong } from './long-texts.ts'

/** Exceptions to the limits for a document. */
export interface Room {
  /** The number of additional keys and values. */
  readonly spare?: number
  /** The member whose texts are not limited here, because the tool's contract limits them (long-texts.ts). */
  readonly longTextsIn?: string
}

/**
 * The strict JSON gate (docs/agent-api.md): one linear pass before JSON.parse. The approved text must be exactly the
 * text that runs. The gate therefore refuses everything that JSON.parse hides: duplicate keys, lossy numbers, lone
 * surrogates, `__proto__`, excessive depth or size.
 *
 * @throws GatewayError `invalid_json` with the place
 */
export function parseStrictJson(bytes: Uint8Array, room: Room = {}): JsonValue {
  return parsed(textOf(bytes), room)
}

/**
 * Parses a request of an agent or a person: strict JSON without NUL. A program that ends text at NUL would run a
 * different text than the reviewed text.
 *
 * @throws GatewayError `invalid_json` with the place
 */
export function parseRequest(bytes: Uint8Array, room: Room = {}): JsonValue {
  const text = textOf(bytes)
  const value = parsed(text, room)
  refuseNul(text)
  return value
}

function textOf(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw refused('the body is not UTF-8', 0)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

function parsed(text: string, room: Room): JsonValue {
  new Scan(text, room).document()
  return JSON.parse(text) as JsonValue
}

/** Matches a backslash with the escaped character. JSON has backslashes only in strings. */
const ESCAPED = /\\(?:u0000|[^])/g

function refuseNul(json: string): void {
  if (!json.includes('\\u0000')) return
  for (const { 0: escape, index } of json.matchAll(ESCAPED))
    if (escape === '\\u0000') throw refused('a string contains NUL', index)
}

/**
 * Refuses a number that changes when it is parsed, because the approved number would then differ from the number that
 * runs.
 */
export class LossyNumber extends GatewayError {}

function refused(why: string, position: number): GatewayError {
  return new GatewayError('invalid_json', placed(why, position))
}

const placed = (why: string, position: number): string => `${why} (at character ${position})`

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const SAFE_DIGITS = 15
const DOUBLE_DIGITS = 17
const NUMBER_CHARS = 64
const SMALLEST_NORMAL = 2 ** -1022

/** Scans one document. The scan is iterative, so that deep nesting cannot exhaust the stack. */
class Scan {
  readonly #text: string
  readonly #spare: number
  readonly #longTextsIn: string | undefined
  /** The member of the document that the scan is reading. */
  #topMember: string | undefined
  #at = 0
  #keys = 0
  #values = 0
  /** The open containers: the keys of an object so far, or null for an array. */
  readonly #open: (Set<string> | null)[] = []

  constructor(text: string, { spare = 0, longTextsIn }: Room) {
    this.#text = text
    this.#spare = spare
    this.#longTextsIn = longTextsIn
  }

  document(): void {
    if (this.#text.charCodeAt(0) === 0xfeff) this.#refuse('the body begins with a byte order mark')
    this.#space()
    this.#value()
    while (this.#open.length > 0) this.#next()
    this.#space()
    if (this.#at < this.#text.length) this.#refuse('there is text after the document')
  }

  /** Takes one step inside the innermost container: its end, or its next member. */
  #next(): void {
    const keys = this.#open.at(-1) ?? null
    const close = keys ? CLOSE_OBJECT : CLOSE_ARRAY
    this.#space()
    const code = this.#text.charCodeAt(this.#at)
    if (code === close) {
      this.#at++
      this.#open.pop()
      return
    }
    if (code !== COMMA) this.#refuse('expected `,` or the end of the list')
    this.#at++
    this.#member(keys)
  }

  #member(keys: Set<string> | null): void {
    this.#space()
    if (keys) this.#key(keys)
    this.#space()
    this.#value()
  }

  #key(seen: Set<string>): void {
    if (this.#text.charCodeAt(this.#at) !== QUOTE) this.#refuse('expected a key in double quotes')
    const start = this.#at
    const key = this.#string()
    this.#refuseLong(key, start)
    if (this.#open.length === 1) this.#topMember = key
    if (seen.has(key)) this.#refuse(`duplicate key \`${shown(key)}\``, start)
    if (key === '__proto__') this.#refuse('the key `__proto__` is not accepted', start)
    seen.add(key)
    if (++this.#keys > LIMITS.JSON_KEYS + this.#spare) this.#refuse(`more than ${LIMITS.JSON_KEYS} keys`)
    this.#space()
    if (this.#text.charCodeAt(this.#at) !== COLON) this.#refuse('expected `:`')
    this.#at++
  }

  #value(): void {
    if (++this.#values > LIMITS.JSON_VALUES + this.#spare)
      this.#refuse(`more than ${LIMITS.JSON_VALUES} values`)
    const code = this.#text.charCodeAt(this.#at)
    if (code === QUOTE) this.#stringValue()
    else if (code === OPEN_OBJECT) this.#enter(new Set(), CLOSE_OBJECT)
    else if (code === OPEN_ARRAY) this.#enter(null, CLOSE_ARRAY)
    else if (code === MINUS || (code >= ZERO && code <= NINE)) this.#number()
    else this.#word()
  }

  #enter(keys: Set<string> | null, close: number): void {
    if (this.#open.length >= LIMITS.JSON_DEPTH) this.#refuse(`nested deeper than ${LIMITS.JSON_DEPTH}`)
    this.#at++
    this.#space()
    if (this.#text.charCodeAt(this.#at) === close) {
      this.#at++
      return
    }
    this.#open.push(keys)
    this.#member(keys)
  }

  #word(): void {
    const word = ['true', 'false', 'null'].find((one) => this.#text.startsWith(one, this.#at))
    if (word === undefined) this.#refuse('expected a value')
    else this.#at += word.length
  }

  /** Reads the string whose opening quote is at the cursor, and returns it decoded. */
  #string(): string {
    const start = this.#at++
    let escaped = false
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code === QUOTE) break
      if (Number.isNaN(code)) this.#refuse('the string does not end', start)
      if (code < 0x20) this.#refuse('a string contains a control character')
      if (code === BACKSLASH) {
        this.#escape()
        escaped = true
      } else this.#at++
    }
    const raw = this.#text.slice(start + 1, this.#at++)
    const value = escaped ? (JSON.parse(`"${raw}"`) as string) : raw
    if (escaped && !value.isWellFormed()) this.#refuse('a string contains a lone surrogate', start)
    return value
  }

  #stringValue(): void {
    const start = this.#at
    const value = this.#string()
    const isFree = this.#longTextsIn !== undefined && this.#topMember === this.#longTextsIn
    if (!isFree) this.#refuseLong(value, start)
  }

  #refuseLong(value: string, start: number): void {
    if (isLong(value)) this.#refuse(`a string is longer than ${LIMITS.STRING_BYTES} bytes`, start)
  }

  #escape(): void {
    ESCAPE.lastIndex = this.#at
    const match = ESCAPE.exec(this.#text)
    if (match === null) this.#refuse('an escape is not JSON')
    else this.#at += match[0].length
  }

  #number(): void {
    NUMBER.lastIndex = this.#at
    const literal = NUMBER.exec(this.#text)?.[0]
    if (literal === undefined) return this.#refuse('a number is not JSON')
    const why = literal.length > 1 ? lossOf(literal) : undefined
    if (why !== undefined) throw new LossyNumber('invalid_json', placed(why, this.#at))
    this.#at += literal.length
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.#at++
    }
  }

  #refuse(why: string, position = this.#at): never {
    throw refused(why, position)
  }
}

/** The reason why a number would change when parsed as a double; undefined when it would stay the same. */
function lossOf(literal: string): string | undefined {
  if (literal.length > NUMBER_CHARS) return 'a number is too long'
  const value = Number(literal)
  if (!Number.isFinite(value)) return 'a number is too large'
  const digits = significant(literal)
  if (value === 0) return digits === '' ? undefined : 'a number is too small'
  if (/^-?\d+$/.test(literal)) return Number.isSafeInteger(value) ? undefined : 'an integer is beyond 2^53-1'
  return survives(value, digits) ? undefined : 'a number has more digits than a double can hold'
}

/**
 * True when a number survives as a double. A normal double keeps up to 15 digits exactly, and up to 17 digits except
 * for rounding in the last place. A fraction that rounds to zero is lost, and so are digits beyond a subnormal's
 * precision.
 */
function survives(value: number, digits: string): boolean {
  const normal = Math.abs(value) >= SMALLEST_NORMAL
  if (normal && digits.length <= SAFE_DIGITS) return true
  if (digits.length > DOUBLE_DIGITS) return false
  if (significant(value.toPrecision(digits.length)) === digits) return true
  return normal && !Number.isInteger(value)
}

/** The significant decimal digits of a literal, without sign, point, exponent and outer zeros. */
function significant(literal: string): string {
  return literal
    .replace(/[eE].*$/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|0+$/g, '')
}

function shown(key: string): string {
  return key.length > 60 ? `${key.slice(0, 60)}…` : key
}
