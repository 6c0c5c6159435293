import { isComparable } from '../../domain/normal-form.ts'
import { MISSING, UNREADABLE } from './fields.ts'
import type { Applied } from './functions.ts'
import type { TestIr } from './rule.ts'

/** Of a list with more values than these the rest is counted. */
const MOST_WORDS = 50

/** A test in words: `over 5000`, `some is one of cat, ls`. */
export function describeTest(test: TestIr): string {
  if ('tests' in test) return test.tests.map(describeTest).join(' and ')
  if ('test' in test) return `${test.op} ${describeTest(test.test)}`
  if ('value' in test) return `${test.op} ${test.value}`
  if (test.op === 'null') return 'is null'
  if (!('values' in test)) return test.op
  const texts = test.values.slice(0, MOST_WORDS).map(String)
  if (test.values.length > MOST_WORDS) texts.push(`${test.values.length - MOST_WORDS} more`)
  if (test.op !== 'is') return `${test.op} ${texts.join(' or ')}`
  return texts.length === 1 ? `is ${texts[0]}` : `is one of ${texts.join(', ')}`
}

/** Why a test was UNKNOWN for a value, without the value. */
export function describeUnknown(test: TestIr, value: Applied): string {
  if (value === MISSING) return 'missing'
  if (value === UNREADABLE) return 'unreadable'
  if (value === null) return 'null'
  if (typeof value === 'string' && !isComparable(value)) return 'too many marks on one letter'
  if ('test' in test) return test.op === 'not' ? describeUnknown(test.test, value) : describeList(value)
  if ('value' in test) return 'not a number'
  return 'values' in test && test.op !== 'is' && test.op !== 'contains' ? 'not text' : 'of another type'
}

function describeList(value: Applied): string {
  if (!Array.isArray(value)) return 'not a list'
  return value.length === 0 ? 'an empty list' : 'an entry is unreadable'
}
