import fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../src/contract/json.ts'
import { RISKS, VERDICTS, type Risk, type Verdict } from '../../src/domain/decision.ts'
import { ROUTING } from './support.ts'

/** Random policies of a few rules over three fields, and payloads that fit their open contract in every way. */

export interface Condition {
  readonly field: 'amount' | 'note' | 'to'
  readonly test: Test
  readonly negated: boolean
}
export type Test =
  | { readonly over: number }
  | { readonly at_most: number }
  | { readonly is: string }
  | { readonly not: string }
  | { readonly some: string }
  | { readonly every: string }
  | { readonly presence: 'missing' | 'present' }
export interface Rule {
  readonly verdict: Verdict
  readonly any: boolean
  readonly conditions: readonly Condition[]
  readonly unless: Condition | null
  readonly risk: Risk | null
  readonly shadow: boolean
}
export interface Policy {
  readonly rules: readonly Rule[]
  readonly star: readonly Rule[]
  readonly unmatched: 'review' | 'reject'
  readonly allowUpTo: Risk
  readonly amountMeans: number | 'nothing' | null
}

const text = fc.constantFrom('a', 'b')
const numberTest: fc.Arbitrary<Test> = fc.oneof(
  fc.record({ over: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ at_most: fc.integer({ min: 0, max: 3 }) }),
)
const textTest: fc.Arbitrary<Test> = fc.oneof(fc.record({ is: text }), fc.record({ not: text }))
const listTest: fc.Arbitrary<Test> = fc.oneof(fc.record({ some: text }), fc.record({ every: text }))
const presence: fc.Arbitrary<Test> = fc.record({
  presence: fc.constantFrom('missing' as const, 'present' as const),
})

const conditionsOf = (withPresence: boolean): fc.Arbitrary<Condition> => {
  const one = (field: Condition['field'], test: fc.Arbitrary<Test>) =>
    fc.record({
      field: fc.constant(field),
      test: withPresence ? fc.oneof({ weight: 4, arbitrary: test }, presence) : test,
      negated: fc.boolean(),
    })
  return fc.oneof(one('amount', numberTest), one('note', textTest), one('to', listTest))
}
export const ruleOf = (withPresence: boolean): fc.Arbitrary<Rule> =>
  fc.record({
    verdict: fc.constantFrom(...VERDICTS),
    any: fc.boolean(),
    conditions: fc.array(conditionsOf(withPresence), { maxLength: 3 }),
    unless: fc.option(conditionsOf(withPresence)),
    risk: fc.option(fc.constantFrom(...RISKS)),
    shadow: fc.nat(4).map((n) => n === 0),
  })
export const policyOf = (withPresence = true): fc.Arbitrary<Policy> =>
  fc.record({
    rules: fc.array(ruleOf(withPresence), { minLength: 1, maxLength: 5 }),
    star: fc.array(ruleOf(withPresence), { maxLength: 2 }),
    unmatched: fc.constantFrom('review' as const, 'reject' as const),
    allowUpTo: fc.constantFrom(...RISKS),
    amountMeans: withPresence
      ? fc.option(fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constant('nothing' as const)))
      : fc.constant(null),
  })
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.integer({ min: 0, max: 4 }),
  text,
  fc.array(fc.oneof(text, fc.constant(1)), { maxLength: 3 }),
  fc.constant(null),
)
export const payloads: fc.Arbitrary<JsonObject> = fc.record(
  {
    amount: fc.oneof(fc.integer({ min: 0, max: 4 }), value),
    note: fc.oneof(text, value),
    to: fc.oneof(fc.array(text, { maxLength: 3 }), value),
  },
  { requiredKeys: [] },
)
export const risks = fc.constantFrom(...RISKS)

// ---- printing a policy as YAML (JSON is YAML) ----

const OPEN_CONTRACT = 'tool: pay\ndescription: d\nrisk: low\ninput_schema: { type: object }\n'
const matchOf = ({ field, test, negated }: Condition): object => {
  const line = { [`payload.${field}`]: 'presence' in test ? test.presence : test }
  return negated ? { not: line } : line
}
const ruleJson = (rule: Rule, id: string): object => ({
  id,
  [rule.verdict]: `Reason ${id}.`,
  ...(rule.conditions.length > 0 && { when: { [rule.any ? 'any' : 'all']: rule.conditions.map(matchOf) } }),
  ...(rule.unless && { unless: matchOf(rule.unless) }),
  ...(rule.risk && { risk: rule.risk }),
  ...(rule.shadow && { mode: 'shadow' }),
})
const means = (policy: Policy): object =>
  policy.amountMeans === null ? {} : { missing_means: { 'payload.amount': policy.amountMeans } }
export const filesOf = (policy: Policy, order: (items: object[]) => object[] = (items) => items) => ({
  'routing.yaml': ROUTING.replace('unmatched: reject', `unmatched: ${policy.unmatched}`).replace(
    'allow_up_to: medium',
    `allow_up_to: ${policy.allowUpTo}`,
  ),
  'tools/pay.yaml': OPEN_CONTRACT,
  'rules/pay.yaml': JSON.stringify({
    tool: 'pay',
    ...means(policy),
    rules: order(policy.rules.map((rule, n) => ruleJson(rule, `r${n}`))),
  }),
  'rules/star.yaml':
    policy.star.length === 0
      ? undefined
      : JSON.stringify({
          tools: ['*'],
          ...means(policy),
          rules: order(policy.star.map((rule, n) => ruleJson(rule, `s${n}`))),
        }),
})
