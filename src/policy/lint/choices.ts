import { unconstrained, type FieldValues } from '../schema/possible-fields.ts'
import { literalValues } from '../schema/values.ts'
import { MISSING, type Applied } from '../language/reading.ts'
import { REVERSIBILITIES } from '../language/reversibility.ts'
import type { Test } from '../language/operators.ts'
import type { FieldIr } from '../language/rule.ts'
import { UNKNOWN, type Truth } from '../language/truth.ts'
import type { Cell, CellTruth, ExactCell } from './cell.ts'
import { cellsOf } from './cells.ts'
import { truthWhenMissing, truthWhenNull } from './open-rule.ts'
import type { ConditionCompiler, LeafNode } from '../evaluate/conditions.ts'
import type { ToolContract } from '../language/snapshot.ts'
import type { Values } from '../schema/possible.ts'
import { remember } from '../language/remember.ts'

/** A field that some tests read, with every combination of answers to these tests. */
export interface Variable {
  readonly name: string
  readonly leaves: readonly LeafNode[]
  readonly choices: readonly Choice[]
}

export interface Choice {
  /** Truths, in the order of the variable's leaves. */
  readonly truths: readonly Truth[]
  /** True when the field is missing and, for that reason alone, some test is unknown. */
  readonly undecided: boolean
  /** True when some test is unknown. */
  readonly unknown: boolean
  /** A value of the field itself with these truths; absent when no value is known. */
  readonly sample?: Applied
}

export interface ChoiceContext {
  readonly tool: ToolContract
  readonly fieldValues: FieldValues
  readonly truth: CellTruth
  readonly known: KnownChoices
  readonly conditions: ConditionCompiler
  /** True when the field can have any value, regardless of the contract. */
  readonly anything?: boolean
  /** True when only the MCP server declares the tool's `reversibility`. It may then have each value. */
  readonly doubtful?: boolean
}

/** Caches choices by the values of a field and its tests, for tools with the same schema and rules with equal tests. */
export interface KnownChoices {
  of(
    values: Values,
    tests: readonly Test[],
    make: () => readonly Choice[] | undefined,
  ): readonly Choice[] | undefined
}

export function createKnownChoices(): KnownChoices {
  const byValues = new WeakMap<Values, Map<string, readonly Choice[] | undefined>>()
  return {
    of(values, tests, make) {
      const known = remember(byValues, values, () => new Map())
      const key = JSON.stringify(tests)
      if (!known.has(key)) known.set(key, make())
      return known.get(key)
    },
  }
}

/** The maximum number of choices for one field. */
const MAX_CHOICES = 512

/** Returns the variables of some tests, treating fields as independent. Undefined when a field has too many choices. */
export function variablesOf(
  context: ChoiceContext,
  leaves: readonly LeafNode[],
): readonly Variable[] | undefined {
  const byField = new Map<string, LeafNode[]>()
  for (const leaf of leaves) remember(byField, leaf.field.name, () => []).push(leaf)
  const variables: Variable[] = []
  for (const [name, read] of byField) {
    const choices = choicesOf(context, read)
    if (choices === undefined) return undefined
    variables.push({ name, leaves: read, choices })
  }
  return variables
}

function choicesOf(context: ChoiceContext, leaves: readonly LeafNode[]): readonly Choice[] | undefined {
  const [first] = leaves
  if (first === undefined) return []
  const present = presentChoices(context, leaves)
  if (present === undefined) return undefined
  const { missing } = valuesFor(context, first.field)
  const all = [...(missing ? missingChoices(leaves) : []), ...nullChoices(context, leaves), ...present]
  return all.length > MAX_CHOICES ? undefined : all
}

const ANY_REVERSIBILITY = literalValues(REVERSIBILITIES)

function valuesFor({ tool, fieldValues, anything, doubtful }: ChoiceContext, field: FieldIr): Values {
  if (anything === true) return unconstrained(field.fn)
  if (doubtful === true && field.root === 'tool.reversibility') return ANY_REVERSIBILITY
  return fieldValues.of(tool, field)
}

/**
 * Returns the choices for a missing field. If the path has defaults, the step at which the field is missing matters.
 */
function missingChoices(leaves: readonly LeafNode[]): readonly Choice[] {
  const deep = leaves.some(({ whenMissing }) => whenMissing?.kind === 'defaults')
  const depths = deep ? (leaves[0]?.field.path ?? []).map((_, depth) => depth) : [0]
  return depths.map((depth) => {
    const found = leaves.map((leaf) => truthWhenMissing(leaf, depth))
    return {
      ...choice(found.map((one) => one.truth)),
      undecided: found.some((one) => !one.replaced && one.truth === UNKNOWN),
      sample: MISSING,
    }
  })
}

/**
 * Returns the choices for a null field. If nothing replaces a missing field, the cells of present values include null.
 */
function nullChoices(context: ChoiceContext, leaves: readonly LeafNode[]): readonly Choice[] {
  const [first] = leaves
  if (first === undefined || leaves.every(({ whenMissing }) => whenMissing === undefined)) return []
  const { fn: _, ...field } = first.field
  const values = valuesFor(context, field)
  if (!values.null && !values.blocked) return []
  return [choice(leaves.map(truthWhenNull))]
}

function choice(truths: readonly Truth[]): Choice {
  return { truths, undecided: false, unknown: truths.includes(UNKNOWN) }
}

/** Returns the choices for a present field. Combines the results of several functions. */
function presentChoices(context: ChoiceContext, leaves: readonly LeafNode[]): readonly Choice[] | undefined {
  const groups = [...new Set(leaves.map((leaf) => leaf.field.fn))]
  if (groups.length === 1) return groupChoices(context, leaves)
  let partial: readonly ReadonlyMap<LeafNode, Truth>[] = [new Map<LeafNode, Truth>()]
  for (const fn of groups) {
    const group = leaves.filter((leaf) => leaf.field.fn === fn)
    const found = groupChoices(context, group)
    if (found === undefined || partial.length * found.length > MAX_CHOICES) return undefined
    partial = partial.flatMap((known) =>
      found.map(
        ({ truths }) => new Map([...known, ...group.map((leaf, i) => [leaf, truths[i] ?? UNKNOWN] as const)]),
      ),
    )
  }
  return partial.map((known) => choice(leaves.map((leaf) => known.get(leaf) ?? UNKNOWN)))
}

function groupChoices(context: ChoiceContext, group: readonly LeafNode[]): readonly Choice[] | undefined {
  const [first] = group
  if (first === undefined) return []
  const tests = group.map((leaf) => leaf.test)
  const values = valuesFor(context, first.field)
  return context.known.of(values, tests, () => choicesAmong(context, values, group))
}

function choicesAmong(
  { truth }: ChoiceContext,
  values: Values,
  group: readonly LeafNode[],
): readonly Choice[] | undefined {
  const tests = group.map((leaf) => leaf.test)
  const cells = cellsOf(values, tests, truth)
  if (cells === undefined) return undefined
  const found = new Map<string, Choice>()
  for (const cell of cells) {
    const made = choice(tests.map((test) => truth.of(test, cell)))
    const key = made.truths.join('')
    if (!found.has(key)) found.set(key, isSample(cell, group[0]) ? { ...made, sample: cell.value } : made)
  }
  return [...found.values()]
}

/** Returns true when the cell's value is a value of the field itself, not the result of a function. */
function isSample(cell: Cell, leaf: LeafNode | undefined): cell is ExactCell {
  return cell.kind === 'exact' && leaf?.field.fn === undefined
}

/** The maximum number of combinations of choices to visit. */
const MAX_COMBINATIONS = 4_096

/**
 * Visits every combination of choices, until `visit` returns false. The map of truths is reused between visits. When
 * there are too many combinations, returns false and visits nothing.
 */
export function combine(
  variables: readonly Variable[],
  visit: (truths: ReadonlyMap<LeafNode, Truth>, chosen: readonly Choice[]) => boolean,
): boolean {
  const count = variables.reduce((product, { choices }) => product * choices.length, 1)
  if (count > MAX_COMBINATIONS) return false
  const truths = new Map<LeafNode, Truth>()
  const chosen: Choice[] = []
  const step = (index: number): boolean => {
    const variable = variables[index]
    if (variable === undefined) return visit(truths, chosen)
    for (const one of variable.choices) {
      chosen[index] = one
      for (const [place, leaf] of variable.leaves.entries()) truths.set(leaf, one.truths[place] ?? UNKNOWN)
      if (!step(index + 1)) return false
    }
    return true
  }
  step(0)
  return true
}
