import type { JsonValue } from '../../contract/json.ts'
import { strictest, type Verdict } from '../../domain/decision.ts'
import type { ReadEvent } from '../read-event.ts'
import { listOf, objectOf, requireThat, textOf } from '../require.ts'

/*
 * Whether a verdict follows from what is told beside it (docs/policy-language.md): the strictest rule that fired decides, a limit fires when it has no room,
 * and within one bundle a rule has one verdict, wherever it fires.
 */

/** What stands among the deciding ids without having fired: no rule covers the call, or its risk is above what is allowed without people. */
const UNMATCHED = 'unmatched'
const ALLOW_UP_TO = 'allow_up_to'

/** Verdicts of rules and limits, as their decisions state them, by bundle and id. */
export type RuleVerdicts = Map<string, Verdict>

/** @throws LawBroken */
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

/** What was asked for stands there as a digest, or, where it may be sensitive, as a commitment. */
function requireAsked({ payload_digest, payload_commitment, nonce }: ReadEvent['details']): void {
  const isPlain = payload_digest !== undefined
  textOf(isPlain ? payload_digest : payload_commitment, 'payload_digest')
  requireThat(isPlain !== (payload_commitment !== undefined), 'its payload stands there twice')
  if (!isPlain) textOf(nonce, 'nonce')
}

/** One without room has fired, and no other: it asks people or rejects, unless it is only tried (`shadow`). */
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
      `whether there was room in the limit ${name} is told in two ways`,
    )
  }
}

/** Where nothing fired, a code stands in the place of a rule: nothing but a rejection. */
function requireDecided(id: string, rules: ReadonlySet<string>, verdict: Verdict): void {
  const named = rules.has(id) || id === UNMATCHED || (id === ALLOW_UP_TO && verdict === 'review')
  requireThat(named || (rules.size === 0 && verdict === 'reject'), `${JSON.stringify(id)} had not fired`)
}

/** What the rules came to, before `allow_up_to`; undefined where a rule of that name keeps anybody from telling. */
function ruledAs(by: ReadonlySet<string>, rules: ReadonlySet<string>, verdict: Verdict): Verdict | undefined {
  if (!by.has(ALLOW_UP_TO)) return verdict
  return rules.has(ALLOW_UP_TO) ? undefined : 'allow'
}

interface Fired {
  readonly policy: string
  readonly id: string
  /** What all that fired came to. */
  readonly ruled: Verdict
  /** It is said to have decided. */
  readonly decided: boolean
}

/** One that decided has the verdict that came of it; all others that fired, a weaker one. */
function requireRule(known: RuleVerdicts, { policy, id, ruled, decided }: Fired): void {
  const key = JSON.stringify([policy, id])
  const before = known.get(key)
  const name = JSON.stringify(id)
  if (decided) {
    requireThat(
      before === undefined || before === ruled,
      `the rule ${name} of this bundle said \`${before}\` before`,
    )
    known.set(key, ruled)
    return
  }
  requireThat(ruled !== 'allow', `the rule ${name} fired, and did not decide`)
  const isWeaker = before === undefined || (before !== ruled && strictest(before, ruled) === ruled)
  requireThat(isWeaker, `the rule ${name} of this bundle said \`${before}\` before, and it fired`)
}

/** Sets, here and above: a file may name any number. */
function textsIn(value: JsonValue | undefined, name: string): ReadonlySet<string> {
  return new Set(listOf(value, name).map((one) => textOf(one, name)))
}
