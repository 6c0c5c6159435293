import type { CompiledTest } from '../language/compiled-test.ts'
import { compileTest, cutsOf, OPERATORS, type Test } from '../language/operators.ts'
import type { JsonValue } from '../../contract/json.ts'
import { UNREADABLE, type Applied } from '../language/reading.ts'
import { allOf, not, truthOf, UNKNOWN, type Truth } from '../language/truth.ts'
import type { TextAtom } from './text.ts'
import { remember } from '../language/remember.ts'

/**
 * One of finitely many states of a field. Within a cell, every test has the same answer. The cells of a field cover all
 * values that its contract permits, and perhaps more.
 */
export type Cell = ExactCell | OtherTextCell | ListCell

/** One value, which represents all values that the tests cannot distinguish from it. */
export interface ExactCell {
  readonly kind: 'exact'
  readonly value: Applied
}

/** A string that equals no literal in the tests. Exactly the atoms in `holds` apply to it. */
export interface OtherTextCell {
  readonly kind: 'text'
  readonly holds: ReadonlySet<TextAtom>
  readonly atomsOf: (test: Test) => readonly TextAtom[]
}

/** A list of known length, whose entries come from known cells. */
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

  const ofValue = (test: Test, value: Applied): Truth =>
    remember(compiled, test, () => compileTest(test))(value)

  function of(test: Test, cell: Cell): Truth {
    if (cell.kind === 'exact') return ofValue(test, cell.value)
    if (test.op === 'and') return allOf(test.tests, of, cell)
    if (test.op === 'not') return not(of(test.test, cell))
    // The test checks only for presence, so any string or list suffices.
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
/** A cell that represents all objects, because only presence tests read an object. */
export const OBJECT_CELL = exact({} as JsonValue)
