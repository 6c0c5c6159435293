import { sha256 } from '../../domain/digest.ts'
import { MAX_SUMMARY_CHARACTERS, MAX_SUMMARY_FIELDS } from '../text/bounds.ts'
import { isFieldProblem, parseField, type FieldProblem } from '../language/fields.ts'
import type { FieldIr } from '../language/rule.ts'
import { didYouMean } from '../text/nearest.ts'
import { showForeign } from '../text/text.ts'
import { SUMMARY_FORMATS, type SummaryFormat } from './formats.ts'
import type { Decimals } from './money.ts'

/**
 * The template of a contract's `summary:`: text, and fields of the payload such as `{amount_cents|money:currency}`. A
 * part in brackets, such as `[, copies to {cc|list}]`, is left out when all its fields are missing or empty.
 */
export interface SummaryTemplate {
  readonly parts: readonly SummaryPart[]
  /** SHA-256 (hex) of the template's text. */
  readonly digest: string
}

export type SummaryPart = SummaryText | SummaryField

export interface SummaryText extends Optional {
  readonly text: string
}

interface Optional {
  /** The number of the part in brackets, if any. */
  readonly within?: number
}

export interface SummaryField extends Optional {
  readonly field: FieldIr
  readonly format?: SummaryFormat
  /** For `money`: the field that contains the currency, or the currency code. */
  readonly currency?: FieldIr | string
  /** For `money`: the decimals that the tool counts, in place of ISO 4217. */
  readonly decimals?: Decimals
}

export type SummaryProblem =
  | { readonly kind: 'summary'; readonly message: string; readonly hint: string }
  | { readonly kind: 'field'; readonly problem: FieldProblem }

export type ParsedSummary =
  | { readonly ok: true; readonly template: SummaryTemplate }
  | { readonly ok: false; readonly problem: SummaryProblem }

/** Matches one piece. Doubled braces and brackets are literal; inside a field's braces, quotes may contain anything. */
const PIECE = /\{\{|\}\}|\[\[|\]\]|\{((?:"(?:[^"\\]|\\.)*"|[^"{}])*)\}|[{}[\]]|[^{}[\]]+/gsu

export function parseSummary(text: string): ParsedSummary {
  const parts: SummaryPart[] = []
  let within: number | undefined
  let brackets = 0
  for (const [piece, inside] of text.matchAll(PIECE)) {
    if (piece === '[' || piece === ']') {
      if ((piece === '[') === (within !== undefined)) return { ok: false, problem: unpaired(piece) }
      within = piece === '[' ? ++brackets : undefined
      continue
    }
    const part = inside === undefined ? literal(piece) : placeholder(inside)
    if ('kind' in part) return { ok: false, problem: part }
    parts.push(within === undefined ? part : { ...part, within })
  }
  const problem = within === undefined ? problemOf(text, parts, brackets) : unpaired('[')
  if (problem) return { ok: false, problem }
  return { ok: true, template: { parts: joined(parts), digest: sha256(text) } }
}

function problemOf(
  text: string,
  parts: readonly SummaryPart[],
  brackets: number,
): SummaryProblem | undefined {
  if (/[\n\t]/.test(text)) return wrong('a summary is one line', 'leave the line breaks and tabs out')
  if (Array.from(text).length > MAX_SUMMARY_CHARACTERS)
    return wrong(
      `a summary has at most ${MAX_SUMMARY_CHARACTERS} characters`,
      'name what a reviewer looks at first',
    )
  if (parts.filter((part) => 'field' in part).length > MAX_SUMMARY_FIELDS)
    return wrong(`a summary has at most ${MAX_SUMMARY_FIELDS} fields`, 'name what a reviewer looks at first')
  const optional = new Set(parts.flatMap((part) => ('field' in part ? (part.within ?? []) : [])))
  if (optional.size < brackets) return wrong('a part in brackets needs a field', OPTIONAL)
  return undefined
}

const wrong = (message: string, hint: string): SummaryProblem => ({ kind: 'summary', message, hint })

const EXAMPLE = 'write a field as `{amount_cents|money:currency}`, and a brace as `{{` or `}}`'

const OPTIONAL =
  'write a part that may be left out as `[, copies to {cc|list}]`, and a bracket as `[[` or `]]`'

const unpaired = (piece: string): SummaryProblem =>
  wrong(`\`${piece}\` has no partner in the summary`, OPTIONAL)

const DOUBLED = ['{{', '}}', '[[', ']]']

function literal(piece: string): SummaryPart | SummaryProblem {
  if (piece === '{' || piece === '}') return wrong(`\`${piece}\` has no partner in the summary`, EXAMPLE)
  return { text: DOUBLED.includes(piece) ? piece.slice(1) : piece }
}

const PLACEHOLDER = /^((?:"(?:[^"\\]|\\.)*"|[^"|])*)(?:\|([^:]*)(?::(.*))?)?$/su

function placeholder(inside: string): SummaryPart | SummaryProblem {
  const [, name = '', format, argument] = PLACEHOLDER.exec(inside) ?? []
  const field = fieldNamed(name)
  if ('kind' in field) return field
  if (format === undefined) return { field }
  const known = SUMMARY_FORMATS.find((one) => one === format)
  if (known === undefined) {
    const hint = didYouMean(format, SUMMARY_FORMATS) ?? `one of ${SUMMARY_FORMATS.join(', ')}`
    return wrong(`\`${showForeign(format)}\` is not a format of a summary`, hint)
  }
  return known === 'money' ? moneyField(field, argument) : withoutArgument(field, known, argument)
}

function withoutArgument(
  field: FieldIr,
  format: SummaryFormat,
  argument: string | undefined,
): SummaryPart | SummaryProblem {
  if (argument === undefined) return { field, format }
  return wrong(`the format \`${format}\` takes nothing behind it`, `write \`|${format}\``)
}

function moneyField(field: FieldIr, argument = ''): SummaryPart | SummaryProblem {
  if (argument === '')
    return wrong(
      '`money` needs a currency',
      'write `|money:currency` for the field, or `|money:USD` for a code',
    )
  const [, named = argument, stated] = STATED.exec(argument) ?? []
  const decimals = stated === undefined ? {} : { decimals: decimalsIn(stated) }
  if (/^[A-Z]{3}$/.test(named)) return { field, format: 'money', currency: named, ...decimals }
  const currency = fieldNamed(named)
  return 'kind' in currency ? currency : { field, format: 'money', currency, ...decimals }
}

/** Decimals behind a currency: `currency:0` or `currency:IDR=0,ISK=2`. */
const STATED = /^(.*):([0-6]|[A-Z]{3}=[0-6](?:,[A-Z]{3}=[0-6])*)$/s

function decimalsIn(stated: string): Decimals {
  if (!stated.includes('=')) return Number(stated)
  return Object.fromEntries(stated.split(',').map((one) => [one.slice(0, 3), Number(one.slice(4))]))
}

/** Reads the name of a payload field, written without `payload.`. */
function fieldNamed(text: string): FieldIr | SummaryProblem {
  if (text.trim() === '') return wrong('a field of the summary has no name', EXAMPLE)
  const field = parseField(text.startsWith('[') ? `payload${text}` : `payload.${text}`)
  return isFieldProblem(field) ? { kind: 'field', problem: field } : field
}

/** Joins adjacent texts, because literal braces and brackets are separate pieces. */
function joined(parts: readonly SummaryPart[]): readonly SummaryPart[] {
  const found: SummaryPart[] = []
  for (const part of parts) {
    const last = found.at(-1)
    if (last && 'text' in last && 'text' in part && last.within === part.within)
      found[found.length - 1] = { ...last, text: last.text + part.text }
    else found.push(part)
  }
  return found
}
