import { describe, expect, it } from 'vitest'
import { diffBundles, type BundleDiff } from '../../../src/policy/diff/diff.ts'
import { changes, loosens } from '../../../src/policy/diff/gate.ts'
import { printMarkdown } from '../../../src/policy/diff/markdown.ts'
import { printDiff } from '../../../src/policy/diff/print.ts'
import { prepareBundle } from '../../../src/policy/load.ts'
import { printDiagnostics } from '../../../src/policy/diagnostics.ts'
import { bundle, rules, type Files } from '../support.ts'

/** Limits and history in `countersign diff`. */

const CONTRACT = `tool: pay
description: Pay.
risk: low
input_schema:
  type: object
  additionalProperties: false
  properties: { amount: { type: integer, minimum: 0 }, to: { type: string } }
`
const DAILY =
  'id: daily, review: Too much., risk: high, sum: payload.amount, at_most: 100, within: 24h, per: agent'
const files = (limits: readonly string[], text = '  - { id: open, allow: Open. }\n'): Files =>
  bundle({
    'tools/pay.yaml': CONTRACT,
    'rules/pay.yaml':
      rules(text) +
      (limits.length === 0 ? '' : `limits:\n${limits.map((one) => `  - { ${one} }\n`).join('')}`),
  })
async function diff(before: Files, after: Files): Promise<BundleDiff> {
  const [old, current] = await Promise.all(
    [before, after].map(async (one) => {
      const prepared = await prepareBundle(Object.entries(one).map(([path, text]) => ({ path, text })))
      if (!prepared.ok) throw new Error(printDiagnostics(prepared.diagnostics))
      return prepared
    }),
  )
  if (!old || !current) throw new Error('two bundles')
  return diffBundles(old, current)
}
const limitsOf = async (before: readonly string[], after: readonly string[]): Promise<readonly string[]> =>
  (await diff(files(before), files(after))).limits.map(({ direction, text }) => `${direction} ${text}`)

describe('the difference of limits', () => {
  it.each([
    ['at_most: 100', 'at_most: 200', 'loosens limit daily: at most 200 instead of 100'],
    ['at_most: 100', 'at_most: 50', 'tightens limit daily: at most 50 instead of 100'],
    ['within: 24h', 'within: 1h', 'loosens limit daily: within 1h instead of 1d'],
    ['review: Too', 'reject: Too', 'tightens limit daily: reject instead of review'],
    ['risk: high', 'risk: low', 'loosens limit daily: risk low instead of high'],
    ['risk: high, ', '', 'loosens limit daily: risk of the call instead of high'],
    ['per: agent', 'per: payload.to', 'changes limit daily: per payload.to instead of agent'],
    ['sum: payload.amount', 'count: calls', 'changes limit daily: counts calls instead of payload.amount'],
    ['id: daily', 'id: daily, mode: shadow', 'loosens limit daily: only counted'],
    ['Too much.', 'Too much indeed.', undefined],
  ])('%s -> %s', async (from, to, expected) => {
    const [found, ...more] = await limitsOf([DAILY], [DAILY.replace(from, to)])
    expect([found, more]).toEqual([expected, []])
  })

  it('says what was added and removed, and leaves what is only counted without a direction', async () => {
    expect(await limitsOf([DAILY], [])).toEqual(['loosens limit daily: removed'])
    expect(await limitsOf([], [DAILY])).toEqual(['tightens limit daily: added'])
    expect(await limitsOf([], [`${DAILY}, mode: shadow`])).toEqual(['changes limit daily (shadow): added'])
    expect(
      await limitsOf([`${DAILY}, mode: shadow`], [`${DAILY.replace('100', '7')}, mode: shadow`]),
    ).toEqual(['changes limit daily (shadow): at most 7 instead of 100'])
  })

  it('is printed, counted in the summary, and fails where it should', async () => {
    const looser = await diff(files([DAILY]), files([DAILY.replace('100', '200')]))
    expect(printDiff(looser)).toContain('LOOSENS limit daily: at most 200 instead of 100')
    expect(printDiff(looser)).toContain('1 loosened, 0 tightened, 0 changed otherwise; complete')
    expect(printMarkdown(looser)).toContain('### Loosened')
    expect([loosens(looser), changes(looser)]).toEqual([true, true])
    const counted = await diff(files([]), files([`${DAILY}, mode: shadow`]))
    expect([loosens(counted), changes(counted)]).toEqual([false, true])
  })
})

describe('the difference of rules about history', () => {
  const after = (test: string): string =>
    `  - { id: open, allow: Open. }\n  - id: seen\n    review: Seen.\n    when: { ${test} }\n`

  it('is found in what the task and the agent did before', async () => {
    const found = await diff(
      files([], after('task.labels: { some: untrusted }')),
      files([], after('agent.tools: { some: web }')),
    )
    expect(found.complete).toBe(true)
    const text = printDiff(found)
    expect(text).toMatch(/^pay LOOSENS review\/low -> allow\/low when .*task\.labels/m)
    expect(text).toMatch(/^pay TIGHTENS allow\/low -> review\/low when .*agent\.tools/m)
  })
})
