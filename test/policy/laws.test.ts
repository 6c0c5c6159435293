import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import { RISKS, VERDICTS, type Risk, type Verdict } from '../../src/domain/decision.ts'
import type { CompiledSnapshot } from '../../src/policy/evaluate/compile.ts'
import type { Outcome } from '../../src/policy/language/snapshot.ts'
import {
  filesOf,
  payloads,
  policyOf,
  risks,
  ruleOf,
  type Condition,
  type Policy,
  type Rule,
  type Test,
} from './random.ts'
import { bundle, call, snapshotOf } from './support.ts'
import { runs } from '../runs.ts'

/**
 * The laws of docs/policy-language.md hold over random rules and calls. A reference evaluator gives equal outcomes. It
 * is written here, from the specification, and shares no code with the product.
 */
const BUNDLES = runs(1_000)
const CALLS_PER_BUNDLE = 20
const CASES = 20 * BUNDLES

// ---- the reference evaluator: 1 true, 0 unknown, -1 false; and is min, or is max, not is minus ----

const testValue = (test: Test, found: JsonValue | undefined): number => {
  const yes = (truth: boolean): number => (truth ? 1 : -1)
  if ('presence' in test)
    return found === null ? 0 : yes((found === undefined) === (test.presence === 'missing'))
  if ('over' in test) return typeof found === 'number' ? yes(found > test.over) : 0
  if ('at_most' in test) return typeof found === 'number' ? yes(found <= test.at_most) : 0
  if ('is' in test) return typeof found === 'string' ? yes(found === test.is) : 0
  if ('not' in test) return typeof found === 'string' ? yes(found !== test.not) : 0
  const wanted = 'some' in test ? test.some : test.every
  if (!Array.isArray(found)) return 0
  const each = found.map((item: JsonValue) => (typeof item === 'string' ? yes(item === wanted) : 0))
  if ('some' in test) return Math.max(-1, ...each)
  return each.length === 0 ? 0 : Math.min(...each)
}
const line = ({ field, test, negated }: Condition, payload: JsonObject, policy: Policy): number => {
  const raw = payload[field]
  const isAbsent = raw === undefined || (raw === null && policy.amountMeans !== null)
  const standIn = isAbsent && field === 'amount' && !('presence' in test) ? policy.amountMeans : null
  const truth = standIn === 'nothing' ? -1 : testValue(test, standIn ?? raw)
  return negated ? 0 - truth : truth
}
const truthOf = (rule: Rule, payload: JsonObject, policy: Policy): number => {
  const lines = rule.conditions.map((one) => line(one, payload, policy))
  const when = lines.length === 0 ? 1 : rule.any ? Math.max(...lines) : Math.min(...lines)
  return rule.unless ? Math.min(when, 0 - line(rule.unless, payload, policy)) : when
}
interface Expected {
  readonly verdict: Verdict
  readonly risk: Risk
  readonly by: readonly string[]
}
const rank = (verdict: Verdict): number => VERDICTS.indexOf(verdict)
function reference(policy: Policy, payload: JsonObject, agentRisk: Risk): Expected {
  const named = [
    ...policy.rules.map((rule, n) => ({ rule, id: `r${n}`, star: false })),
    ...policy.star.map((rule, n) => ({ rule, id: `s${n}`, star: true })),
  ]
  const fired = named
    .map((one) => ({ ...one, truth: truthOf(one.rule, payload, policy) }))
    .filter(({ rule, truth }) => !rule.shadow && (rule.verdict === 'allow' ? truth === 1 : truth >= 0))
  const risk =
    RISKS[
      Math.max(RISKS.indexOf(agentRisk), ...fired.map(({ rule }) => RISKS.indexOf(rule.risk ?? 'low')))
    ] ?? 'critical'
  const matched = fired.some(({ rule, truth, star }) => truth === 1 && !(star && rule.verdict === 'review'))
  const voices: { verdict: Verdict; id: string }[] = fired.map(({ rule, id }) => ({
    verdict: rule.verdict,
    id,
  }))
  if (!matched) voices.push({ verdict: policy.unmatched, id: 'unmatched' })
  const verdict = VERDICTS[Math.max(...voices.map((voice) => rank(voice.verdict)))] ?? 'reject'
  const by = voices.filter((voice) => voice.verdict === verdict).map((voice) => voice.id)
  const capped = verdict === 'allow' && RISKS.indexOf(risk) > RISKS.indexOf(policy.allowUpTo)
  return {
    verdict: capped ? 'review' : verdict,
    risk,
    by: [...by, ...(capped ? ['allow_up_to'] : [])].sort(),
  }
}

// ---- running a law ----

const manyPayloads = fc.array(payloads, { minLength: CALLS_PER_BUNDLE, maxLength: CALLS_PER_BUNDLE })
const snapshot = (policy: Policy, order?: (items: object[]) => object[]): Promise<CompiledSnapshot> =>
  snapshotOf(bundle(filesOf(policy, order)))

/** Checks a law on CASES calls at least: a failing one shrinks to the policy and the payloads that break it. */
async function hold<A>(
  parts: fc.Arbitrary<A>,
  law: (part: A) => Promise<(payload: JsonObject) => Promise<void>>,
): Promise<void> {
  let cases = 0
  await fc.assert(
    fc.asyncProperty(parts, manyPayloads, async (part, many) => {
      const judge = await law(part)
      for (const payload of many) {
        await judge(payload)
        cases++
      }
    }),
    { numRuns: BUNDLES },
  )
  expect(cases).toBeGreaterThanOrEqual(CASES)
}

describe('the laws of section 4', () => {
  it('a decision equals that of the reference evaluator', async () => {
    await hold(fc.tuple(policyOf(), risks), async ([policy, riskLevel]) => {
      const decided = await snapshot(policy)
      return async (payload) => {
        const { verdict, risk, by } = await decided.decide(call(payload, { riskLevel }))
        expect({ verdict, risk, by }).toEqual(reference(policy, payload, riskLevel))
      }
    })
  })

  it('the order of rules and files changes nothing', async () => {
    await hold(policyOf(), async (policy) => {
      const one = await snapshot(policy)
      const other = await snapshot(policy, (items) => items.toReversed())
      const same = ({ fired, ...rest }: Outcome) => ({ ...rest, fired: fired.map((rule) => rule.id) })
      return async (payload) =>
        expect(same(await other.decide(call(payload)))).toEqual(same(await one.decide(call(payload))))
    })
  })

  it('raising risk_level never loosens, and never swaps reviewers', async () => {
    await hold(policyOf(), async (policy) => {
      const decided = await snapshot(policy)
      return async (payload) => {
        const outcomes: Outcome[] = []
        for (const riskLevel of RISKS) outcomes.push(await decided.decide(call(payload, { riskLevel })))
        outcomes.reduce((lower, higher) => {
          expect(rank(higher.verdict)).toBeGreaterThanOrEqual(rank(lower.verdict))
          if (lower.requirement && higher.requirement) {
            const groups = higher.requirement.seats.map((seat) => seat.group)
            const base = outcomes[0]?.requirement?.seats.map((seat) => seat.group) ?? []
            expect(groups).toEqual(expect.arrayContaining(outcomes[0]?.verdict === 'review' ? base : []))
          }
          return higher
        })
      }
    })
  })

  /** An allow rule above allow_up_to is a warning at load: when it cannot be checked, its risk does not count. */
  const withinLimit = (policy: Policy): Policy => {
    const calm = (rule: Rule): Rule => (rule.verdict === 'allow' ? { ...rule, risk: null } : rule)
    return { ...policy, rules: policy.rules.map(calm), star: policy.star.map(calm) }
  }

  it('removing a field never allows, without presence tests, missing_means and defaults', async () => {
    await hold(policyOf(false).map(withinLimit), async (policy) => {
      const decided = await snapshot(policy)
      return async (payload) => {
        const before = await decided.decide(call(payload))
        for (const field of Object.keys(payload)) {
          const { [field]: _, ...less } = payload
          const after = await decided.decide(call(less))
          expect(before.verdict !== 'allow' && after.verdict === 'allow').toBe(false)
        }
      }
    })
  })

  it('adding a reject rule never loosens, adding a review rule never yields allow', async () => {
    await hold(fc.tuple(policyOf(), ruleOf(true)), async ([policy, added]) => {
      const adding = (verdict: Verdict) =>
        snapshot({ ...policy, rules: [...policy.rules, { ...added, verdict, shadow: false }] })
      const [plain, rejecting, reviewing] = [
        await snapshot(policy),
        await adding('reject'),
        await adding('review'),
      ]
      return async (payload) => {
        const before = await plain.decide(call(payload))
        const rejected = await rejecting.decide(call(payload))
        expect(rank(rejected.verdict)).toBeGreaterThanOrEqual(rank(before.verdict))
        const reviewed = await reviewing.decide(call(payload))
        expect(before.verdict !== 'allow' && reviewed.verdict === 'allow').toBe(false)
      }
    })
  })

  it('a shadow rule never changes verdict, risk, message or reviewers', async () => {
    await hold(fc.tuple(policyOf(), ruleOf(true)), async ([policy, added]) => {
      const plain = await snapshot(policy)
      const shadowed = await snapshot({ ...policy, rules: [...policy.rules, { ...added, shadow: true }] })
      // Only the parts that are recorded beside the outcome differ.
      const beside = { fired: undefined, reads: undefined, shadow: undefined }
      const decisive = (outcome: Outcome) => ({ ...outcome, ...beside })
      return async (payload) =>
        expect(decisive(await shadowed.decide(call(payload)))).toEqual(
          decisive(await plain.decide(call(payload))),
        )
    })
  })

  it('the explanation of a decision, rule by rule, agrees with the decision', async () => {
    await hold(policyOf(), async (policy) => {
      const decided = await snapshot(policy)
      return async (payload) => {
        const { outcome, rules } = await decided.explain(call(payload))
        const shouldFire = rules.filter(
          ({ result, verdict }) => result === 'fired' || (result === 'cannot tell' && verdict !== 'allow'),
        )
        expect(rules.filter((rule) => rule.fired)).toEqual(shouldFire)
        expect(outcome.fired.map((rule) => rule.id)).toEqual(shouldFire.map((rule) => rule.id))
      }
    })
  })
})
