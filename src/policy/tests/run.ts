import { defined } from '../../contract/defined.ts'
import type { CaseIr, CaseTime } from '../check/case.ts'
import type { CompiledSnapshot } from '../evaluate/compile.ts'
import type { BundleIr } from '../language/rule.ts'
import { callUnder } from '../evaluate/limits.ts'
import { type Call, NO_HISTORY, type Outcome } from '../language/snapshot.ts'
import { instantOf, weekdayBefore } from '../language/time.ts'

/** The result of one inline test. */
export interface CaseResult {
  readonly case: CaseIr
  readonly outcome?: Outcome
  /** Empty when the test passed. */
  readonly problems: readonly string[]
}

/**
 * Runs the inline tests through the same decision code as a real call. By default, agent `test` calls on a Monday at
 * 12:00 in the routing time zone, before every `from` and `until`. The directory does not restrict tools.
 */
export async function runSuite(
  snapshot: CompiledSnapshot,
  ir: BundleIr,
  cases: readonly CaseIr[],
): Promise<readonly CaseResult[]> {
  const { timezone } = ir.head.routing
  const firstDate = ir.ruleFiles
    .flatMap((file) => file.rules)
    .reduce(
      (first, { fromMs = Infinity, untilMs = Infinity }) => Math.min(first, fromMs, untilMs),
      Number.POSITIVE_INFINITY,
    )
  const usual = weekdayBefore(timezone, firstDate, { weekday: 'mon', hour: 12 })
  const results: CaseResult[] = []
  for (const one of cases) {
    const at = one.time ? timeOf(one.time, timezone, firstDate) : usual
    results.push(await runCase(snapshot, one, at))
  }
  return results
}

/** Returns the rules, including shadow rules, that did not fire in any test. */
export function untestedRules<R extends { readonly id: string }>(
  results: readonly CaseResult[],
  rules: readonly R[],
): readonly R[] {
  const fired = new Set(results.flatMap(({ outcome }) => outcome?.fired.map((rule) => rule.id) ?? []))
  return rules.filter((rule) => !fired.has(rule.id))
}

async function runCase(snapshot: CompiledSnapshot, one: CaseIr, at: number): Promise<CaseResult> {
  const misfits = snapshot.checkPayload(one.tool, one.payload)
  if (misfits.length > 0) {
    const shown = misfits.map(({ pointer, message }) => `${pointer === '' ? 'payload' : pointer} ${message}`)
    return { case: one, problems: [`the payload does not fit the contract: ${shown.join('; ')}`] }
  }
  const { tool, payload, riskLevel } = one
  const asked = { tool, payload, agent: 'test', tenant: 'test', at, history: NO_HISTORY }
  const call: Call = one.set({ ...asked, ...defined({ riskLevel }) })
  const alone = await snapshot.judge(call)
  const under = callUnder(call, alone, one.used)
  const outcome = under === call ? alone : await snapshot.judge(under)
  const unknown = [...one.used.keys()].filter((id) => !outcome.limits?.some((limit) => limit.id === id))
  const notLimits = unknown.map((id) => `\`${id}\` is not a limit that this call uses`)
  return { case: one, outcome, problems: [...notLimits, ...compareOutcome(one, outcome)] }
}

function compareOutcome(one: CaseIr, outcome: Outcome): readonly string[] {
  const problems: string[] = []
  const got = outcome.by.join(', ')
  if (outcome.verdict !== one.verdict) {
    problems.push(`expected ${one.verdict}, got ${outcome.verdict} by ${got}: ${outcome.message}`)
  }
  if (one.risk !== undefined && outcome.risk !== one.risk)
    problems.push(`expected risk ${one.risk}, got ${outcome.risk}`)
  if (one.by && [...one.by].sort().join(', ') !== got)
    problems.push(`expected by ${one.by.join(', ') || 'nothing'}, got ${got}`)
  return problems
}

function timeOf(time: CaseTime, timezone: string, firstDate: number): number {
  return 'localMs' in time ? instantOf(timezone, time.localMs) : weekdayBefore(timezone, firstDate, time)
}
