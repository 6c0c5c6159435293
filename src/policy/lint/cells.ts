import { cutsOf, OPERATORS, type Test } from '../language/operators.ts'
import { readsMembers } from '../language/test-parts.ts'
import {
  exact,
  OBJECT_CELL,
  NULL_CELL,
  UNREADABLE_CELL,
  type Cell,
  type CellTruth,
  type ListCell,
} from './cell.ts'
import { atomSets, collectAtoms } from './text.ts'
import { numberPoints, type Lists, type Texts, type Values } from '../schema/possible.ts'

/** The maximum number of cells of list entries. With more, there would be too many lists. */
const MAX_ENTRY_CELLS = 5
/** The maximum number of cells of one field. */
const MAX_CELLS = 1_024

/**
 * Returns the cells of a field that is present. Every value that `values` allows belongs to a cell for which each test
 * has the same answer as for the value. Undefined when there are too many cells.
 */
export function cellsOf(
  values: Values,
  tests: readonly Test[],
  truth: CellTruth,
): readonly Cell[] | undefined {
  const asked = tests.flatMap(flatten)
  if (asked.some((test) => isBeyondCells(test) || readsMembers(test))) return undefined
  const texts = values.texts ? textCells(values.texts, asked) : []
  const lists = values.lists ? listCells(values.lists, asked, truth) : []
  if (!texts || !lists) return undefined
  const cells = [...plainCells(values, asked), ...texts, ...lists]
  return cells.length > MAX_CELLS ? undefined : cells
}

/**
 * Returns true for a test that may distinguish values within one cell. A text cell represents such an answer as
 * unknown.
 */
function isBeyondCells(test: Test): boolean {
  const { opaque, lengths = [] } = cutsOf(test)
  return (opaque === true && OPERATORS[test.op].of !== 'text') || lengths.some(isBeyondCells)
}

/** Returns the cells of all values except strings and lists. */
function plainCells(values: Values, asked: readonly Test[]): readonly Cell[] {
  const cells: Cell[] = values.booleans.map(exact)
  // A field inside null is null. A function cannot read null.
  if (values.null || values.blocked) cells.push(UNREADABLE_CELL, NULL_CELL)
  if (values.objects) cells.push(OBJECT_CELL)
  if (values.numbers) cells.push(...numberPoints(values.numbers, limitsOf(asked)).map(exact))
  return cells
}

/** Returns the tests inside `and` and `not`, which read the value itself. */
function flatten(test: Test): readonly Test[] {
  if (test.op === 'and') return test.tests.flatMap(flatten)
  return test.op === 'not' ? flatten(test.test) : [test]
}

/** Returns the numbers at which some answer changes. */
function limitsOf(tests: readonly Test[]): readonly number[] {
  return tests.flatMap((test) => cutsOf(test).numbers ?? [])
}

function textCells(texts: Texts, tests: readonly Test[]): readonly Cell[] | undefined {
  if (texts.among) return texts.among.map(exact)
  const atoms = collectAtoms(tests)
  const sets = atomSets(atoms)
  return (
    sets && [
      ...atoms.literals.map(exact),
      ...sets.map((holds) => ({ kind: 'text', holds, atomsOf: atoms.of }) as const),
    ]
  )
}

function listCells(lists: Lists, tests: readonly Test[], truth: CellTruth): readonly Cell[] | undefined {
  const inner = tests.flatMap((test) => cutsOf(test).entries ?? [])
  const entries = inner.length === 0 ? [OBJECT_CELL] : entryCells(lists, inner, truth)
  if (entries === undefined) return undefined
  const counts = tests.flatMap((test) => cutsOf(test).lengths ?? [])
  const sizes = entries.map((_, index) => index + 1)
  const range = { integer: true, min: lists.min, minOpen: false, max: lists.max, maxOpen: false }
  const lengths = numberPoints(range, [...limitsOf(counts), 0, ...sizes]).filter((length) => length >= 0)
  return subsets(entries).flatMap((chosen) =>
    lengths
      .filter((length) => (chosen.length === 0 ? length === 0 : length >= chosen.length))
      .map((length): ListCell => ({ kind: 'list', length, entries: chosen })),
  )
}

/** Returns one cell for every distinct set of answers. */
function entryCells(lists: Lists, tests: readonly Test[], truth: CellTruth): readonly Cell[] | undefined {
  const cells = cellsOf(lists.element(), tests, truth)
  if (cells === undefined) return undefined
  const byAnswers = new Map(cells.map((cell) => [tests.map((test) => truth.of(test, cell)).join(''), cell]))
  return byAnswers.size > MAX_ENTRY_CELLS ? undefined : [...byAnswers.values()]
}

function subsets<T>(all: readonly T[]): readonly (readonly T[])[] {
  return all.reduce<readonly (readonly T[])[]>(
    (sets, one) => [...sets, ...sets.map((set) => [...set, one])],
    [[]],
  )
}
