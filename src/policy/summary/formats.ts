import type { JsonValue } from '../../contract/json.ts'
import { cutBefore } from '../../domain/shorten.ts'
import { applyFunction } from '../language/functions.ts'
import type { FunctionName } from '../language/function-names.ts'
import type { Values } from '../schema/possible.ts'
import { type Decimals, formatMoney } from './money.ts'
import { plainText, SHOWN_CHARACTERS } from './plain.ts'

/**
 * The formats of a value in a summary. A value that a format cannot read becomes plain text. With a single locale,
 * reviewers, evidence and chats see the same text.
 */
export const SUMMARY_FORMATS = ['money', 'bytes', 'count', 'list', 'host', 'path', 'date', 'short'] as const
export type SummaryFormat = (typeof SUMMARY_FORMATS)[number]

const SHORT_CHARACTERS = 30
const LISTED = 3

/** The values that a format reads beside its own. */
export interface FormatContext {
  /** For `money`. */
  readonly currency?: JsonValue | undefined
  readonly decimals?: Decimals | undefined
  /** For `list`: the indexes of entries that made a rule fire. */
  readonly deciding?: readonly number[]
}

export function formatValue(
  format: SummaryFormat | undefined,
  value: JsonValue,
  { currency, decimals, deciding }: FormatContext = {},
): string {
  if (format === 'money') return money(value, currency, decimals)
  if (format === 'list' && Array.isArray(value)) return list(value as readonly JsonValue[], deciding)
  return (format && FORMATS[format](value)) ?? plainText(value)
}

/** True for a format that shows only the size of such a value, so that it may show a sensitive one. */
export const showsOnlySize = (format: SummaryFormat | undefined, value: JsonValue): boolean =>
  (format === 'bytes' && typeof value === 'string') ||
  (format === 'count' && typeof value === 'object' && value !== null)

const isNumberOrText = ({ numbers, texts }: Values): boolean => numbers !== undefined || texts !== undefined
const READS_TEXT = { what: 'text', fits: ({ texts }: Values): boolean => texts !== undefined }

/** The values that each format can read, and the name of these values in messages. */
export const READS: Readonly<
  Record<SummaryFormat, { readonly what: string; readonly fits: (values: Values) => boolean }>
> = {
  money: { what: 'a number', fits: ({ numbers }) => numbers !== undefined },
  bytes: { what: 'a number or text', fits: isNumberOrText },
  count: {
    what: 'a list, a mapping or a number',
    fits: ({ lists, objects, numbers }) => lists !== undefined || objects || numbers !== undefined,
  },
  list: { what: 'a list', fits: ({ lists }) => lists !== undefined },
  host: READS_TEXT,
  path: READS_TEXT,
  date: { what: 'text or a number', fits: isNumberOrText },
  short: READS_TEXT,
}

const FORMATS: Readonly<Record<Exclude<SummaryFormat, 'money'>, (value: JsonValue) => string | undefined>> = {
  list: () => undefined,
  bytes: (value) => {
    if (typeof value === 'string') return bytes(Buffer.byteLength(value))
    return isCount(value) ? bytes(value) : undefined
  },
  count: (value) => {
    if (isCount(value)) return COUNT.format(value)
    return typeof value === 'object' && value !== null ? COUNT.format(Object.keys(value).length) : undefined
  },
  host: (value) => read('host', value),
  path: (value) => read('path', value),
  date,
  short: (value) => plainText(value, SHORT_CHARACTERS),
}

/** True for a whole number from 0 to 2^53 - 1. */
const isCount = (value: JsonValue): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/**
 * Returns a function's result as text, shortened at the start, because the end of a path or a host is its most
 * informative part.
 */
function read(name: FunctionName, value: JsonValue): string | undefined {
  const found = applyFunction(name, value)
  return typeof found === 'string' ? plainText(cutBefore(found, SHOWN_CHARACTERS)) : undefined
}

/**
 * Formats an amount. Without a known currency, prints plain digits, because the position of the decimal point is
 * unknown.
 */
function money(value: JsonValue, currency: JsonValue | undefined, decimals?: Decimals): string {
  if (typeof value !== 'number' || typeof currency !== 'string') return plainText(value)
  return (
    formatMoney(value, currency, decimals) ?? `${plainText(value)} ${plainText(currency, SHORT_CHARACTERS)}`
  )
}

const COUNT = new Intl.NumberFormat('en')

const BYTE_UNITS = ['kilobyte', 'megabyte', 'gigabyte', 'terabyte', 'petabyte'] as const
const BYTES = new Intl.NumberFormat('en', { style: 'unit', unit: 'byte', unitDisplay: 'long' })
const LARGE_BYTES = BYTE_UNITS.map(
  (unit) =>
    new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 1 }),
)
const KILO = 1_000

/** Formats bytes in powers of a thousand. */
function bytes(count: number): string {
  if (count < KILO) return BYTES.format(count)
  const power = Math.min(Math.floor(Math.log10(count) / 3), BYTE_UNITS.length)
  return LARGE_BYTES[power - 1]?.format(count / KILO ** power) ?? String(count)
}

const LIST = new Intl.ListFormat('en', { type: 'conjunction' })

/** Lists three items, of which the deciding ones are first, and counts the rest. */
function list(items: readonly JsonValue[], deciding: readonly number[] = []): string {
  if (items.length === 0) return '[]'
  const order = [...new Set([...deciding, ...items.slice(0, LISTED + deciding.length).keys()])]
  const first = order
    .flatMap((index) => (index < items.length ? [items[index] ?? null] : []))
    .slice(0, LISTED)
  const shown = first.map((item) => plainText(item, SHORT_CHARACTERS))
  const more = items.length - shown.length
  return LIST.format(more > 0 ? [...shown, `${COUNT.format(more)} more`] : shown)
}

const INSTANT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/
const DAY = new Intl.DateTimeFormat('en', {
  timeZone: 'UTC',
  year: 'numeric',
  month: 'short',
  day: 'numeric',
})
const TIME = new Intl.DateTimeFormat('en', {
  timeZone: 'UTC',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
/**
 * Smaller numbers are seconds since 1970; others are ms. As seconds, 1e11 is in the year 5138; as ms, it is in 1973.
 */
const FIRST_MS = 1e11
const LAST_MS = 8.64e15

/** Formats an RFC 3339 date, or an instant in UTC; undefined for an instant without an offset, which is ambiguous. */
function date(value: JsonValue): string | undefined {
  if (typeof value === 'string') {
    const [whole, time] = INSTANT.exec(value) ?? []
    const at = whole === undefined ? Number.NaN : Date.parse(whole)
    if (Number.isNaN(at) || (time === undefined && !isDay(value, at))) return undefined
    return time === undefined ? DAY.format(at) : instant(at)
  }
  if (typeof value !== 'number') return undefined
  const at = Math.abs(value) < FIRST_MS ? value * 1_000 : value
  return Math.abs(at) <= LAST_MS ? instant(at) : undefined
}

/** Returns false for `2026-02-30`, which Date.parse may read as a day in March. */
const isDay = (text: string, at: number): boolean => new Date(at).toISOString().startsWith(text)

const instant = (at: number): string => `${DAY.format(at)}, ${TIME.format(at)} UTC`
