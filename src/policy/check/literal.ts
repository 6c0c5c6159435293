import type { DiagnosticCode } from '../report/diagnostics.ts'
import { isMultiple } from '../schema/multiple.ts'
import { literalParts } from '../language/glob.ts'
import type { Scalar } from '../language/compiled-test.ts'
import { compileTest, cutsOf, type NameWith } from '../language/operators.ts'
import { nearest } from '../text/nearest.ts'
import {
  fitsLength,
  inRange,
  lengthOf,
  numberPoints,
  type Numbers,
  type Texts,
  type Values,
} from '../schema/possible.ts'
import { FALSE, TRUE } from '../language/truth.ts'
import { describeAmong, describeKinds, describeLength, describeRange } from '../schema/possible-words.ts'

/** The name of a field in messages, its possible values, and the lists of the bundle. */
export interface Fitting {
  readonly name: string
  readonly values: Values
  readonly lists: ReadonlyMap<string, readonly Scalar[]>
}

/** The reason why a test does not fit. */
export interface Problem {
  readonly code: DiagnosticCode
  readonly message: string
  readonly hint?: string | undefined
}

/**
 * Returns the reason why a field can never equal a literal, or undefined. The parser already reported numbers that are
 * not finite.
 */
export function fitLiteral({ name, values }: Fitting, value: Scalar): Problem | undefined {
  if (typeof value === 'string')
    return values.texts ? equalsText(name, values.texts, value) : wrongKind(name, values, value)
  if (typeof value === 'number' && !Number.isFinite(value)) return undefined
  if (typeof value === 'number')
    return values.numbers ? equalsNumber(name, values.numbers, value) : wrongKind(name, values, value)
  if (values.booleans.length === 0) return wrongKind(name, values, value)
  if (values.booleans.includes(value)) return undefined
  return { code: 'literal-enum', message: `${name} is never ${String(value)}` }
}

function wrongKind(name: string, values: Values, value: Scalar): Problem {
  const quoted = typeof value !== 'string' && values.texts !== undefined
  const bare =
    typeof value === 'string' &&
    value.trim() !== '' &&
    (values.booleans.length > 0
      ? value === 'true' || value === 'false'
      : values.numbers !== undefined && Number.isFinite(Number(value)))
  const hint = quoted ? 'put it in quotes' : bare ? 'write it without quotes' : undefined
  const shown = typeof value === 'string' ? 'text' : typeof value === 'number' ? 'a number' : 'true or false'
  return {
    code: 'literal-type',
    message: `\`${String(value)}\` is ${shown}, but ${name} is ${describeKinds(values)}`,
    hint,
  }
}

function equalsText(name: string, texts: Texts, value: string): Problem | undefined {
  if (texts.among) {
    if (texts.among.includes(value)) return undefined
    const near = nearest(value, texts.among)
    return {
      code: 'literal-enum',
      message: `${name} is never \`${value}\`: it is one of ${describeAmong(texts.among)}`,
      hint: near === undefined ? undefined : `did you mean \`${near}\`?`,
    }
  }
  if (!isAscii(value)) return undefined
  if (!fitsLength(texts, value))
    return {
      code: 'literal-form',
      message: `${name} is never \`${value}\`: it is ${describeLength(texts)}`,
    }
  const form = texts.forms.find((one) => !one.fits(value))
  const hint = value.includes('*') ? `for any run of characters, write \`{ like: ${value} }\`` : undefined
  return (
    form && {
      code: 'literal-form',
      message: `${name} is never \`${value}\`, which is not ${form.name}`,
      hint,
    }
  )
}

/**
 * Returns true for printable ASCII. Tests read text in NFC, and contracts read raw text. For ASCII, raw text and NFC
 * are equal.
 */
function isAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}

function equalsNumber(name: string, numbers: Numbers, value: number): Problem | undefined {
  if (numbers.among) {
    if (numbers.among.includes(value)) return undefined
    return {
      code: 'literal-enum',
      message: `${name} is never ${value}: it is one of ${describeAmong(numbers.among)}`,
    }
  }
  if (inRange(numbers, value)) return undefined
  return { code: 'literal-range', message: `${name} is never ${value}: it is ${missedBy(numbers, value)}` }
}

/** Describes the numbers that the field can have. */
function missedBy(numbers: Numbers, value: number): string {
  const { integer, step } = numbers
  if (integer && !Number.isInteger(value)) return 'a whole number'
  return step !== undefined && !isMultiple(value, step) ? `a multiple of ${step}` : describeRange(numbers)
}

interface Comparison {
  readonly op: NameWith<'number'>
  readonly limit: number
}

/**
 * Returns the problem of a comparison that is false, or true, for all numbers of the field. A limit equal to a bound is
 * fine.
 */
export function fitNumber(name: string, numbers: Numbers, comparison: Comparison): Problem | undefined {
  const settled = settledBy(numbers, comparison)
  if (settled === undefined || !Number.isFinite(comparison.limit)) return undefined
  const { op, limit } = comparison
  const range = numbers.among ? `one of ${describeAmong(numbers.among)}` : describeRange(numbers)
  return {
    code: 'literal-range',
    message: `\`${op}\` ${limit} ${settled ? 'always' : 'never'} holds: ${name} is ${range}`,
  }
}

/**
 * Returns the result of the comparison for every number of the range. Undefined when the result varies, or when the
 * comparison is true at a bound.
 */
function settledBy({ min, minOpen, max, maxOpen }: Numbers, { op, limit }: Comparison): boolean | undefined {
  const test = compileTest({ op, value: limit })
  const points = numberPoints({ integer: false, min, minOpen, max, maxOpen }, [limit])
  if (points.every((point) => test(point) === FALSE)) return false
  return points.every((point) => test(point) === TRUE) && limit !== min && limit !== max ? true : undefined
}

/** Returns the problem of a string test that no value of the field passes, or that every string passes. */
export function fitPart(
  { name, values }: Fitting,
  op: NameWith<'texts'> | 'contains',
  part: string,
): Problem | undefined {
  const { texts } = values
  if (texts === undefined) return undefined
  if (part === '') return { code: 'bad-value', message: `\`${op}\` of an empty text holds for every text` }
  if (texts.among) {
    const test = compileTest({ op, values: [part] })
    if (texts.among.some((text) => test(text) === TRUE)) return undefined
    return {
      code: 'literal-enum',
      message: `\`${op}\` \`${part}\` never holds: ${name} is one of ${describeAmong(texts.among)}`,
    }
  }
  const [glob] = cutsOf({ op, values: [part] }).globs ?? []
  if (glob === undefined) return undefined
  const literal = literalParts(glob).join('')
  if (isAscii(literal) && lengthOf(literal) > texts.max)
    return {
      code: 'literal-form',
      message: `\`${op}\` \`${part}\` never holds: ${name} is ${describeLength(texts)}`,
    }
  const lower = texts.forms.find((form) => form.lowerCase)
  if (!lower || !/[A-Z]/.test(literal)) return undefined
  return {
    code: 'literal-form',
    message: `\`${op}\` \`${part}\` never holds: ${name} is ${lower.name}`,
    hint: `write \`${part.toLowerCase()}\``,
  }
}
