import type { JsonValue } from '../../contract/json.ts'
import { MISSING, UNREADABLE, walk, type Reading } from '../language/reading.ts'
import { applyFunction } from '../language/functions.ts'
import type { FieldIr, NodeIr, RuleFileIr, RuleIr } from '../language/rule.ts'
import { allOf, anyOf, FALSE, not, TRUE, type Truth } from '../language/truth.ts'
import type { CellTruth } from './cell.ts'
import { schemaDefaults } from '../schema/defaults.ts'
import type { ToolContract } from '../evaluate/snapshot.ts'
import { asksNull, asksPresence, type Test } from '../language/operators.ts'

/** `when AND NOT unless` of one rule for one tool, over numbered tests. */
export type Formula =
  | { readonly kind: 'all' | 'any'; readonly items: readonly Formula[] }
  | { readonly kind: 'not'; readonly item: Formula }
  | { readonly kind: 'slot'; readonly number: number }

/** One test of one field, with the value that replaces a missing field. */
export interface Slot {
  readonly number: number
  readonly field: FieldIr
  readonly test: Test
  readonly standIn: StandIn | undefined
}

type StandIn =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'value'; readonly value: JsonValue }
  | { readonly kind: 'defaults'; readonly defaults: readonly (JsonValue | undefined)[] }

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
  const means = new Map(file.missingMeans.map((one) => [one.field, one]))

  function standInOf(field: FieldIr, test: Test): StandIn | undefined {
    if (asksPresence(test)) return undefined
    const meaning = means.get(field.name)
    if (meaning)
      return meaning.value === undefined ? { kind: 'nothing' } : { kind: 'value', value: meaning.value }
    const defaults = field.root === 'payload' ? schemaDefaults(tool.inputSchema, field.path) : undefined
    return defaults && { kind: 'defaults', defaults }
  }

  function leaf(field: FieldIr, test: Test): Formula {
    // As in the evaluator, each part decides for itself how to treat a missing field.
    if (test.op === 'and') return { kind: 'all', items: test.tests.map((one) => leaf(field, one)) }
    const slot = { number: slots.length, field, test, standIn: standInOf(field, test) }
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
  { field, test, standIn }: Slot,
  depth: number,
  truth: CellTruth,
): { readonly truth: Truth; readonly stoodIn: boolean } {
  if (standIn?.kind === 'nothing') return { truth: FALSE, stoodIn: true }
  const value = standIn === undefined ? MISSING : valueOfStandIn(standIn, field, depth)
  const read = field.fn === undefined ? value : applyFunction(field.fn, value)
  return { truth: truth.ofValue(test, read), stoodIn: value !== MISSING }
}

/** Returns the truth when the field is null: `missing_means` replaces null too. */
export function truthWhenNull(slot: Slot, truth: CellTruth): Truth {
  const { field, test, standIn } = slot
  const stands = standIn !== undefined && standIn.kind !== 'defaults' && !asksNull(test)
  if (stands) return truthWhenMissing(slot, 0, truth).truth
  return truth.ofValue(test, field.fn === undefined ? null : UNREADABLE)
}

function valueOfStandIn(
  standIn: Exclude<StandIn, { kind: 'nothing' }>,
  { path }: FieldIr,
  depth: number,
): Reading {
  if (standIn.kind === 'value') return standIn.value
  const start = standIn.defaults[depth]
  if (start === undefined) return MISSING
  if (start === null) return null
  return walk(start, path.slice(depth + 1), standIn.defaults.slice(depth + 1))
}
