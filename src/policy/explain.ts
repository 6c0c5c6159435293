import type { Verdict } from '../domain/decision.ts'
import type { Truth } from './kleene.ts'
import { isOver } from './plan.ts'
import type { CompiledRule, Facts, Trace } from './run.ts'
import type { FieldRead, Outcome } from './snapshot.ts'
import { traceNode } from './trace.ts'

export type Answer = 'yes' | 'no' | 'cannot tell'

/** Why a call was decided as it was, rule by rule. Plain data: what `countersign explain --format json` prints. */
export interface Explanation {
  readonly revision: string
  /** Values of sensitive fields are left out. */
  readonly outcome: Outcome
  /** Every rule that applies to the tool, in id order. */
  readonly rules: readonly RuleExplanation[]
}

export interface RuleExplanation {
  readonly id: string
  readonly verdict: Verdict
  readonly mode: 'enforced' | 'shadow'
  readonly file: string
  readonly line: number
  readonly reason: string
  /** `cannot tell` fires a review or reject rule and not an allow rule; `over` is past its `until`. */
  readonly result: 'fired' | 'not fired' | 'cannot tell' | 'over'
  readonly fired: boolean
  readonly conditions: ConditionExplanation
}

export type ConditionExplanation =
  | {
      readonly kind: 'all' | 'any' | 'not'
      readonly answer: Answer
      readonly items: readonly ConditionExplanation[]
    }
  | {
      readonly kind: 'test'
      readonly answer: Answer
      readonly field: string
      readonly test: string
      /** JSON text of the value read, `missing`, or `(sensitive)`. */
      readonly read: string
      readonly problem?: string
    }

export function explainOutcome(
  revision: string,
  outcome: Outcome,
  { rules, facts }: { readonly rules: readonly CompiledRule[]; readonly facts?: Facts },
): Explanation {
  const fired = new Set(outcome.fired.map((rule) => rule.id))
  const shown = { ...outcome, reads: outcome.reads.map(withoutSecret) }
  return {
    revision,
    outcome: shown,
    rules: facts ? rules.map((rule) => explainRule(rule, facts, fired)) : [],
  }
}

function withoutSecret(read: FieldRead): FieldRead {
  if (!read.sensitive) return read
  const { value: _, ...rest } = read
  return rest
}

function explainRule(rule: CompiledRule, facts: Facts, fired: ReadonlySet<string>): RuleExplanation {
  const { ir, file } = rule
  const trace = traceNode(rule.condition, facts)
  const { id, verdict, mode, line, reason } = ir
  const result = isOver(rule, facts.call.at) ? 'over' : RESULTS[trace.truth]
  return {
    id,
    verdict,
    mode,
    file: file.path,
    line,
    reason,
    result,
    fired: fired.has(id),
    conditions: explainTrace(trace),
  }
}

const RESULTS = ['not fired', 'fired', 'cannot tell'] as const
const ANSWERS: Readonly<Record<Truth, Answer>> = { 0: 'no', 1: 'yes', 2: 'cannot tell' }

function explainTrace(trace: Trace): ConditionExplanation {
  const answer = ANSWERS[trace.truth]
  if (trace.kind !== 'leaf') return { kind: trace.kind, answer, items: trace.items.map(explainTrace) }
  const { field, test, read, problem } = trace
  const value =
    read.state === 'missing'
      ? 'missing'
      : read.sensitive
        ? '(sensitive)'
        : shorten(JSON.stringify(read.value))
  return { kind: 'test', answer, field, test, read: value, ...(problem === undefined ? {} : { problem }) }
}

const MAX_VALUE = 120

function shorten(text: string): string {
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}...`
}

/** The explanation as text; a star marks the rules that fired. Ends with a newline. */
export function printExplanation({ outcome, rules, revision }: Explanation): string {
  const lines = [
    `${outcome.verdict.toUpperCase()} risk=${outcome.risk} by ${outcome.by.join(', ')} revision ${revision.slice(0, 12)}`,
    outcome.message,
    ...(outcome.requirement ? [`review: ${printRequirement(outcome)}`] : []),
    ...rules.flatMap(printRule),
  ]
  return `${lines.join('\n')}\n`
}

function printRequirement({ requirement }: Outcome): string {
  const seats = requirement?.seats.map((seat) => `${seat.approvals} of ${seat.group}`) ?? []
  return `${seats.join(' and ')}, within ${Math.round((requirement?.expires_ms ?? 0) / 60_000)} min`
}

function printRule(rule: RuleExplanation): readonly string[] {
  const mode = rule.mode === 'shadow' ? ' (shadow)' : ''
  const head = `${rule.fired ? '*' : ' '} ${rule.verdict.padEnd(6)} ${rule.id}${mode}   ${rule.file}:${rule.line}   ${rule.result}`
  return [head, ...printCondition(rule.conditions, 1)]
}

function printCondition(condition: ConditionExplanation, depth: number): readonly string[] {
  const indent = '    '.repeat(depth)
  if (condition.kind === 'test') {
    const why =
      condition.problem === undefined || condition.read === 'missing' ? '' : `, ${condition.problem}`
    return [
      `${indent}${condition.answer.padEnd(11)} ${condition.field} ${condition.test}   (${condition.read}${why})`,
    ]
  }
  if (condition.kind === 'all') return condition.items.flatMap((item) => printCondition(item, depth))
  const title = condition.kind === 'any' ? 'any of' : 'not'
  return [
    `${indent}${condition.answer.padEnd(11)} ${title}`,
    ...condition.items.flatMap((item) => printCondition(item, depth + 1)),
  ]
}
