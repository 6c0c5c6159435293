import { type Because, type FirstBecause, hiddenReason } from '../../domain/because.ts'
import { RISKS, VERDICTS } from '../../domain/decision.ts'
import { digestOf } from '../../domain/digest.ts'
import type { Thread } from '../../domain/thread.ts'
import { isSensitive } from '../../policy/language/sensitive.ts'
import type { Call, FiredRule, Outcome, Snapshot } from '../../policy/language/snapshot.ts'

/** The outcome of a call that reviewers decide, with the values that made its rules fire. */
export function withReasons(snapshot: Snapshot | undefined, call: Call, outcome: Outcome): Outcome {
  if (snapshot === undefined || outcome.fired.length === 0) return outcome
  return { ...outcome, fired: snapshot.withReasons(call, outcome.fired) }
}

/** The members of a thread that describe the rules that fired, for lists. */
export function reasonsOf(fired: readonly FiredRule[]): Pick<Thread, 'because' | 'rules_digest'> {
  const first = firstReason(fired)
  const ids = fired.map(({ id, mode }) => [id, mode])
  const rules_digest = digestOf(ids).slice(0, DIGEST_CHARS)
  return first === undefined ? { rules_digest } : { rules_digest, because: first }
}

const DIGEST_CHARS = 22

/** The first value of the enforced rule that set the risk: the highest risk, then the strictest verdict. */
function firstReason(fired: readonly FiredRule[]): FirstBecause | undefined {
  let leading: FiredRule | undefined
  for (const rule of fired) {
    if (rule.mode === 'shadow' || rule.because === undefined || rule.because.length === 0) continue
    if (leading === undefined || weightOf(rule) > weightOf(leading)) leading = rule
  }
  const [first] = leading?.because ?? []
  return leading && first && { rule: leading.id, ...first }
}

function weightOf({ risk, verdict }: FiredRule): number {
  const level = risk === undefined ? -1 : RISKS.indexOf(risk)
  return level * VERDICTS.length + VERDICTS.indexOf(verdict)
}

/**
 * The reason as it may be shown now. Values that the contract in force marks as sensitive are hidden; without a
 * contract, all values of the payload are.
 */
export function shownReason<T extends Because>(snapshot: Snapshot | undefined, tool: string, one: T): T {
  const sensitive = snapshot?.tools.get(tool)?.sensitive
  const isHidden =
    sensitive === undefined ? one.field.startsWith('payload') : isSensitive(sensitive, one.field)
  return isHidden && one.hidden !== true ? hiddenReason(one) : one
}
