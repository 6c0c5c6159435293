import { MISSING, UNREADABLE } from './fields.ts'
import type { Applied } from './functions.ts'
import type { TestIr } from './ir.ts'

/** A test in words: `over 5000`, `some is one of cat, ls`. */
export function describeTest(test: TestIr): string {
  switch (test.op) {
    case 'missing':
    case 'present':
      return test.op
    case 'is':
      return test.values.length === 1
        ? `is ${String(test.values[0])}`
        : `is one of ${test.values.map(String).join(', ')}`
    case 'contains':
    case 'starts_with':
    case 'ends_with':
    case 'like':
    case 'matches':
      return `${test.op} ${test.values.map(String).join(' or ')}`
    case 'over':
    case 'at_least':
    case 'under':
    case 'at_most':
      return `${test.op} ${test.value}`
    case 'and':
      return test.tests.map(describeTest).join(' and ')
    case 'not':
    case 'some':
    case 'every':
    case 'none':
    case 'count':
      return `${test.op} ${describeTest(test.test)}`
  }
}

/** Why a test was UNKNOWN for a value, without the value. */
export function describeUnknown(test: TestIr, value: Applied): string {
  if (value === MISSING) return 'missing'
  if (value === UNREADABLE) return 'unreadable'
  switch (test.op) {
    case 'over':
    case 'at_least':
    case 'under':
    case 'at_most':
      return 'not a number'
    case 'starts_with':
    case 'ends_with':
    case 'like':
    case 'matches':
      return 'not text'
    case 'not':
      return describeUnknown(test.test, value)
    case 'some':
    case 'every':
    case 'none':
    case 'count':
      return describeList(value)
    case 'missing':
    case 'present':
    case 'is':
    case 'contains':
    case 'and':
      return 'of another type'
  }
}

function describeList(value: Applied): string {
  if (!Array.isArray(value)) return 'not a list'
  return value.length === 0 ? 'an empty list' : 'an entry is unreadable'
}
