import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import type { ReviewRequirement } from '../../src/domain/decision.ts'
import {
  createConditionCompiler,
  type ConditionNode,
  type LeafNode,
} from '../../src/policy/evaluate/conditions.ts'
import { fieldText } from '../../src/policy/language/fields.ts'
import type { BundleIr, FieldIr, RuleFileIr, RuleIr, ToolIr } from '../../src/policy/language/rule.ts'
import type { ToolContract } from '../../src/policy/language/snapshot.ts'
import { createWhenMissing } from '../../src/policy/schema/when-missing.ts'

/**
 * The rules of a bundle as plain json-rules-engine JSON: the input of the oracle (portable-engine.ts). It has four
 * operators and one constant fact, `call`. A condition of ours has three answers, and one of the engine has two. So
 * each operator says which of the three it wants. `all` and `any` over such halves equal the three-valued ones, and
 * `not` swaps the halves.
 */
export interface PortableBundle {
  readonly format: typeof PORTABLE_FORMAT
  readonly revision: string
  readonly routing: JsonObject
  /** In name order. */
  readonly tools: readonly PortableTool[]
}

export interface PortableTool {
  readonly tool: string
  readonly risk: string
  readonly labels: readonly string[]
  readonly reversibility?: string
  /** For `engine.addRule`, in id order. */
  readonly rules: readonly PortableRule[]
}

export interface PortableRule {
  readonly name: string
  readonly event: { readonly type: 'allow' | 'review' | 'reject' | 'match'; readonly params: JsonObject }
  readonly conditions: PortableConditions
}

export type PortableConditions = { readonly all: readonly PortableCondition[] }
export type PortableCondition =
  | { readonly all: readonly PortableCondition[] }
  | { readonly any: readonly PortableCondition[] }
  | { readonly not: PortableCondition }
  | { readonly fact: 'call'; readonly operator: PortableOperator; readonly value: JsonValue }

/** `always` and `before` are two-valued; the others name the answers of a test that they take for a match. */
export type PortableOperator = 'is_true' | 'is_not_false' | 'before' | 'always'
export const PORTABLE_FORMAT = 'countersign-rules/1'

/** Every rule of a checked bundle, once for each tool it applies to: defaults come from the tool's contract. */
export function portableBundle(ir: BundleIr): PortableBundle {
  const { unmatched, allowUpTo, timezone, levels } = ir.head.routing
  const tools = ir.tools.map((tool) => portableTool(tool, ir.ruleFiles))
  return {
    format: PORTABLE_FORMAT,
    revision: ir.head.revision,
    routing: { unmatched, allow_up_to: allowUpTo, timezone, levels: plain(levels) },
    tools: tools.toSorted((a, b) => (a.tool < b.tool ? -1 : 1)),
  }
}

function portableTool({ contract, ruleFiles }: ToolIr, files: readonly RuleFileIr[]): PortableTool {
  const { name, risk, labels, reversibility } = contract
  const rules = ruleFiles.flatMap((index) => portableRules(contract, files[index]))
  return {
    tool: name,
    risk,
    labels,
    ...(reversibility === undefined ? {} : { reversibility }),
    rules: rules.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  }
}

function portableRules(tool: ToolContract, file: RuleFileIr | undefined): readonly PortableRule[] {
  if (!file) return []
  const missing = createWhenMissing(tool, file)
  const conditions = createConditionCompiler()
  return file.rules.flatMap((rule) =>
    portableRule(rule, file, conditions.compile(missing, rule.when, rule.unless)),
  )
}

/**
 * The action of a rule when it fires. A rule may also fire because an answer is missing. Then a second rule, the match,
 * says whether it fired for certain.
 */
function portableRule(rule: RuleIr, file: RuleFileIr, condition: ConditionNode): readonly PortableRule[] {
  const { id, verdict, unknown } = rule
  const params = paramsOf(rule, file)
  const wanted = verdict === 'allow' || unknown ? 'is_true' : 'is_not_false'
  const fires: PortableRule[] = [
    { name: id, event: { type: verdict, params }, conditions: conditionsOf(rule, condition, wanted) },
  ]
  const open = conditionsOf(rule, condition, 'is_not_false')
  const held = { not: conditionsOf(rule, condition, 'is_true') }
  if (unknown)
    fires.push({
      name: `${id} unknown`,
      event: { type: unknown, params },
      conditions: { all: [...open.all, held] },
    })
  const covers = rule.mode === 'enforced' && !(file.catchAll && verdict === 'review')
  if (!covers) return fires
  const matches: PortableRule = {
    name: `${id} matches`,
    event: { type: 'match', params: { id } },
    conditions: conditionsOf(rule, condition, 'is_true'),
  }
  return [...fires, matches]
}

function paramsOf({ id, reason, mode, line, risk, reviewers }: RuleIr, file: RuleFileIr): JsonObject {
  return {
    id,
    reason,
    mode,
    file: file.path,
    line,
    ...(risk === undefined ? {} : { risk }),
    ...(reviewers === undefined ? {} : { reviewers: reviewersOf(reviewers) }),
  }
}

/** Without `expires` only the levels bound the time. */
function reviewersOf({ expires_ms, ...requirement }: ReviewRequirement): JsonObject {
  const bounded = expires_ms < Number.MAX_SAFE_INTEGER
  return plain(bounded ? { ...requirement, expires_ms } : requirement) as JsonObject
}

/** The root is an `all` with something in it: the engine takes an empty one for true. */
function conditionsOf(
  { fromMs, untilMs }: RuleIr,
  condition: ConditionNode,
  wanted: 'is_true' | 'is_not_false',
): PortableConditions {
  const holds = portableCondition(condition, wanted)
  const items = 'all' in holds ? holds.all : [holds]
  const dates = [
    ...(fromMs === undefined ? [] : [{ not: ask('before', fromMs) }]),
    ...(untilMs === undefined ? [] : [ask('before', untilMs)]),
  ]
  return { all: [...dates, ...items] }
}

function portableCondition(node: ConditionNode, wanted: 'is_true' | 'is_not_false'): PortableCondition {
  if (node.kind === 'leaf') return ask(wanted, portableTest(node))
  if (node.kind === 'not')
    return { not: portableCondition(node.item, wanted === 'is_true' ? 'is_not_false' : 'is_true') }
  const items = node.items.map((item) => portableCondition(item, wanted))
  if (node.kind === 'any') return { any: items }
  return items.length === 0 ? ask('always', true) : { all: items }
}

function ask(operator: PortableOperator, value: JsonValue): PortableCondition {
  return { fact: 'call', operator, value }
}

/** Returns `{ field, keys, function?, missing?, test }`. It has no member `fact`, which the engine would look up. */
function portableTest(leaf: LeafNode): JsonObject {
  const { field, fn, test } = leaf
  return {
    field: fieldText(field),
    keys: keysOf(field),
    ...(fn === undefined ? {} : { function: fn }),
    ...missingOf(leaf),
    test: plain(test),
  }
}

/** The way from the fact to the value, through own members only. */
export function keysOf({ root, path }: FieldIr): readonly (string | number)[] {
  return [...root.split('.'), ...path]
}

function missingOf({ whenMissing, field }: LeafNode): JsonObject {
  if (whenMissing === undefined) return {}
  if (whenMissing.kind === 'nothing') return { missing: { is: 'nothing' } }
  if (whenMissing.kind === 'value') return { missing: { value: whenMissing.value } }
  const keys = keysOf(field)
  const skipped = keys.length - field.path.length
  return {
    missing: {
      defaults: whenMissing.defaults.flatMap((value, depth) =>
        value === undefined ? [] : [{ keys: keys.slice(0, skipped + depth + 1), value }],
      ),
    },
  }
}

function plain(value: object): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue
}
