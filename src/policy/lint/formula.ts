import { MISSING, type Reading } from '../language/reading.ts'
import { applyFunction } from '../language/functions.ts'
import type { FieldIr, NodeIr, RuleFileIr, RuleIr } from '../language/rule.ts'
import { allOf, anyOf, FALSE, not, TRUE, type Truth } from '../language/truth.ts'
import type { CellTruth } from './cell.ts'
import type { ToolContract } from '../evaluate/snapshot.ts'
import { asksPresence, type Test } from '../language/operators.ts'
import {
  createWhenMissing,
  NOTHING,
  valueWhenMissing,
  valueWhenNull,
  type WhenMissing,
} from '../language/when-missing.ts'

/** `when AND NOT unless` of one rule for one tool, over numbered tests. */
export type Formula =
  | { readonly kind: 'all' | 'any'; readonly items: readonly Formula[] }
  | { readonly kind: 'not'; readonly item: Formula }
  | { readonly kind: 'slot'; readonly number: number }

/** One test of one field. */
export interface Slot {
  readonly number: number
  readonly field: FieldIr
  readonly test: Test
  readonly whenMissing: WhenMissing
}

export interface RuleFormula {
  readonly rule: RuleIr
  readonly file: RuleFileIr
  readonly formula: Formula
  readonly slots: readonly Slot[]
}

/** Returns the formula of a rule for one tool. Its tests are numbered in order of appearance. */
export function formulaOf(
  tool: ToolContract,
  { file, rule }: { readonly file: RuleFileIr; readonly rule: RuleIr },
): RuleFormula {
  const slots: Slot[] = []
  const missing = createWhenMissing(tool, file)

  function leaf(field: FieldIr, test: Test): Formula {
    // As in the evaluator, each part decides for itself how to treat a missing field.
    if (test.op === 'and') return { kind: 'all', items: test.tests.map((one) => leaf(field, one)) }
    const whenMissing = asksPresence(test) ? undefined : missing(field)
    const slot = { number: slots.length, field, test, whenMissing }
    slots.push(slot)
    return { kind: 'slot', number: slot.number }
  }

  function node(ir: NodeIr): Formula {
    if (ir.kind === 'leaf') return leaf(ir.field, ir.test)
    if (ir.kind === 'not') return { kind: 'not', item: node(ir.item) }
    return { kind: ir.kind, items: ir.items.map(node) }
  }

  const items: Formula[] = []
  if (rule.when) items.push(node(rule.when))
  if (rule.unless) items.push({ kind: 'not', item: node(rule.unless) })
  return { rule, file, formula: { kind: 'all', items }, slots }
}

/** Returns the truth of a formula from the truths of its tests. */
export function truthOfFormula(formula: Formula, truths: readonly Truth[]): Truth {
  if (formula.kind === 'slot') return truths[formula.number] ?? FALSE
  if (formula.kind === 'not') return not(truthOfFormula(formula.item, truths))
  return formula.kind === 'all'
    ? allOf(formula.items, truthOfFormula, truths)
    : anyOf(formula.items, truthOfFormula, truths)
}

/** Returns true when a rule fires on this truth. */
export function fires({ verdict }: Pick<RuleIr, 'verdict'>, truth: Truth): boolean {
  return verdict === 'allow' ? truth === TRUE : truth !== FALSE
}

/**
 * Returns the truth of a test when its field is missing from step `depth` of its path, and whether a value replaced
 * it.
 */
export function truthWhenMissing(
  slot: Slot,
  depth: number,
  truth: CellTruth,
): { readonly truth: Truth; readonly replaced: boolean } {
  const parent = typeof slot.field.path[depth] === 'number' ? [] : {}
  const value = valueWhenMissing(slot.whenMissing, slot.field, parent, depth)
  return { truth: truthOfValue(slot, value, truth), replaced: value !== MISSING }
}

/** Returns the truth of a test when its field is null. */
export function truthWhenNull(slot: Slot, truth: CellTruth): Truth {
  return truthOfValue(slot, valueWhenNull(slot.whenMissing, slot.test), truth)
}

function truthOfValue(
  { field: { fn }, test }: Slot,
  value: Reading | typeof NOTHING,
  truth: CellTruth,
): Truth {
  if (value === NOTHING) return FALSE
  return truth.ofValue(test, fn === undefined ? value : applyFunction(fn, value))
}
