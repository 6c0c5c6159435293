import { fieldText } from '../language/fields.ts'
import type { JsonValue } from '../../contract/json.ts'
import { resultText } from '../language/functions.ts'
import { MISSING, UNREADABLE, type Applied, type AppliedElement, type Reading } from '../language/reading.ts'
import { isSensitive } from '../language/sensitive.ts'
import { duration } from '../language/time.ts'
import { hoursText } from '../language/working-time.ts'
import { FALSE, TRUE, UNKNOWN, type Truth } from '../language/truth.ts'
import { NOTHING } from '../schema/when-missing.ts'
import { describeTest, describeUnknown } from '../language/words.ts'
import {
  foldCondition,
  joinTruths,
  truthOfValue,
  valueOfLeaf,
  type ConditionNode,
  type LeafNode,
} from './conditions.ts'
import type { Because } from '../../domain/because.ts'
import { reasonsOfEntries } from './because.ts'
import { isInForce } from './plan.ts'
import type { Program } from './program.ts'
import type { Facts } from '../language/facts.ts'
import type { CompiledLimit, CompiledRule } from './run.ts'
import type { FieldRead, LimitUse, Outcome } from '../language/snapshot.ts'
import type {
  Answer,
  ConditionExplanation,
  Explanation,
  LimitExplanation,
  RuleExplanation,
} from './explanation.ts'

export function explainOutcome(
  revision: string,
  outcome: Outcome,
  { program, facts }: { readonly program?: Program | undefined; readonly facts?: Facts },
): Explanation {
  const fired = new Set(outcome.fired.map((rule) => rule.id))
  const { limits: uses = [], ...decided } = outcome
  return {
    revision,
    outcome: { ...decided, reads: outcome.reads.map(withoutSecret) },
    rules: facts ? (program?.rules ?? []).map((rule) => explainRule(rule, facts, fired)) : [],
    limits: (program?.limits ?? []).map((limit) => explainLimit(limit, uses, fired)),
  }
}

function explainLimit(
  { ir, onTrue }: CompiledLimit,
  uses: readonly LimitUse[],
  fired: ReadonlySet<string>,
): LimitExplanation {
  const { id, verdict, mode, reason, line, atMost, withinMs, per } = ir
  const use = uses.find((one) => one.id === id)
  const withoutUse = fired.has(id) ? 'cannot tell' : 'not used'
  return {
    id,
    verdict,
    mode,
    file: onTrue.fired.file,
    line,
    reason,
    result: use === undefined ? withoutUse : fired.has(id) ? 'full' : 'room',
    ...(use === undefined || use.sensitive ? {} : { amount: use.amount }),
    at_most: atMost,
    within_ms: withinMs,
    per: typeof per === 'string' ? per : fieldText(per),
  }
}

function withoutSecret(read: FieldRead): FieldRead {
  const { disclose: _, ...known } = read
  if (!read.sensitive) return known
  const { value: __, ...rest } = known
  return rest
}

function explainRule(rule: CompiledRule, facts: Facts, fired: ReadonlySet<string>): RuleExplanation {
  const { ir, file } = rule
  const conditions = explainCondition(rule.condition, facts)
  const { id, mode, line, reason } = ir
  const isEarly = rule.fromMs !== undefined && facts.call.at < rule.fromMs
  const result = isInForce(rule, facts.call.at) ? RESULTS[conditions.answer] : isEarly ? 'not yet' : 'over'
  return {
    id,
    verdict: result === 'cannot tell' ? rule.onUnknown.rule.verdict : rule.verdict,
    mode,
    file: file.path,
    line,
    reason,
    result,
    fired: fired.has(id),
    conditions,
  }
}

const RESULTS = { no: 'not fired', yes: 'fired', 'cannot tell': 'cannot tell' } as const
const ANSWERS: Readonly<Record<Truth, Answer>> = { 0: 'no', 1: 'yes', 2: 'cannot tell' }
const TRUTHS: Readonly<Record<Answer, Truth>> = { no: FALSE, yes: TRUE, 'cannot tell': UNKNOWN }

/** Explains every part of a condition, even those that a decision skips. */
function explainCondition(condition: ConditionNode, facts: Facts): ConditionExplanation {
  return foldCondition<ConditionExplanation>(
    condition,
    (leaf) => explainTest(leaf, facts),
    (kind, items) => {
      const truths = items.map(({ answer }) => TRUTHS[answer])
      return { kind, answer: ANSWERS[joinTruths(kind, truths)], items }
    },
  )
}

function explainTest(leaf: LeafNode, facts: Facts): ConditionExplanation {
  const { field, fn, test } = leaf
  const value = valueOfLeaf(leaf, facts)
  const truth = truthOfValue(leaf, value)
  const sensitive = isSensitive(facts.tool.sensitive, field.name)
  const reasons = reasonsOfEntries(leaf, truth, facts).map(reasonText)
  const hasResult = fn !== undefined && value !== NOTHING && !sensitive
  return {
    kind: 'test',
    answer: ANSWERS[truth],
    field: fieldText(field),
    test: describeTest(test),
    read: readText(leaf.read(facts), sensitive),
    ...(reasons.length > 0 && { entries: reasons }),
    ...(hasResult && { returned: shorten(appliedText(value)) }),
    ...(truth === UNKNOWN && value !== NOTHING && { problem: describeUnknown(test, value) }),
  }
}

function reasonText({ field, value, read, state, hidden }: Because): string {
  const shown = JSON.stringify(read ?? value)
  const name = read === undefined ? field : `${field} gives`
  return `${name} ${state ?? (hidden ? '(sensitive)' : shorten(shown))}`
}

function readText(value: Reading, sensitive: boolean): string {
  if (value === MISSING) return 'missing'
  return sensitive ? '(sensitive)' : shorten(JSON.stringify(value === UNREADABLE ? null : value))
}

/** Formats a value as rules write it, with words unquoted. */
function appliedText(value: Applied | AppliedElement): string {
  if (value === MISSING) return 'missing'
  if (typeof value === 'symbol') return 'unreadable'
  if (Array.isArray(value)) return `[${(value as readonly AppliedElement[]).map(appliedText).join(', ')}]`
  const text = resultText(value as JsonValue)
  return typeof text === 'string' ? text : JSON.stringify(text)
}

const MAX_VALUE = 120

function shorten(text: string): string {
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}...`
}

/** Prints the explanation as text; a star marks the rules that fired. Ends with a newline. */
export function printExplanation({ outcome, rules, limits, revision }: Explanation): string {
  const lines = [
    `${outcome.verdict.toUpperCase()} risk=${outcome.risk} by ${outcome.by.join(', ')} revision ${revision.slice(0, 12)}`,
    outcome.message,
    ...(outcome.requirement ? [`review: ${printRequirement(outcome)}`] : []),
    ...rules.flatMap(printRule),
    ...limits.map(printLimit),
  ]
  return `${lines.join('\n')}\n`
}

function printRequirement({ requirement }: Outcome): string {
  const seats = requirement?.seats.map((seat) => `${seat.approvals} of ${seat.group}`) ?? []
  const signedIn = requirement?.interactive === true ? ', signed in' : ''
  const hours = requirement?.working ? ` of ${hoursText(requirement.working)}` : ''
  return `${seats.join(' and ')}${signedIn}, within ${duration(requirement?.expires_ms ?? 0)}${hours}`
}

function printLimit(limit: LimitExplanation): string {
  const mode = limit.mode === 'shadow' ? ' (shadow)' : ''
  const fires = limit.result === 'full' || limit.result === 'cannot tell'
  const amount = limit.amount === undefined ? '' : ` ${limit.amount}`
  const uses = `uses${amount} of ${limit.at_most} per ${limit.per} within ${duration(limit.within_ms)}`
  return `${fires ? '*' : ' '} ${limit.verdict.padEnd(6)} ${limit.id}${mode}   ${limit.file}:${limit.line}   ${limit.result}: ${uses}`
}

function printRule(rule: RuleExplanation): readonly string[] {
  const mode = rule.mode === 'shadow' ? ' (shadow)' : ''
  const head = `${rule.fired ? '*' : ' '} ${rule.verdict.padEnd(6)} ${rule.id}${mode}   ${rule.file}:${rule.line}   ${rule.result}`
  return [head, ...printCondition(rule.conditions, 1)]
}

function printCondition(condition: ConditionExplanation, depth: number): readonly string[] {
  const indent = '    '.repeat(depth)
  if (condition.kind === 'test') {
    const gave =
      condition.returned === undefined || condition.read === 'missing' ? '' : ` gives ${condition.returned}`
    const why =
      condition.problem === undefined || condition.read === 'missing' ? '' : `, ${condition.problem}`
    const entries = (condition.entries ?? []).map((entry) => `${indent}            ${entry}`)
    const read = `(${condition.read}${gave}${why})`
    return [
      `${indent}${condition.answer.padEnd(11)} ${condition.field} ${condition.test}   ${read}`,
      ...entries,
    ]
  }
  if (condition.kind === 'all') return condition.items.flatMap((item) => printCondition(item, depth))
  const title = condition.kind === 'any' ? 'any of' : 'not'
  return [
    `${indent}${condition.answer.padEnd(11)} ${title}`,
    ...condition.items.flatMap((item) => printCondition(item, depth + 1)),
  ]
}
