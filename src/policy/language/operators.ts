import { toNfc } from '../../domain/normal-form.ts'
import { MISSING, UNREADABLE } from './fields.ts'
import { SEVERAL_UNREADABLE, type Applied, type AppliedElement } from './functions.ts'
import type { ListTest, NumberTest, Scalar, TestIr, TextTest } from './rule.ts'
import { allOf, anyOf, not, truthOf, UNKNOWN, type Truth } from './truth.ts'
import { compilePattern } from './patterns.ts'
import { compileGlob } from './text.ts'

/** A compiled test. Total: a value of the wrong type, or text that has no normal form, is UNKNOWN, never an exception. */
export type Test = (value: Applied) => Truth

/** Compiles a test of section 3. */
export function compileTest(test: TestIr): Test {
  if ('tests' in test) return compileAnd(test.tests.map(compileTest))
  if ('test' in test) return compileNesting(test.op, compileTest(test.test))
  if ('value' in test) return compileNumber(test.op, test.value)
  if (!('values' in test)) return compilePresence(test.op)
  if (test.op === 'is') return compileIs(test.values)
  if (test.op === 'contains') return compileContains(test.values)
  return compileText(test.op, test.values)
}

function compilePresence(op: 'missing' | 'present' | 'null'): Test {
  if (op === 'null')
    return (value) => (value === UNREADABLE || value === MISSING ? UNKNOWN : truthOf(value === null))
  // whether a tool takes null for a missing argument is for its author to say
  return (value) =>
    value === UNREADABLE || value === null ? UNKNOWN : truthOf((value === MISSING) === (op === 'missing'))
}

function compileNesting(op: 'not' | ListTest, inner: Test): Test {
  return op === 'not' ? (value) => not(inner(value)) : compileList(op, inner)
}

/** True for a test that only asks whether the field is there: it sees the payload as sent, no default stands in. */
export function asksPresence(test: TestIr): boolean {
  if (test.op === 'missing' || test.op === 'present') return true
  if (test.op === 'and') return test.tests.every(asksPresence)
  return test.op === 'not' && asksPresence(test.test)
}

/** True for a test that asks whether the field is null, `not` included: `missing_means` must not hide that from it. */
export function asksNull(test: TestIr): boolean {
  return test.op === 'null' || (test.op === 'not' && asksNull(test.test))
}

function compileAnd(tests: readonly Test[]): Test {
  return (value) => allOf(tests, asked, value)
}

const asked = (test: Test, value: Applied): Truth => test(value)

/** Equal to one of the values. A type that no value has is the wrong type. */
function compileIs(values: readonly Scalar[]): Test {
  const members = new Set<unknown>(values)
  const texts = values.some((value) => typeof value === 'string')
  const numbers = values.some((value) => typeof value === 'number')
  const booleans = values.some((value) => typeof value === 'boolean')
  return (value) => {
    if (typeof value === 'string') return texts ? judge(value, (text) => members.has(text)) : UNKNOWN
    if (typeof value === 'number')
      return numbers && Number.isFinite(value) ? truthOf(members.has(value)) : UNKNOWN
    return typeof value === 'boolean' && booleans ? truthOf(members.has(value)) : UNKNOWN
  }
}

/** Substring of a text, member of a list. */
function compileContains(values: readonly Scalar[]): Test {
  const texts = values.filter((value) => typeof value === 'string')
  const member = compileList('some', compileIs(values))
  return (value) => {
    if (typeof value !== 'string') return member(value)
    if (texts.length === 0) return UNKNOWN
    return judge(value, (text) => texts.some((part) => text.includes(part)))
  }
}

function compileNumber(op: NumberTest, limit: number): Test {
  const compare = NUMBER_TESTS[op]
  return (value) =>
    typeof value === 'number' && Number.isFinite(value) ? truthOf(compare(value, limit)) : UNKNOWN
}

const NUMBER_TESTS: Readonly<Record<NumberTest, (value: number, limit: number) => boolean>> = {
  over: (value, limit) => value > limit,
  at_least: (value, limit) => value >= limit,
  under: (value, limit) => value < limit,
  at_most: (value, limit) => value <= limit,
}

function compileText(op: TextTest, values: readonly string[]): Test {
  const matchers = values.map(TEXT_TESTS[op])
  return (value) => {
    if (typeof value !== 'string') return UNKNOWN
    return judge(value, (text) => matchers.some((matches) => matches(text)))
  }
}

/** What `holds` says of the text in NFC. */
function judge(value: string, holds: (text: string) => boolean): Truth {
  const text = toNfc(value)
  return text === undefined ? UNKNOWN : truthOf(holds(text))
}

const TEXT_TESTS: Readonly<Record<TextTest, (wanted: string) => (text: string) => boolean>> = {
  starts_with: (wanted) => (text) => text.startsWith(wanted),
  ends_with: (wanted) => (text) => text.endsWith(wanted),
  like: compileGlob,
  matches: (wanted) => {
    const compiled = compilePattern(wanted)
    if (!compiled.ok) throw new Error(`pattern passed the check and does not compile: ${compiled.problem}`)
    return (text) => compiled.pattern.test(text)
  },
}

function compileList(op: ListTest, test: Test): Test {
  return (value) => {
    if (!Array.isArray(value)) return UNKNOWN
    const items = value as readonly AppliedElement[]
    if (op === 'count') return items.includes(SEVERAL_UNREADABLE) ? UNKNOWN : test(items.length)
    if (op === 'every') return items.length === 0 ? UNKNOWN : allOf(items, testElement, test)
    const found = anyOf(items, testElement, test)
    return op === 'some' ? found : not(found)
  }
}

function testElement(item: AppliedElement, test: Test): Truth {
  return test(item === SEVERAL_UNREADABLE ? UNREADABLE : item)
}
