import { didYouMean } from '../text/nearest.ts'
import type { Doc } from '../yaml/parse.ts'
import type { Reader } from '../yaml/shape.ts'
import type { Scalar } from '../language/compiled-test.ts'
import { factOf, type Fact, type FieldRoot } from '../language/facts.ts'
import { OPERATORS, type Test } from '../language/operators.ts'

type Known = { readonly among: readonly unknown[] } | { readonly min: number; readonly max: number }

/** Returns the values of a fact that are the same for every bundle: a list, or a range of whole numbers. */
export function knownValues({
  schema: { enum: among, minimum: min, maximum: max },
}: Fact): Known | undefined {
  if (Array.isArray(among)) return { among: among as readonly unknown[] }
  return typeof min === 'number' && typeof max === 'number' ? { min, max } : undefined
}

/** Reports every literal that a fact with known values never equals. */
export function checkKnownValues(
  reader: Reader,
  at: Doc,
  { root, test }: { readonly root: FieldRoot; readonly test: Test },
): void {
  const fact = factOf(root)
  const known = fact && knownValues(fact)
  if (known === undefined) return
  for (const literal of literals(test)) {
    if ('among' in known) checkAmong(reader, at, { root, literal, among: known.among.map(String) })
    else checkNumber(reader, at, { root, literal, ...known })
  }
}

interface Checked {
  readonly root: FieldRoot
  readonly literal: Literal
}

function checkAmong(
  reader: Reader,
  at: Doc,
  { root, literal: { value }, among }: Checked & { readonly among: readonly string[] },
): void {
  if (among.some((one) => one === value)) return
  const hint = didYouMean(String(value), among) ?? `one of ${among.join(', ')}`
  reader.report('bad-value', at, `\`${String(value)}\` is never a value of ${root}`, hint)
}

/** Checks a whole number. `under: 24` is valid for hours, for a span that lasts until the end of the day. */
function checkNumber(
  reader: Reader,
  at: Doc,
  { root, literal: { op, value }, min, max }: Checked & { readonly min: number; readonly max: number },
): void {
  const number = Number.isInteger(value) ? Number(value) : Number.NaN
  if (!(number >= min && number <= (op === 'under' ? max + 1 : max))) {
    const hint = `a whole number from ${min} to ${max}`
    reader.report('bad-value', at, `\`${String(value)}\` is never a value of ${root}`, hint)
  } else if ((op === 'over' && number === max) || (op === 'under' && number === min)) {
    const range = op === 'over' ? `at most ${max}` : `at least ${min}`
    reader.report('literal-range', at, `\`${op}\` ${number} never holds: \`${root}\` is ${range}`)
  }
}

interface Literal {
  readonly op: Test['op']
  readonly value: Scalar
}

/** Returns the literals of a test, except literals of string tests and list lengths. */
function literals(test: Test): readonly Literal[] {
  if ('tests' in test) return test.tests.flatMap(literals)
  if ('test' in test) return OPERATORS[test.op].operand === 'length test' ? [] : literals(test.test)
  if ('value' in test) return [test]
  const { op } = test
  return 'values' in test && OPERATORS[op].operand === 'scalars'
    ? test.values.map((value) => ({ op, value }))
    : []
}
