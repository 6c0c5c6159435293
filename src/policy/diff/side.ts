import type { JsonObject } from '../../contract/json.ts'
import { compileProgram, createProgramParts } from '../evaluate/program.ts'
import type { CompiledSnapshot } from '../evaluate/compile.ts'
import type { ConditionNode, LeafNode } from '../evaluate/conditions.ts'
import { leavesOf as nodesOf, truthOfLeaf } from '../evaluate/conditions.ts'
import { fieldText } from '../language/fields.ts'
import type { Test } from '../language/operators.ts'
import type { BundleIr, FieldIr } from '../language/rule.ts'
import { truthOf, type Truth } from '../language/truth.ts'
import { unmeasured } from '../evaluate/limits.ts'
import { factOf, type Facts } from '../language/facts.ts'
import type { CompiledLimit, CompiledRule } from '../evaluate/run.ts'
import type { Call, ToolContract } from '../language/snapshot.ts'
import { createClock } from '../language/time.ts'
import type { CaseResult } from '../tests/run.ts'
import { remember } from '../language/remember.ts'

/** One of the two bundles, as data and as an evaluator. */
export interface Bundle {
  readonly ir: BundleIr
  readonly snapshot: CompiledSnapshot
  /** The inline tests, whose payloads are examples. */
  readonly results: readonly CaseResult[]
}

/** Returns the payloads of the inline tests of a tool. */
export function testedPayloads(sides: readonly Side[], tool: string): readonly JsonObject[] {
  const cases = sides.flatMap(({ bundle }) => bundle.results.map((result) => result.case))
  return cases.filter((one) => one.tool === tool).map(({ payload }) => payload)
}

/** One tool in one of the two bundles. */
export interface Side {
  readonly bundle: Bundle
  /** The tool's contract; absent when the bundle lacks the tool. The gateway then rejects every call of the tool. */
  readonly contract: ToolContract | undefined
  /** The enforced rules. Shadow rules never decide a call. */
  readonly rules: readonly SideRule[]
  /** The enforced limits, as rules that fire on calls that the limit cannot measure. Earlier charges are ignored. */
  readonly limits: readonly SideRule[]
}

export interface SideRule {
  readonly rule: CompiledRule | CompiledLimit
  readonly condition: ConditionNode
  readonly leafOf: (node: LeafNode) => Leaf
  /** The questions whether the first day has come, and whether the last day is over. */
  readonly from: Leaf | undefined
  readonly until: Leaf | undefined
}

/** A question that a rule asks about a call. Leaves with equal keys have equal answers. */
export interface Leaf {
  readonly key: string
  readonly field: FieldIr | 'date'
  /** The test; absent for a date. */
  readonly test?: Test
  /** The time from which on the answer is yes, for a date. */
  readonly fromMs?: number
  truth(call: Call): Truth
}

export function createSide(bundle: Bundle, tool: string): Side {
  const ir = bundle.ir.tools.find(({ contract }) => contract.name === tool)
  if (ir === undefined) return { bundle, contract: undefined, rules: [], limits: [] }
  const files = ir.ruleFiles.flatMap((index) => bundle.ir.ruleFiles[index] ?? [])
  const { rules, limits } = compileProgram(ir.contract, files, createProgramParts())
  const { routing, directory } = bundle.ir.head
  const { timezone } = routing
  const facts = { tool: ir.contract, clock: createClock(timezone), directory }
  const leaves = new Map<LeafNode, Leaf>()
  const leafOf = (node: LeafNode): Leaf => remember(leaves, node, () => createLeaf(node, facts, timezone))
  const enforced = rules.filter((rule) => rule.enforced)
  return {
    bundle,
    contract: ir.contract,
    rules: enforced.map((rule) => ({
      rule,
      condition: rule.condition,
      leafOf,
      from: dateLeaf(rule.fromMs),
      until: dateLeaf(rule.untilMs),
    })),
    limits: limits.filter(({ enforced }) => enforced).map((limit) => sideLimit(limit, facts)),
  }
}

function sideLimit(limit: CompiledLimit, facts: Omit<Facts, 'call'>): SideRule {
  const measured = [limit.sum, limit.per].filter((node) => node !== undefined)
  return {
    rule: limit,
    condition: { kind: 'any', items: measured },
    leafOf: (node) => unmeasuredLeaf(limit, node, facts),
    from: undefined,
    until: undefined,
  }
}

function unmeasuredLeaf(limit: CompiledLimit, node: LeafNode, facts: Omit<Facts, 'call'>): Leaf {
  const isSum = node === limit.sum
  const one = { ir: limit.ir, sum: isSum ? node : undefined, per: isSum ? undefined : node }
  return {
    key: `unmeasured ${keyOf(node, [isSum, factOf(node.field.root)?.put === 'by the contract' ? facts.tool : ''])}`,
    field: node.field,
    test: node.test,
    truth: (call) => truthOf(unmeasured(one, { ...facts, call }).length > 0),
  }
}

function createLeaf(node: LeafNode, facts: Omit<Facts, 'call'>, timezone: string): Leaf {
  const { field, test } = node
  const put = factOf(field.root)?.put
  const context = put === 'by the time' ? timezone : put === 'by the contract' ? facts.tool : ''
  const key = keyOf(node, context)
  return { key, field, test, truth: (call) => truthOfLeaf(node, { ...facts, call }) }
}

function keyOf({ field, test, whenMissing }: LeafNode, context: unknown): string {
  return JSON.stringify([fieldText(field), test, whenMissing, context])
}

/** Returns the question whether a time has come. */
function dateLeaf(fromMs: number | undefined): Leaf | undefined {
  if (fromMs === undefined) return undefined
  return { key: `date ${fromMs}`, field: 'date', fromMs, truth: ({ at }) => truthOf(at >= fromMs) }
}

/** Returns every leaf of the rules and limits once. */
export function leavesOf({ rules, limits }: Side): readonly Leaf[] {
  const found = new Set<Leaf>()
  for (const { condition, leafOf, from, until } of [...rules, ...limits]) {
    for (const node of nodesOf(condition)) found.add(leafOf(node))
    for (const date of [from, until]) if (date) found.add(date)
  }
  return [...found]
}
