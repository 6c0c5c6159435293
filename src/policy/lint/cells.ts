import type { Scalar, TestIr } from '../language/rule.ts'
import {
  exact,
  memberTest,
  OBJECT_CELL,
  NULL_CELL,
  UNREADABLE_CELL,
  type Cell,
  type CellTruth,
  type ListCell,
} from './cell.ts'
import { atomSets, collectAtoms } from './text.ts'
import {
  inRange,
  numberBetween,
  type Lists,
  type Numbers,
  type Texts,
  type Values,
} from '../language/possible.ts'

/** Entries of a list come from more different cells than this: too many lists. */
const MAX_ENTRY_CELLS = 5
/** Of one field. */
const MAX_CELLS = 1_024

/**
 * The cells of what is there: missing is none of them. Every value that `values` permits is in a cell in which each test answers as
 * it would for the value. Undefined when there are too many.
 */
export function cellsOf(
  values: Values,
  tests: readonly TestIr[],
  truth: CellTruth,
): readonly Cell[] | undefined {
  const asked = tests.flatMap(flatten)
  const texts = values.texts ? textCells(values.texts, asked) : []
  const lists = values.lists ? listCells(values.lists, asked, truth) : []
  if (!texts || !lists) return undefined
  const cells = [...plainCells(values, asked), ...texts, ...lists]
  return cells.length > MAX_CELLS ? undefined : cells
}

/** Of everything but texts and lists. */
function plainCells(values: Values, asked: readonly TestIr[]): readonly Cell[] {
  const cells: Cell[] = values.booleans.map(exact)
  // what is inside null is null, and what a function cannot read is no null
  if (values.null || values.blocked) cells.push(UNREADABLE_CELL, NULL_CELL)
  if (values.objects) cells.push(OBJECT_CELL)
  if (values.numbers) cells.push(...numberPoints(values.numbers, limitsOf(asked)).map(exact))
  return cells
}

/** The tests below `and` and `not`: what is asked of the value itself. */
function flatten(test: TestIr): readonly TestIr[] {
  if (test.op === 'and') return test.tests.flatMap(flatten)
  return test.op === 'not' ? flatten(test.test) : [test]
}

function literalsOf(tests: readonly TestIr[]): readonly Scalar[] {
  return tests.flatMap((test) => (test.op === 'is' ? test.values : []))
}

function limitsOf(tests: readonly TestIr[]): readonly number[] {
  const compared = tests.flatMap((test) => ('value' in test ? [test.value] : []))
  return [...compared, ...literalsOf(tests).filter((value) => typeof value === 'number')]
}

/** One number of every stretch between the limits that the range permits, and the limits themselves. */
export function numberPoints(numbers: Numbers, limits: readonly number[]): readonly number[] {
  if (numbers.among) return numbers.among
  const bounds = [numbers.min, numbers.max].filter(Number.isFinite)
  const marks = [...new Set([...limits, ...bounds])].sort((a, b) => a - b)
  if (marks.length === 0) return [0]
  const ends = [Number.NEGATIVE_INFINITY, ...marks, Number.POSITIVE_INFINITY]
  const between = ends.slice(1).map((high, index) => numberBetween(numbers, ends[index] ?? high, high))
  return [...marks.filter((mark) => inRange(numbers, mark)), ...between.filter((one) => one !== undefined)]
}

function textCells(texts: Texts, tests: readonly TestIr[]): readonly Cell[] | undefined {
  if (texts.among) return texts.among.map(exact)
  const atoms = collectAtoms(tests)
  const sets = atomSets(atoms)
  const named = literalsOf(tests).filter((value) => typeof value === 'string')
  const literals = [...new Set([...named, ...atoms.literals])]
  return (
    sets && [
      ...literals.map(exact),
      ...sets.map((holds) => ({ kind: 'text', holds, atomsOf: atoms.of }) as const),
    ]
  )
}

function listCells(lists: Lists, tests: readonly TestIr[], truth: CellTruth): readonly Cell[] | undefined {
  const inner = tests.flatMap((test) =>
    test.op === 'some' || test.op === 'every' || test.op === 'none'
      ? [test.test]
      : test.op === 'contains'
        ? [memberTest(test)]
        : [],
  )
  const entries = inner.length === 0 ? [OBJECT_CELL] : entryCells(lists, inner, truth)
  if (entries === undefined) return undefined
  const counts = tests.flatMap((test) => (test.op === 'count' ? flatten(test.test) : []))
  const sizes = entries.map((_, index) => index + 1)
  const range = { integer: true, min: lists.min, minOpen: false, max: lists.max, maxOpen: false }
  const lengths = numberPoints(range, [...limitsOf(counts), 0, ...sizes]).filter((length) => length >= 0)
  return subsets(entries).flatMap((chosen) =>
    lengths
      .filter((length) => (chosen.length === 0 ? length === 0 : length >= chosen.length))
      .map((length): ListCell => ({ kind: 'list', length, entries: chosen })),
  )
}

/** One cell for every different set of answers. */
function entryCells(lists: Lists, tests: readonly TestIr[], truth: CellTruth): readonly Cell[] | undefined {
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
