import { isComparable } from '../../domain/normal-form.ts'
import { MISSING, UNREADABLE, type Applied } from './reading.ts'
import type { Scalar } from './compiled-test.ts'
import { describeEntry } from './entries.ts'
import { OPERATORS, type Test } from './operators.ts'

/** The maximum number of values that a description lists. The description counts the other values. */
const MOST_WORDS = 50

/** Describes a test in words: `over 5000`, `some is one of cat, ls`. */
export function describeTest(test: Test): string {
  const { op } = test
  if ('tests' in test) return test.tests.map(describeTest).join(' and ')
  if ('match' in test) return `(${describeEntry(test.match, describeTest)})`
  if ('where' in test && test.where) return `${op} of ${describeTest(test.where)} ${describeTest(test.test)}`
  if ('test' in test) return `${op} ${describeTest(test.test)}`
  if ('value' in test) return `${op} ${test.value}`
  const texts = 'values' in test ? shortened(test.values) : []
  return OPERATORS[op].words?.(texts) ?? [op, texts.join(' or ')].join(' ').trimEnd()
}

function shortened(values: readonly Scalar[]): readonly string[] {
  const texts = values.slice(0, MOST_WORDS).map(String)
  return values.length > MOST_WORDS ? [...texts, `${values.length - MOST_WORDS} more`] : texts
}

/** Returns the reason why a test is UNKNOWN for a value, without the value. */
export function describeUnknown(test: Test, value: Applied): string {
  if (value === MISSING) return 'missing'
  if (value === UNREADABLE) return 'unreadable'
  if (value === null) return 'null'
  if (typeof value === 'string' && !isComparable(value)) return 'too many marks on one letter'
  if (test.op === 'not') return describeUnknown(test.test, value)
  const { of, unreadable } = OPERATORS[test.op]
  if (typeof value === 'string' && unreadable !== undefined) return unreadable
  if (of === 'list') return describeList(value)
  return of === 'number' ? 'not a number' : of === 'text' ? 'not text' : 'of another type'
}

function describeList(value: Applied): string {
  if (!Array.isArray(value)) return 'not a list'
  return value.length === 0 ? 'an empty list' : 'an entry is unreadable'
}
