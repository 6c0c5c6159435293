import { MISSING, UNREADABLE, walk, type Reading, type Applied } from '../language/reading.ts'
import type { Disclose } from '../language/disclose.ts'
import type { FieldIr, NodeIr } from '../language/rule.ts'
import { FACTS, type Facts } from '../language/facts.ts'
import type { FieldRead } from '../language/snapshot.ts'
import { fieldText } from '../language/fields.ts'
import { applyFunction } from '../language/functions.ts'
import type { FunctionName } from '../language/function-names.ts'
import { and, FALSE, not, or, TRUE, UNKNOWN, type Truth } from '../language/truth.ts'
import type { CompiledTest } from '../language/compiled-test.ts'
import { compileTest, type Test } from '../language/operators.ts'
import { asksPresence, changeMembers, readsMembers } from '../language/test-parts.ts'
import { leavesIn, mapLeaves, type Tree } from '../language/tree.ts'
import {
  meaningOfMember,
  NOTHING,
  valueWhenMissing,
  valueWhenNull,
  type WhenMissing,
  type WhenMissingOf,
} from '../schema/when-missing.ts'
import { remember } from '../language/remember.ts'

/** A compiled condition as a tree, used to explain decisions. Decisions use the flat form (plan.ts). */
export type ConditionNode = Tree<LeafNode>

export interface LeafNode {
  readonly kind: 'leaf'
  /** The leaf's index among all leaves of the bundle. */
  readonly number: number
  readonly read: Read
  readonly check: CompiledTest
  readonly fn: FunctionName | undefined
  readonly whenMissing: WhenMissing
  readonly field: FieldIr
  readonly test: Test
}

type Join = 'all' | 'any' | 'not'

/** Computes a result for each leaf, and joins the results from the leaves up. */
export function foldCondition<T>(
  node: ConditionNode,
  ofLeaf: (leaf: LeafNode) => T,
  join: (kind: Join, results: readonly T[]) => T,
): T {
  if (node.kind === 'leaf') return ofLeaf(node)
  const items = node.kind === 'not' ? [node.item] : node.items
  return join(
    node.kind,
    items.map((item) => foldCondition(item, ofLeaf, join)),
  )
}

/** Returns the leaves of a condition, each once, in order of appearance. */
export const leavesOf = (condition: ConditionNode): readonly LeafNode[] => [...new Set(leavesIn(condition))]

export function joinTruths(kind: Join, truths: readonly Truth[]): Truth {
  if (kind === 'all') return truths.reduce<Truth>(and, TRUE)
  const truth = truths.reduce<Truth>(or, FALSE)
  return kind === 'not' ? not(truth) : truth
}

/** Returns every truth that the join can have, treating its parts as independent. */
export function joinPossible(kind: Join, parts: readonly (readonly Truth[])[]): readonly Truth[] {
  if (kind === 'not') return (parts[0] ?? []).map(not)
  const [settling, other] = kind === 'all' ? ([FALSE, TRUE] as const) : ([TRUE, FALSE] as const)
  const truths: Truth[] = []
  if (parts.some((part) => part.includes(settling))) truths.push(settling)
  if (parts.every((part) => part.includes(other))) truths.push(other)
  const mayBeOpen = parts.every((part) => part.includes(other) || part.includes(UNKNOWN))
  if (mayBeOpen && parts.some((part) => part.includes(UNKNOWN))) truths.push(UNKNOWN)
  return truths
}

/** Compiles the conditions of one bundle. Equal tests and lines are compiled once, and all rules share them. */
export interface ConditionCompiler {
  /** All leaves so far; the list grows as conditions are compiled. */
  readonly leaves: readonly LeafNode[]
  /** Compiles `when AND NOT unless`. */
  compile(missing: WhenMissingOf, when: NodeIr | undefined, unless: NodeIr | undefined): ConditionNode
  /** Compiles one test of one field. The test must not be `and`. */
  leaf(missing: WhenMissingOf, field: FieldIr, test: Test): LeafNode
}

export function createConditionCompiler(): ConditionCompiler {
  const tests = new Map<string, CompiledTest>()
  const reads = new Map<string, Read>()
  const shared = new Map<string, LeafNode>()
  const leaves: LeafNode[] = []

  function compileLeaf(missing: WhenMissingOf, field: FieldIr, test: Test): ConditionNode {
    // Each part has its own replacement for a missing field.
    return test.op === 'and'
      ? { kind: 'all', items: test.tests.map((one) => compileLeaf(missing, field, one)) }
      : leafOf(missing, field, test)
  }

  function leafOf(missing: WhenMissingOf, field: FieldIr, written: Test): LeafNode {
    const test = readsMembers(written) ? withMeanings(missing, field, written) : written
    const whenMissing = asksPresence(test) ? undefined : missing(field)
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
        whenMissing,
        field,
        test,
      }
      leaves.push(leaf)
      return leaf
    }
    return whenMissing ? make() : remember(shared, `${fieldText(field)} ${key}`, make)
  }

  return {
    leaves,
    leaf: leafOf,
    compile(missing, when, unless) {
      const items: ConditionNode[] = []
      const compileNode = (node: NodeIr): ConditionNode =>
        mapLeaves(node, ({ field, test }) => compileLeaf(missing, field, test))
      if (when) items.push(compileNode(when))
      if (unless) items.push({ kind: 'not', item: compileNode(unless) })
      return items.length === 1 && items[0] ? items[0] : { kind: 'all', items }
    },
  }
}

/** Returns the test with the replacement of each member that may be missing. */
function withMeanings(missing: WhenMissingOf, field: FieldIr, test: Test): Test {
  if (field.root !== 'payload' || field.fn !== undefined) return test
  return changeMembers(test, (member, lists) => {
    const whenMissing = asksPresence(member.test)
      ? undefined
      : meaningOfMember(missing, { field, lists: lists.map(({ path }) => path), member })
    return whenMissing === undefined ? member : { ...member, whenMissing }
  })
}

export function truthOfLeaf(leaf: LeafNode, facts: Facts): Truth {
  return truthOfValue(leaf, valueOfLeaf(leaf, facts))
}

/** Returns the truth for a value from `valueOfLeaf`. The caller can then apply a function to a long text only once. */
export function truthOfValue(leaf: LeafNode, value: Applied | typeof NOTHING): Truth {
  return value === NOTHING ? FALSE : leaf.check(value)
}

/** Returns the value that a leaf tests: the field or its replacement, after the leaf's function. */
export function valueOfLeaf(leaf: LeafNode, facts: Facts): Applied | typeof NOTHING {
  let value: Reading | typeof NOTHING = leaf.read(facts)
  if (value === MISSING) value = valueWhenMissing(leaf.whenMissing, leaf.field, facts.call.payload)
  else if (value === null) value = valueWhenNull(leaf.whenMissing, leaf.test)
  return resultOf(leaf, value)
}

/** Applies the leaf's function to a value. */
export function resultOf({ fn }: LeafNode, value: Reading | typeof NOTHING): Applied | typeof NOTHING {
  return fn === undefined || value === NOTHING ? value : applyFunction(fn, value)
}

/** Reads one field of a call. */
export type Read = (facts: Facts) => Reading

/** Compiles a reader for a field. */
export function compileRead(field: FieldIr): Read {
  return field.root === 'payload' ? compilePayloadRead(field.path) : FACTS[field.root].read
}

function compilePayloadRead(path: readonly (string | number)[]): Read {
  const [first] = path
  if (path.length !== 1 || typeof first !== 'string') return ({ call }) => walk(call.payload, path)
  return ({ call: { payload } }) => {
    const value = Object.hasOwn(payload, first) ? payload[first] : undefined
    return value === undefined ? MISSING : value
  }
}

/** Compiles a reader that records a field with a decision. The reader records an unreadable value as null. */
export function compileFieldRead(
  field: FieldIr,
  sensitive: boolean,
  disclose: Disclose,
): (facts: Facts) => FieldRead {
  const read = compileRead(field)
  const missing: FieldRead = { field: field.name, state: 'missing', sensitive, disclose }
  return (facts) => {
    const value = read(facts)
    if (value === MISSING) return missing
    return {
      field: field.name,
      state: 'value',
      value: value === UNREADABLE ? null : value,
      sensitive,
      disclose,
    }
  }
}
