import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { type Heading, headingOf, type HeadingSegment } from '../../domain/heading.ts'
import { MISSING, UNREADABLE, walk, type Reading } from '../language/reading.ts'
import type { FieldIr } from '../language/rule.ts'
import { isSensitive } from '../language/sensitive.ts'
import type { ToolContract } from '../language/snapshot.ts'
import { formatValue, showsOnlySize } from './formats.ts'
import { plainText } from './plain.ts'
import type { SummaryField, SummaryPart, SummaryTemplate } from './template.ts'

/** The maximum length of an exact value next to its text. For longer values, reviewers see the payload. */
const EXACT_CHARACTERS = 160
const NO_VALUE = '(none)'
/** The maximum number of fields in a heading without a template. */
const NAMED_FIELDS = 6

export interface Summarising {
  readonly contract: Pick<ToolContract, 'name' | 'sensitive'>
  readonly payload: JsonObject
  /** The places that made the deciding rules fire: `payload.to[2]`. */
  readonly places: readonly string[]
  /** Returns the replacement of a sensitive value. */
  readonly tag: (value: JsonValue) => string
}

/**
 * Fills the template with values from any payload, even a payload that does not fit the contract. Sensitive values
 * become tags.
 */
export function renderSummary({ parts, digest }: SummaryTemplate, call: Summarising): Heading {
  return headingOf(segmentsOf(parts, call), digest)
}

/** Creates a heading without a template, from the tool's name and the fields that the deciding rules read. */
export function renderDefault(fields: readonly FieldIr[], call: Summarising): Heading {
  const parts = fields.slice(0, NAMED_FIELDS).flatMap((field, i): SummaryPart[] => {
    const name = field.name.replace(/^payload\.?/, '')
    return [{ text: `${i === 0 ? ': ' : ', '}${name} ` }, { field }]
  })
  const more = fields.length - NAMED_FIELDS
  const rest: SummaryPart[] = more > 0 ? [{ text: `, and ${more} more` }] : []
  return headingOf(segmentsOf([{ text: call.contract.name }, ...parts, ...rest], call))
}

function segmentsOf(parts: readonly SummaryPart[], call: Summarising): HeadingSegment[] {
  // a part with one value shows all its fields, because the words around them belong together
  const kept = new Set(
    parts.flatMap((part) => ('field' in part && !isEmpty(part, call) ? [part.within] : [])),
  )
  const shown = parts.filter(({ within }) => within === undefined || kept.has(within))
  return withoutRepeats(
    shown.map((part) => ('field' in part ? fieldSegment(part, call) : { text: part.text })),
  )
}

/** Leaves out exact values that the heading shows elsewhere. */
function withoutRepeats(segments: readonly HeadingSegment[]): HeadingSegment[] {
  const texts = new Set(segments.map(({ text }) => text))
  const isElsewhere = (exact: string): boolean => texts.has(exact) || texts.has(plainText(exact))
  return segments.map((one) => {
    const { text, field, exact } = one
    return exact !== undefined && field !== undefined && isElsewhere(exact) ? { field, text } : one
  })
}

/**
 * True for a missing field, an empty text and an empty list. `null` counts as a value. So does any sensitive value,
 * because its absence would reveal that it is empty.
 */
function isEmpty(part: SummaryField, { contract, payload }: Summarising): boolean {
  const value = walk(payload, part.field.path)
  if (value === MISSING) return true
  if (value === UNREADABLE || isHidden(part, contract)) return false
  return value === '' || (Array.isArray(value) && value.length === 0)
}

function isHidden({ field, currency }: SummaryField, { sensitive }: Summarising['contract']): boolean {
  const named = [field.name, ...(typeof currency === 'object' ? [currency.name] : [])]
  return named.some((name) => isSensitive(sensitive, name))
}

/** The members are in RFC 8785 order, which avoids sorting for the digest of a revision. */
function fieldSegment(part: SummaryField, call: Summarising): HeadingSegment {
  const { contract, payload, tag } = call
  const field = part.field.name
  const value = valueAt(payload, part.field)
  if (value === undefined) return { field, missing: true, text: NO_VALUE }
  if (isHidden(part, contract)) {
    const text = showsOnlySize(part.format, value) ? formatValue(part.format, value) : tag(value)
    return { field, sensitive: true, text }
  }
  if (part.within !== undefined && isEmpty(part, call)) return { field, text: NO_VALUE }
  const currency = typeof part.currency === 'object' ? valueAt(payload, part.currency) : part.currency
  const deciding = decidingIn(call, field)
  const text = formatValue(part.format, value, { currency, decimals: part.decimals, deciding })
  const exact = exactOf(value, text)
  return exact === undefined ? { field, text } : { exact, field, text }
}

/** The indexes of the entries of a list that made a rule fire. */
const decidingIn = ({ places }: Summarising, list: string): number[] =>
  places.flatMap((place) =>
    place.startsWith(`${list}[`) ? [Number.parseInt(place.slice(list.length + 1), 10)] : [],
  )

/** Returns the value of a field; `null` counts as a value, so that reviewers see it. */
function valueAt(payload: JsonObject, { path }: FieldIr): JsonValue | undefined {
  const found: Reading = walk(payload, path)
  return found === MISSING || found === UNREADABLE ? undefined : found
}

function exactOf(value: JsonValue, text: string): string | undefined {
  const exact = typeof value === 'string' ? value : JSON.stringify(value)
  const said = exact === text || plainText(value, exact.length) === text
  return said || exact.length > EXACT_CHARACTERS ? undefined : exact
}
