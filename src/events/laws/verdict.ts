import type { JsonValue } from '../../contract/json.ts'
import { strictest, type Verdict } from '../../domain/decision.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { listOf, objectOf, requireThat, textOf } from '../record/require.ts'

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

/** Requires a consistent verdict. @throws LawBroken */
export function requireVerdict(known: RuleVerdicts, { details }: ReadEvent, verdict: Verdict): void {
  requireAsked(details)
  requireLimits(details, verdict)
  const by = textsIn(details['by'], 'by')
  const rules = textsIn(details['rules'], 'rules')
  requireThat(by.size > 0, 'nothing decided it')
  for (const id of by) requireDecided(id, rules, verdict)
  const ruled = ruledAs(by, rules, verdict)
  if (ruled === undefined) return
  const policy = textOf(details['policy'], 'policy')
  for (const id of rules) requireRule(known, { policy, id, ruled, decided: by.has(id) })
}

/** Requires the payload as a digest or, when it may be sensitive, as a commitment. */
function requireAsked({ payload_digest, payload_commitment, nonce }: ReadEvent['details']): void {
  const isPlain = payload_digest !== undefined
  textOf(isPlain ? payload_digest : payload_commitment, 'payload_digest')
  requireThat(isPlain !== (payload_commitment !== undefined), 'the record holds its payload twice')
  if (!isPlain) textOf(nonce, 'nonce')
}

/**
 * Requires that exactly the exhausted limits have fired. Such a limit reviews or rejects, except as `shadow`.
 */
function requireLimits({ limits = [], rules, shadow = [] }: ReadEvent['details'], verdict: Verdict): void {
  const enforced = textsIn(rules, 'rules')
  const fired = new Set([...enforced, ...textsIn(shadow, 'shadow')])
  for (const use of listOf(limits, 'limits')) {
    const { id: named, over } = objectOf(use, 'a limit')
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

/** Returns a set, like the functions above, because a file may contain any number of ids. */
function textsIn(value: JsonValue | undefined, name: string): ReadonlySet<string> {
  return new Set(listOf(value, name).map((one) => textOf(one, name)))
}
