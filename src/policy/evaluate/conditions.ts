import { fieldText } from '../language/fields.ts'
import { MISSING, walk, type Defaults, type Reading, type Applied } from '../language/reading.ts'
import { applyFunction } from '../language/functions.ts'
import type { FunctionName } from '../language/function-names.ts'
import type { FieldIr, MissingMeans, NodeIr } from '../language/rule.ts'
import { FALSE, type Truth } from '../language/truth.ts'
import { compileRead, type Read } from '../language/field-reader.ts'
import type { Facts } from '../language/facts.ts'
import { schemaDefaults } from '../schema/defaults.ts'
import type { ToolContract } from './snapshot.ts'
import type { CompiledTest } from '../language/compiled-test.ts'
import { asksNull, asksPresence, compileTest, type Test } from '../language/operators.ts'

/** A compiled condition as a tree, which explains decisions. Its flat form (plan.ts) makes them. */
export type ConditionNode = AllNode | AnyNode | NotNode | LeafNode

interface AllNode {
  readonly kind: 'all'
  readonly items: readonly ConditionNode[]
}
interface AnyNode {
  readonly kind: 'any'
  readonly items: readonly ConditionNode[]
}
interface NotNode {
  readonly kind: 'not'
  readonly item: ConditionNode
}
export interface LeafNode {
  readonly kind: 'leaf'
  /** Index among all leaves of the bundle. */
  readonly number: number
  readonly read: Read
  readonly check: CompiledTest
  readonly fn: FunctionName | undefined
  /** The replacement of a missing field, if there is one. */
  readonly standIn: StandIn | undefined
  readonly field: FieldIr
  readonly test: Test
}

/** Replaces a missing field under `missing_means: nothing`: every value test is FALSE. */
export const NOTHING = Symbol('nothing')
type StandIn = { readonly value: Reading | typeof NOTHING } | { readonly defaults: Defaults }

/** Compiles the conditions of one bundle. Equal tests and lines are compiled once, and all rules share them. */
export interface ConditionCompiler {
  /** Grows as conditions are compiled. */
  readonly leaves: readonly LeafNode[]
  /** Compiles `when AND NOT unless` for one tool and the `missing_means` of the rule file. */
  compile(context: ConditionContext, when: NodeIr | undefined, unless: NodeIr | undefined): ConditionNode
  /** Compiles one test of one field. The test must not be `and`. */
  leaf(context: ConditionContext, field: FieldIr, test: Test): LeafNode
}

export interface ConditionContext {
  readonly tool: ToolContract
  readonly missingMeans: ReadonlyMap<string, MissingMeans>
}

export function createConditionCompiler(): ConditionCompiler {
  const tests = new Map<string, CompiledTest>()
  const reads = new Map<string, Read>()
  const shared = new Map<string, LeafNode>()
  const leaves: LeafNode[] = []

  function compileNode(context: ConditionContext, node: NodeIr): ConditionNode {
    if (node.kind === 'leaf') return compileLeaf(context, node.field, node.test)
    if (node.kind === 'not') return { kind: 'not', item: compileNode(context, node.item) }
    return { kind: node.kind, items: node.items.map((item) => compileNode(context, item)) }
  }

  function compileLeaf(context: ConditionContext, field: FieldIr, test: Test): ConditionNode {
    // Each part has its own replacement for a missing field.
    if (test.op === 'and')
      return { kind: 'all', items: test.tests.map((one) => compileLeaf(context, field, one)) }
    return leafOf(context, field, test)
  }

  function leafOf(context: ConditionContext, field: FieldIr, test: Test): LeafNode {
    const standIn = asksPresence(test) ? undefined : standInOf(context, field)
    const key = JSON.stringify(test)
    const make = (): LeafNode => {
      const check = remember(tests, key, () => compileTest(test))
      const read = remember(reads, field.name, () => compileRead(field))
      const leaf: LeafNode = {
        kind: 'leaf',
        number: leaves.length,
        read,
        check,
        fn: field.fn,
        standIn,
        field,
        test,
      }
      leaves.push(leaf)
      return leaf
    }
    return standIn ? make() : remember(shared, `${fieldText(field)} ${key}`, make)
  }

  return {
    leaves,
    leaf: leafOf,
    compile(context, when, unless) {
      const items: ConditionNode[] = []
      if (when) items.push(compileNode(context, when))
      if (unless) items.push({ kind: 'not', item: compileNode(context, unless) })
      return items.length === 1 && items[0] ? items[0] : { kind: 'all', items }
    },
  }
}

/** Returns the value under a key, and makes it first when it is absent. */
export function remember<T>(known: Map<string, T>, key: string, make: () => T): T {
  const found = known.get(key)
  if (found !== undefined) return found
  const made = make()
  known.set(key, made)
  return made
}

/** Returns the value of `missing_means`, or else the defaults of the contract. */
function standInOf({ tool, missingMeans }: ConditionContext, field: FieldIr): StandIn | undefined {
  const means = missingMeans.get(field.name)
  if (means) return { value: means.value === undefined ? NOTHING : means.value }
  const defaults = field.root === 'payload' ? schemaDefaults(tool.inputSchema, field.path) : undefined
  return defaults && { defaults }
}

export function truthOfLeaf(leaf: LeafNode, facts: Facts): Truth {
  return truthOfValue(leaf, valueOfLeaf(leaf, facts))
}

/** Returns the truth for a value from `valueOfLeaf`, so that the caller reads a long text through a function once. */
export function truthOfValue(leaf: LeafNode, value: Applied | typeof NOTHING): Truth {
  return value === NOTHING ? FALSE : leaf.check(value)
}

/** Returns the value that the test of a leaf sees: the field or its replacement, through the function. */
export function valueOfLeaf(leaf: LeafNode, facts: Facts): Applied | typeof NOTHING {
  let value: Reading | typeof NOTHING = leaf.read(facts)
  const { standIn } = leaf
  if (value === MISSING && standIn !== undefined) {
    value = 'value' in standIn ? standIn.value : walk(facts.call.payload, leaf.field.path, standIn.defaults)
  } else if (value === null && standIn !== undefined && 'value' in standIn && !asksNull(leaf.test)) {
    // `missing_means` replaces null too, because agents send null for a missing field.
    value = standIn.value
  }
  return leaf.fn === undefined || value === NOTHING ? value : applyFunction(leaf.fn, value)
}
