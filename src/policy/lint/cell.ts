import type { CompiledTest } from '../language/compiled-test.ts'
import { compileTest, cutsOf, OPERATORS, type Test } from '../language/operators.ts'
import type { JsonValue } from '../../contract/json.ts'
import { UNREADABLE } from '../language/reading.ts'
import type { Applied } from '../language/functions.ts'
import { allOf, not, truthOf, UNKNOWN, type Truth } from '../language/truth.ts'
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
  readonly atomsOf: (test: Test) => readonly TextAtom[]
}

/** A list of which is known how long it is, and which cells its entries come from. */
export interface ListCell {
  readonly kind: 'list'
  readonly length: number
  readonly entries: readonly Cell[]
}

/** Answers a test for a cell. Equal tests are compiled once. */
export interface CellTruth {
  of(test: Test, cell: Cell): Truth
  ofValue(test: Test, value: Applied): Truth
}

export function createCellTruth(): CellTruth {
  const compiled = new WeakMap<Test, CompiledTest>()

  function ofValue(test: Test, value: Applied): Truth {
    const known = compiled.get(test)
    if (known) return known(value)
    const made = compileTest(test)
    compiled.set(test, made)
    return made(value)
  }

  function of(test: Test, cell: Cell): Truth {
    if (cell.kind === 'exact') return ofValue(test, cell.value)
    if (test.op === 'and') return allOf(test.tests, of, cell)
    if (test.op === 'not') return not(of(test.test, cell))
    // Any text, or list, that is there: the test looks no further.
    if (OPERATORS[test.op].operand === 'none') return ofValue(test, cell.kind === 'text' ? '' : [])
    return cell.kind === 'text' ? ofText(test, cell) : ofList(test, cell)
  }

  function ofList(test: Test, { entries, length }: ListCell): Truth {
    const { entries: [entry] = [], lengths: [size] = [] } = cutsOf(test)
    if (size) return ofValue(size, length)
    const { joinEntries } = OPERATORS[test.op]
    return entry && joinEntries ? joinEntries(entries, (one) => of(entry, one)) : UNKNOWN
  }

  return { of, ofValue }
}

function ofText(test: Test, { holds, atomsOf }: OtherTextCell): Truth {
  const atoms = atomsOf(test)
  const held = atoms.filter((atom) => holds.has(atom))
  if (atoms.length === 0 || held.some(({ op }) => op === 'unknown')) return UNKNOWN
  return truthOf(held.length > 0)
}

export function exact(value: Applied): ExactCell {
  return { kind: 'exact', value }
}

export const UNREADABLE_CELL = exact(UNREADABLE)
export const NULL_CELL = exact(null)
/** No test but presence reads an object: one stands for all. */
export const OBJECT_CELL = exact({} as JsonValue)
