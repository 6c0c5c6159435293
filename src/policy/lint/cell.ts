import type { JsonValue } from '../../contract/json.ts'
import { UNREADABLE } from '../language/fields.ts'
import type { Applied } from '../language/functions.ts'
import type { TestIr } from '../language/rule.ts'
import { allOf, anyOf, FALSE, not, TRUE, truthOf, UNKNOWN, type Truth } from '../language/truth.ts'
import { compileTest, type Test } from '../language/operators.ts'
import type { TextAtom } from './text.ts'

/**
 * One of finitely many ways a field can be, as far as a set of tests can tell: within a cell every test has one answer.
 * The cells of a field cover all values its contract permits, and perhaps more.
 */
export type Cell = ExactCell | OtherTextCell | ListCell

/** One value, which stands for all that the tests cannot tell from it. */
export interface ExactCell {
  readonly kind: 'exact'
  readonly value: Applied
}

/** A text that equals no literal of the tests: of each part that they look for it says whether it is there. */
export interface OtherTextCell {
  readonly kind: 'text'
  readonly holds: ReadonlySet<TextAtom>
  readonly atomsOf: (test: TestIr) => readonly TextAtom[]
}

/** A list of which is known how long it is, and which cells its entries come from. */
export interface ListCell {
  readonly kind: 'list'
  readonly length: number
  readonly entries: readonly Cell[]
}

/** Answers a test for a cell. Equal tests are compiled once. */
export interface CellTruth {
  of(test: TestIr, cell: Cell): Truth
  ofValue(test: TestIr, value: Applied): Truth
}

export function createCellTruth(): CellTruth {
  const compiled = new WeakMap<TestIr, Test>()

  function ofValue(test: TestIr, value: Applied): Truth {
    const known = compiled.get(test)
    if (known) return known(value)
    const made = compileTest(test)
    compiled.set(test, made)
    return made(value)
  }

  function of(test: TestIr, cell: Cell): Truth {
    if (cell.kind === 'exact') return ofValue(test, cell.value)
    if (test.op === 'and') return allOf(test.tests, of, cell)
    if (test.op === 'not') return not(of(test.test, cell))
    if (test.op === 'missing' || test.op === 'null') return FALSE
    if (test.op === 'present') return TRUE
    return cell.kind === 'text' ? ofText(test, cell) : ofList(test, cell)
  }

  function ofList(test: TestIr, { entries, length }: ListCell): Truth {
    if (test.op === 'count') return ofValue(test.test, length)
    if (test.op === 'contains') return anyOf(entries, (entry) => of(memberTest(test), entry), undefined)
    if (test.op !== 'some' && test.op !== 'every' && test.op !== 'none') return UNKNOWN
    const answer = (entry: Cell): Truth => of(test.test, entry)
    if (test.op === 'every') return length === 0 ? UNKNOWN : allOf(entries, answer, undefined)
    const found = anyOf(entries, answer, undefined)
    return test.op === 'some' ? found : not(found)
  }

  return { of, ofValue }
}

function ofText(test: TestIr, { holds, atomsOf }: OtherTextCell): Truth {
  if (test.op === 'is') return test.values.some((value) => typeof value === 'string') ? FALSE : UNKNOWN
  const atoms = atomsOf(test)
  return atoms.length === 0 ? UNKNOWN : truthOf(atoms.some((atom) => holds.has(atom)))
}

const members = new WeakMap<TestIr, TestIr>()

/** What `contains` asks of each entry of a list: the same test every time, so that it is compiled once. */
export function memberTest(test: Extract<TestIr, { op: 'contains' }>): TestIr {
  const known = members.get(test)
  if (known) return known
  const made: TestIr = { op: 'is', values: test.values }
  members.set(test, made)
  return made
}

export function exact(value: Applied): ExactCell {
  return { kind: 'exact', value }
}

export const UNREADABLE_CELL = exact(UNREADABLE)
export const NULL_CELL = exact(null)
/** No test but presence reads an object: one stands for all. */
export const OBJECT_CELL = exact({} as JsonValue)
