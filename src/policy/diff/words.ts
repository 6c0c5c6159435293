import type { JsonValue } from '../../contract/json.ts'
import { MISSING } from '../language/reading.ts'
import { OPERATORS, type Operand, type Test } from '../language/operators.ts'
import { testsIn } from '../language/test-parts.ts'
import type { Box } from './boxes.ts'
import type { Dimension, Value } from './dimension.ts'
import { describeByTests } from './cubes.ts'
import { numberRanges } from './ranges.ts'

/** Describes a box in terms of fields: `when payload.amount in {5001..20000} and payload.reason is fraudulent`. */
export function describeBox(box: Box, dimensions: readonly Dimension[]): string {
  const parts = dimensions.flatMap((dimension, i) => {
    const classes = box.get(i)
    if (dimension.name === 'risk_level' && classes?.join() === LOW) return []
    return classes ? [describeClasses(dimension, new Set(classes))] : []
  })
  return parts.length === 0 ? 'always' : `when ${parts.join(' and ')}`
}

/** The risk_level that descriptions omit. */
const LOW = '0'

export function describeClasses(dimension: Dimension, chosen: ReadonlySet<number>): string {
  return isPlain(dimension) ? describeValues(dimension, chosen) : describeByTests(dimension, chosen)
}

/** Returns true when all tests read the field itself and compare it for equality or size. */
function isPlain({ name, leaves }: Dimension): boolean {
  return leaves.every(
    ({ field, test }) =>
      field !== 'date' && field.name === name && field.fn === undefined && test && isPlainTest(test),
  )
}

function isPlainTest(test: Test): boolean {
  return [...testsIn(test)].every(({ op }) => op === 'is' || PLAIN.includes(OPERATORS[op].operand))
}

const PLAIN: readonly Operand[] = ['none', 'number', 'test', 'tests']

interface Sorted {
  /** Values that are listed individually. */
  readonly named: ReadonlySet<string>
  readonly numbers: readonly number[]
  /** Kinds of the values that are not listed. */
  readonly kinds: ReadonlySet<string>
}

function describeValues(dimension: Dimension, chosen: ReadonlySet<number>): string {
  const { name } = dimension
  const inside = sortOut(dimension, (number) => chosen.has(number))
  const outside = sortOut(dimension, (number) => !chosen.has(number))
  if (holdsOnlyMissing(outside)) return `${name} present`
  const hasNamed = inside.named.size + outside.named.size > 0
  const others = otherKinds(inside, hasNamed)
  const ranges = numberRanges({
    inside: inside.numbers,
    outside: outside.numbers,
    isThreshold: (number) => dimension.named.has(number),
  })
  const items = [...ranges, ...[...inside.named].map(showText), ...others]
  const onlyOthers = items.length === 1 && inside.kinds.has('text')
  if (onlyOthers && outside.named.size > 0 && outside.named.size <= MAX_EXCEPTIONS)
    return `${name} other than ${[...outside.named].map(showText).join(', ')}`
  const [only = ''] = items
  if (items.length > 1 || ranges.length === 1) return `${name} in {${items.join(', ')}}`
  return inside.kinds.has('missing') ? `${name} missing` : `${name} is ${only}`
}

const MAX_EXCEPTIONS = 12

function holdsOnlyMissing({ named, numbers, kinds }: Sorted): boolean {
  return named.size + numbers.length === 0 && kinds.size === 1 && kinds.has('missing')
}

function otherKinds({ kinds }: Sorted, hasNamed: boolean): readonly string[] {
  return [...kinds].map((kind) => (kind === 'text' ? (hasNamed ? 'any other text' : 'text') : kind))
}

function sortOut({ classes, named }: Dimension, belongs: (number: number) => boolean): Sorted {
  const members = classes.filter(({ number }) => belongs(number)).flatMap((one) => one.members)
  const found = { named: new Set<string>(), numbers: [] as number[], kinds: new Set<string>() }
  for (const member of members) {
    if (typeof member === 'number') found.numbers.push(member)
    else if (typeof member === 'boolean') found.named.add(String(member))
    else if (typeof member === 'string' && named.has(member)) found.named.add(member)
    else found.kinds.add(kindOf(member))
  }
  return found
}

function kindOf(value: Value): string {
  if (value === MISSING) return 'missing'
  if (typeof value === 'string') return 'text'
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : 'an object'
}

/** Returns text as a policy writes it, without quotes where they are unnecessary. */
function showText(text: string): string {
  return /^[\p{L}\p{N}_./@:*$-]+( [\p{L}\p{N}_./@:*$-]+)*$/u.test(text) ? text : JSON.stringify(text)
}

const MAX_EXAMPLE = 160

/** Returns a payload on one line, shortened to MAX_EXAMPLE. */
export function showExample(value: JsonValue): string {
  const text = JSON.stringify(value)
  return text.length <= MAX_EXAMPLE ? text : `${text.slice(0, MAX_EXAMPLE)}...`
}
