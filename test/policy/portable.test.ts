import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import type { JsonObject } from '../../src/contract/json.ts'
import { defined } from '../../src/contract/defined.ts'
import { printDiagnostics } from '../../src/policy/report/diagnostics.ts'
import { prepareDirectory } from '../../src/policy/bundle/directory.ts'
import { prepareBundle, type PreparedBundle } from '../../src/policy/bundle/load.ts'
import { portableBundle, type PortableBundle, type PortableCondition } from './portable.ts'
import { NO_HISTORY, type Call, type Outcome, type ToolContract } from '../../src/policy/language/snapshot.ts'
import { createClock } from '../../src/policy/language/time.ts'
import { portableRunner } from './portable-engine.ts'
import { LANGUAGE_TOOL, languageBundles, languageCalls } from './random-language.ts'
import { runs } from '../runs.ts'
import { bundle, call, rules, type Files } from './support.ts'

const BUNDLES = runs(1_000)
const CALLS_PER_BUNDLE = 50
const CASES = 40 * BUNDLES
const STARTER = fileURLToPath(new URL('../../policies', import.meta.url))
const clock = createClock('Europe/Berlin')

type Sound = Extract<PreparedBundle, { ok: true }>
function sound(prepared: PreparedBundle): Sound {
  if (!prepared.ok) throw new Error(printDiagnostics(prepared.diagnostics))
  return prepared
}
const prepare = async (files: Files): Promise<Sound> =>
  sound(await prepareBundle(Object.entries(files).map(([path, text]) => ({ path, text }))))

/** The fact `call` of the portable rules. */
function factOf(one: Call, tool: ToolContract, at: (at: number) => object = clock): JsonObject {
  const { payload, agent, tenant, workflow, label, subject, owners = ['dana'], history = NO_HISTORY } = one
  const fact = {
    payload,
    agent: { id: agent, tenant, owners, tools: history.agentTools, labels: history.agentLabels },
    tool: defined({ name: tool.name, labels: tool.labels, reversibility: tool.reversibility }),
    task: defined({ workflow, label, subject, tools: history.taskTools, labels: history.taskLabels }),
    time: at(one.at),
    at: one.at,
  }
  return fact as unknown as JsonObject
}
const comparable = ({ verdict, risk, policyRisk, by, fired, requirement }: Outcome) =>
  defined({ verdict, risk, policyRisk, by, fired: fired.map(({ id }) => id).toSorted(), requirement })

describe('portable rules', () => {
  it(`portable rules decide ${CASES} random calls on plain json-rules-engine as the evaluator does`, async () => {
    let cases = 0
    const met = new Map<string, number>()
    const calls = fc.array(languageCalls, { minLength: CALLS_PER_BUNDLE, maxLength: CALLS_PER_BUNDLE })
    await fc.assert(
      fc.asyncProperty(languageBundles, calls, async (files, many) => {
        const { ir, snapshot } = await prepare(bundle(files))
        const tool = snapshot.tools.get(LANGUAGE_TOOL) as ToolContract
        const run = portableRunner(
          JSON.parse(JSON.stringify(portableBundle(ir))) as PortableBundle,
          tool.name,
        )
        for (const one of many) {
          const outcome = await snapshot.decide(one)
          expect(await run(factOf(one, tool), one.riskLevel)).toEqual(comparable(outcome))
          met.set(outcome.verdict, (met.get(outcome.verdict) ?? 0) + 1)
          cases++
        }
      }),
      { numRuns: BUNDLES },
    )
    expect(cases).toBeGreaterThanOrEqual(CASES)
    // A generator that only ever meets one verdict would prove little.
    for (const verdict of ['allow', 'review', 'reject']) expect(met.get(verdict)).toBeGreaterThan(CASES / 40)
  })

  it('portable rules decide every test of the starter policies as the evaluator does', async () => {
    const { ir, snapshot, results } = sound(await prepareDirectory(STARTER))
    const portable = portableBundle(ir)
    const zone = createClock(ir.head.routing.timezone)
    // Limits are not in the portable form.
    const limits = new Set(ir.ruleFiles.flatMap((file) => file.limits.map(({ id }) => id)))
    const told = results.filter(
      ({ case: { time }, outcome }) => time === undefined && !outcome?.fired.some(({ id }) => limits.has(id)),
    )
    expect(told.length).toBeGreaterThan(results.length / 2)
    for (const { case: one, outcome } of told) {
      const tool = snapshot.tools.get(one.tool) as ToolContract
      // The suite's own instant: a Monday at noon.
      const asked = one.set(call(one.payload, { tool: one.tool, agent: 'test', tenant: 'test' }))
      const run = portableRunner(portable, tool.name)
      const found = await run(
        factOf(asked, tool, () => zone(Date.UTC(2026, 10, 16, 12))),
        one.riskLevel,
      )
      expect(found).toEqual(comparable(outcome as Outcome))
    }
  })

  it('portable rules use four operators on one fact, and no path, empty group or reference as a value', async () => {
    const everything: PortableCondition[] = []
    const collect = (one: PortableCondition): void => {
      everything.push(one)
      if ('all' in one) one.all.forEach(collect)
      else if ('any' in one) one.any.forEach(collect)
      else if ('not' in one) collect(one.not)
    }
    await fc.assert(
      fc.asyncProperty(languageBundles, async (files) => {
        const { tools } = portableBundle((await prepare(bundle(files))).ir)
        for (const { rules: some } of tools) for (const rule of some) collect(rule.conditions)
      }),
      { numRuns: BUNDLES },
    )
    for (const one of everything) {
      const items = 'all' in one ? one.all : 'any' in one ? one.any : [one]
      expect(items.length).toBeGreaterThan(0)
      if (!('fact' in one)) continue
      expect(Object.keys(one)).toEqual(['fact', 'operator', 'value'])
      expect(one.fact).toBe('call')
      expect(['is_true', 'is_not_false', 'before', 'always']).toContain(one.operator)
      expect(Object.keys(Object(one.value))).not.toContain('fact')
    }
    expect(everything.length).toBeGreaterThan(10 * BUNDLES)
  })

  it('never call JSONPath', async () => {
    const require = createRequire(createRequire(import.meta.url).resolve('json-rules-engine'))
    const jsonpath = vi.spyOn(require('jsonpath-plus') as { JSONPath: () => unknown }, 'JSONPath')
    const { ir, snapshot } = await prepare(bundle())
    const tool = snapshot.tools.get('pay') as ToolContract
    expect((await portableRunner(portableBundle(ir), 'pay')(factOf(call({ amount: 1 }), tool))).verdict).toBe(
      'allow',
    )
    expect(jsonpath).not.toHaveBeenCalled()
    vi.restoreAllMocks()
  })

  it('portable rules leave out a file that does not apply to the tool, and repeat one that applies to several', async () => {
    const other = 'tool: other\ndescription: d\nrisk: high\ninput_schema: { type: object }\n'
    const { ir } = await prepare(
      bundle({
        'tools/other.yaml': other,
        'rules/star.yaml': rules('  - { id: s, review: S. }\n', "tools: ['*']"),
      }),
    )
    const names = portableBundle(ir).tools.map(({ tool, rules: some }) => [
      tool,
      some.map(({ name }) => name),
    ])
    expect(names).toEqual([
      ['other', ['s']],
      ['pay', ['pay-small', 'pay-small matches', 's']],
    ])
  })
})
