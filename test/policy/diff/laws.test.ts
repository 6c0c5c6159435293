import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { VERDICTS } from '../../../src/domain/decision.ts'
import type { Bundle } from '../../../src/policy/diff/side.ts'
import { analyzeTool } from '../../../src/policy/diff/tool.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import type { Call, Outcome } from '../../../src/policy/language/snapshot.ts'
import { filesOf, payloads, policyOf, risks, ruleOf, type Policy } from '../random.ts'
import { bundle, call } from '../support.ts'
import { holds } from './cells.ts'
import { runs } from '../../runs.ts'

const RUNS = runs(2_000)
const CALLS = 12

async function bundleOf(policy: Policy): Promise<Bundle> {
  const files = Object.entries(bundle(filesOf(policy)))
  const prepared = await prepareBundle(files.map(([path, text]) => ({ path, text })))
  if (!prepared.ok) throw new Error(JSON.stringify(prepared.diagnostics))
  return prepared
}

/** Two policies that have most in common, as two versions of one have; sometimes nothing. */
const pairs: fc.Arbitrary<readonly [Policy, Policy]> = fc.oneof(
  fc.tuple(policyOf(), policyOf()),
  fc
    .tuple(policyOf(), ruleOf(true))
    .map(([one, rule]) => [one, { ...one, rules: [rule, ...one.rules.slice(1)] }] as const),
  fc
    .tuple(policyOf(), ruleOf(true))
    .map(([one, rule]) => [one, { ...one, rules: [...one.rules, rule] }] as const),
  policyOf().map((one) => [one, { ...one, star: [], unmatched: 'review' as const }] as const),
)

/** The parts of an outcome that make a difference to a reader who compares two of them. */
function outcomeKey({ verdict, risk, requirement }: Outcome): string {
  return JSON.stringify([
    verdict,
    risk,
    requirement?.seats,
    requirement?.expires_ms,
    requirement?.interactive,
  ])
}

const rankOf = ({ verdict }: Outcome): number => VERDICTS.indexOf(verdict)

describe('the difference of two random bundles', () => {
  it('covers exactly the calls that they decide differently, with the direction and a correct example', async () => {
    const drawn = fc.array(fc.tuple(payloads, risks), { minLength: CALLS, maxLength: CALLS })
    let differing = 0
    await fc.assert(
      fc.asyncProperty(pairs, drawn, async ([before, after], calls) => {
        const bundles = [await bundleOf(before), await bundleOf(after)] as const
        const { found, dimensions, doubts } = await analyzeTool(bundles, 'pay')
        expect(doubts).toEqual([])
        const judge = async (at: Call) =>
          [await bundles[0].snapshot.judge(at), await bundles[1].snapshot.judge(at)] as const
        const exampleKeys = new Map<object, string>()
        for (const { change } of found) {
          const [old, current] = await judge(change.example.call)
          expect([change.before, change.after].map((one) => one.split(' ')[0])).toEqual(
            [old, current].map(({ verdict, risk }) => `${verdict}/${risk}`),
          )
          expect(outcomeKey(old)).not.toBe(outcomeKey(current))
          if (rankOf(current) < rankOf(old)) expect(change.direction).toBe('loosens')
          if (rankOf(current) > rankOf(old)) expect(change.direction).toBe('tightens')
          exampleKeys.set(change, `${outcomeKey(old)} ${outcomeKey(current)}`)
        }
        for (const [payload, riskLevel] of calls) {
          const at = call(payload, { riskLevel })
          const [old, current] = await judge(at)
          const covering = found.filter(({ boxes }) => boxes.some((box) => holds(box, dimensions, at)))
          if (outcomeKey(old) === outcomeKey(current)) expect(covering).toEqual([])
          else {
            differing++
            expect(covering.map(({ change }) => exampleKeys.get(change))).toEqual([
              `${outcomeKey(old)} ${outcomeKey(current)}`,
            ])
          }
        }
      }),
      { numRuns: RUNS },
    )
    // The law says nothing when no drawn call differs.
    expect(differing).toBeGreaterThan(RUNS)
  }, 400_000)
})
