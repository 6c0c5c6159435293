import type { JsonObject } from '../../contract/json.ts'
import { strictest, type Verdict } from '../../domain/decision.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { requireThat, textOf } from '../record/require.ts'

/*
 * The consistency of a verdict with its record (docs/policy-language.md). The strictest rule that fired decides. A
 * limit fires when it is exhausted. Within one bundle, a rule always has the same verdict.
 */

/**
 * The deciding id when no rule decides: no rule covers the call, or its risk is too high to run without a reviewer.
 */
const UNMATCHED = 'unmatched'
const ALLOW_UP_TO = 'allow_up_to'

/** Verdicts of rules and limits, as their decisions state them, by bundle and id. */
export type RuleVerdicts = Map<string, Verdict>

/** The members of a decision with which its verdict must agree. */
export interface Judged {
  readonly by: readonly string[]
  readonly rules: readonly string[]
  readonly shadow?: readonly string[] | undefined
  readonly limits?: readonly JsonObject[] | undefined
  readonly policy: string
  readonly commitment?: string | undefined
  readonly masked?: readonly string[] | undefined
}

/** Requires a consistent verdict. @throws LawBroken */
export function requireVerdict(known: RuleVerdicts, { details }: ReadEvent<Judged>, verdict: Verdict): void {
  requireAsked(details)
  requireLimits(details, verdict)
  // sets, because a file may contain any number of ids
  const by = new Set(details.by)
  const rules = new Set(details.rules)
  requireThat(by.size > 0, 'nothing decided it')
  for (const id of by) requireDecided(id, rules, verdict)
  const ruled = ruledAs(by, rules, verdict)
  if (ruled === undefined) return
  for (const id of rules) requireRule(known, { policy: details.policy, id, ruled, decided: by.has(id) })
}

/** Requires the call: a commitment to its values or, when all of them may be sensitive, their names. */
function requireAsked({ commitment, masked }: Judged): void {
  requireThat(commitment !== undefined || masked !== undefined, 'its `commitment` is missing')
}

/**
 * Requires that exactly the exhausted limits have fired. Such a limit reviews or rejects, except as `shadow`.
 */
function requireLimits({ limits = [], rules, shadow = [] }: Judged, verdict: Verdict): void {
  const enforced = new Set(rules)
  const fired = new Set([...rules, ...shadow])
  for (const { id: named, over } of limits) {
    const id = textOf(named, 'id')
    const name = JSON.stringify(id)
    const stops = over === true && enforced.has(id)
    requireThat(verdict !== 'allow' || !stops, `there was no room in the limit ${name}`)
    requireThat(
      fired.has(id) === (over === true),
      `the record contradicts itself about room in the limit ${name}`,
    )
  }
}

/** Requires that a deciding id has fired. Without fired rules, it is a code, and the verdict a rejection. */
function requireDecided(id: string, rules: ReadonlySet<string>, verdict: Verdict): void {
  const named = rules.has(id) || id === UNMATCHED || (id === ALLOW_UP_TO && verdict === 'review')
  requireThat(named || (rules.size === 0 && verdict === 'reject'), `${JSON.stringify(id)} had not fired`)
}

/**
 * The verdict of the rules, before `allow_up_to`; undefined when a rule with the id `allow_up_to` makes it ambiguous.
 */
function ruledAs(by: ReadonlySet<string>, rules: ReadonlySet<string>, verdict: Verdict): Verdict | undefined {
  if (!by.has(ALLOW_UP_TO)) return verdict
  return rules.has(ALLOW_UP_TO) ? undefined : 'allow'
}

interface Fired {
  readonly policy: string
  readonly id: string
  /** The verdict of all fired rules. */
  readonly ruled: Verdict
  /** True when the record lists the id as deciding. */
  readonly decided: boolean
}

/** A deciding rule has the verdict of the outcome; every other fired rule has a weaker verdict. */
function requireRule(known: RuleVerdicts, { policy, id, ruled, decided }: Fired): void {
  const key = JSON.stringify([policy, id])
  const before = known.get(key)
  const name = JSON.stringify(id)
  if (decided) {
    requireThat(
      before === undefined || before === ruled,
      `the rule ${name} of this bundle gave \`${before}\` before`,
    )
    known.set(key, ruled)
    return
  }
  requireThat(ruled !== 'allow', `the rule ${name} fired but did not decide`)
  const isWeaker = before === undefined || (before !== ruled && strictest(before, ruled) === ruled)
  requireThat(isWeaker, `the rule ${name} of this bundle gave \`${before}\` before, and it fired`)
}
