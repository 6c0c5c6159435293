import {
  joinRequirements,
  maxRisk,
  riskAbove,
  strictest,
  type ReviewRequirement,
  type Risk,
  type Verdict,
} from '../../domain/decision.ts'
import type { RoutingIr } from '../language/rule.ts'
import { fieldText } from '../language/fields.ts'
import { UNKNOWN, type Truth } from '../language/truth.ts'
import { unmeasured, useLimits } from './limits.ts'
import { NOTHING } from '../schema/when-missing.ts'
import { describeUnknown } from '../language/words.ts'
import {
  foldCondition,
  joinTruths,
  truthOfValue,
  valueOfLeaf,
  type ConditionNode,
  type LeafNode,
} from './conditions.ts'
import { createRun, strictestHit, type Program } from './program.ts'
import type { Facts } from '../language/facts.ts'
import type { Hit, Run } from './run.ts'
import type { Call, LimitUse, Outcome, ShadowOutcome } from '../language/snapshot.ts'

/** The data of the bundle that a decision needs in addition to the tool's program. */
export interface Tables extends Pick<Facts, 'clock' | 'directory'> {
  readonly routing: RoutingIr
}

export const UNMATCHED = 'unmatched'
export const ALLOW_UP_TO = 'allow_up_to'

/** Decides a call of a known tool by its rules (docs/policy-language.md). The promise never rejects. */
export async function evaluate(program: Program, tables: Tables, call: Call): Promise<Outcome> {
  const run = createRun(program, { call, clock: tables.clock, directory: tables.directory })
  try {
    const verdict = await program.runEngine(run)
    if (verdict !== strictestHit(run.hits)) return faulty(run, 'engine_mismatch')
    const limits = program.limits.length === 0 ? undefined : useLimits(program.limits, run)
    return conclude(program, tables, { run, limits })
  } catch {
    return faulty(run, 'engine_error')
  }
}

function faulty({ call, tool }: Run, fault: 'engine_error' | 'engine_mismatch'): Outcome {
  const message = 'The policy engine failed on this call, so it is rejected.'
  return { ...refuse(call, { by: fault, message, baseline: tool.risk }), fault }
}

/** Returns a `reject` outcome that does not come from a rule. */
export function refuse(
  call: Call,
  { by, message, baseline }: { readonly by: string; readonly message: string; readonly baseline: Risk },
): Outcome {
  const risk = call.riskLevel === undefined ? baseline : maxRisk(baseline, call.riskLevel)
  return { verdict: 'reject', risk, policyRisk: baseline, message, by: [by], fired: [], reads: [] }
}

interface Ran {
  readonly run: Run
  readonly limits: readonly LimitUse[] | undefined
}

function conclude(program: Program, tables: Tables, { run, limits }: Ran): Outcome {
  const { hits } = run
  if (hits.length > 1) hits.sort(byId)
  const ruling = rulingOf(run, tables.routing, isEnforced)
  const { ruled, risk, policyRisk, matched, capped } = ruling
  const { unmatched, allowUpTo } = tables.routing
  const deciding = hits.filter((hit) => isEnforced(hit) && hit.rule.verdict === ruled)
  const why = {
    run,
    deciding,
    unmatched: !matched && ruled === unmatched,
    cap: capped
      ? `Risk ${risk} is above ${allowUpTo}, up to which calls are allowed without review.`
      : undefined,
  }
  const verdict = verdictOf(ruling)
  const outcome: Omit<Outcome, 'requirement'> = {
    verdict,
    risk,
    policyRisk,
    message: compose(why),
    by: decidingIds(why),
    fired: hits.map((hit) => hit.fired),
    reads: program.reads.map((read) => read(run)),
    ...(limits === undefined ? {} : { limits }),
    ...(hits.every(isEnforced) ? {} : { shadow: shadowOf(run, tables.routing) }),
  }
  return verdict === 'review'
    ? { requirement: requirementOf(tables.routing, outcome, deciding), ...outcome }
    : outcome
}

/** Returns the outcome as if every shadow rule and limit were enforced. */
function shadowOf(run: Run, routing: RoutingIr): ShadowOutcome {
  const ruling = rulingOf(run, routing, () => true)
  return { verdict: verdictOf(ruling), risk: ruling.risk }
}

/** The combined result of rules and limits (docs/policy-language.md). */
export interface Ruling {
  /** The verdict before `allow_up_to`. */
  readonly ruled: Verdict
  readonly risk: Risk
  readonly policyRisk: Risk
  readonly matched: boolean
  /** True for an allow whose risk is above `allow_up_to`. */
  readonly capped: boolean
}

const isEnforced = ({ rule }: Hit): boolean => rule.enforced

export const verdictOf = ({ ruled, capped }: Ruling): Verdict => (capped ? 'review' : ruled)

/**
 * Combines the hits that `isHeard` accepts. Rules that fire on TRUE match, except limits and review rules of a `tools:
 * ['*']` file.
 */
export function rulingOf(
  { hits, tool, call }: Pick<Run, 'hits' | 'tool' | 'call'>,
  { unmatched, allowUpTo }: RoutingIr,
  isHeard: (hit: Hit) => boolean,
): Ruling {
  let matched = false
  let policyRisk = tool.risk
  let verdict: Verdict | undefined
  for (const hit of hits) {
    if (!isHeard(hit)) continue
    const { rule, fired } = hit
    if (rule.risk !== undefined) policyRisk = maxRisk(policyRisk, rule.risk)
    verdict = verdict === undefined ? rule.verdict : strictest(verdict, rule.verdict)
    matched ||= rule.covers && !fired.unknown
  }
  const risk = call.riskLevel === undefined ? policyRisk : maxRisk(policyRisk, call.riskLevel)
  const joined = matched ? verdict : verdict === undefined ? unmatched : strictest(verdict, unmatched)
  // `matched` implies a verdict. Without a verdict, the result is `reject`.
  const ruled = joined ?? 'reject'
  return { ruled, risk, policyRisk, matched, capped: ruled === 'allow' && riskAbove(risk, allowUpTo) }
}

interface Why {
  readonly run: Run
  readonly deciding: readonly Hit[]
  readonly unmatched: boolean
  /** Set when `allow_up_to` turned an allow into a review. */
  readonly cap: string | undefined
}

function decidingIds({ deciding, unmatched, cap }: Why): readonly string[] {
  const ids = deciding.map((hit) => hit.fired.id)
  if (unmatched) ids.push(UNMATCHED)
  if (cap !== undefined) ids.push(ALLOW_UP_TO)
  return unmatched || cap !== undefined ? ids.sort() : ids
}

function compose({ run, deciding, unmatched, cap }: Why): string {
  const parts = deciding.map((hit) =>
    hit.fired.unknown ? `${hit.fired.reason} (${describeUnchecked(hit, run)})` : hit.fired.reason,
  )
  if (unmatched) parts.push(uncovered(run))
  if (cap !== undefined) parts.push(cap)
  return parts.join(' ')
}

/** Names the fired review rules of files for every tool, because their authors may expect them to match. */
function uncovered({ hits }: Run): string {
  const ids = hits.filter((hit) => isEnforced(hit) && !hit.rule.covers && hit.rule.condition !== undefined)
  if (ids.length === 0) return 'No rule covers this call.'
  const fired = ids.map((hit) => `\`${hit.fired.id}\``).join(', ')
  return `No rule of this tool covers this call: ${fired} fired, and a review rule for every tool covers none.`
}

/** Names every field that left the rule undecided: `could not check payload.cwd: missing`. */
function describeUnchecked({ rule }: Hit, run: Run): string {
  const causes = rule.condition === undefined ? unmeasured(rule, run) : checkAll(rule.condition, run).causes
  return `could not check ${[...new Set(causes)].sort().join(', ')}`
}

/** The truth of a condition, and the fields that leave it UNKNOWN, each with its reason. */
interface Checked {
  readonly truth: Truth
  readonly causes: readonly string[]
}

function checkAll(condition: ConditionNode, facts: Facts): Checked {
  return foldCondition<Checked>(
    condition,
    (leaf) => checkLeaf(leaf, facts),
    (kind, parts) => {
      const truth = joinTruths(
        kind,
        parts.map((part) => part.truth),
      )
      return { truth, causes: truth === UNKNOWN ? parts.flatMap((part) => part.causes) : [] }
    },
  )
}

function checkLeaf(leaf: LeafNode, facts: Facts): Checked {
  const value = valueOfLeaf(leaf, facts)
  const truth = truthOfValue(leaf, value)
  if (truth !== UNKNOWN || value === NOTHING) return { truth, causes: [] }
  const problem = describeUnknown(leaf.test, value)
  return { truth, causes: [`${problem === 'missing' ? leaf.field.name : fieldText(leaf.field)}: ${problem}`] }
}

/** Joins levels[policy risk], levels[risk] and the reviewers of every deciding rule. */
function requirementOf(
  { levels }: RoutingIr,
  { policyRisk, risk }: Outcome,
  deciding: readonly Hit[],
): ReviewRequirement {
  let requirement = joinRequirements(levels[policyRisk], levels[risk])
  for (const { rule } of deciding)
    if (rule.reviewers) requirement = joinRequirements(requirement, rule.reviewers)
  return requirement
}

function byId(a: Hit, b: Hit): number {
  return a.fired.id < b.fired.id ? -1 : a.fired.id > b.fired.id ? 1 : 0
}
