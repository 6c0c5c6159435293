import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/contract/json.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { analyzeTool } from '../../../src/policy/diff/tool.ts'
import type { Bundle } from '../../../src/policy/diff/side.ts'
import { bundle, call, diagnose, snapshotOf } from '../support.ts'

/** Names that no identifier has: those of Twilio, of labels in Kubernetes, of forms (docs/policy-language.md). */

const TOOL = `tool: pay
description: List calls.
risk: low
sensitive: ['payload["team_ids[]"]']
input_schema:
  type: object
  properties:
    'StartTime<': { type: string }
    'team_ids[]': { type: array, items: { type: string } }
    labels: { type: object, additionalProperties: { type: string } }
`
const RULES = `tool: pay
missing_means:
  'payload["StartTime<"]': nothing
  'payload["team_ids[]"]': nothing
  'payload.labels["app.kubernetes.io/name"]': nothing
rules:
  - id: calls-open
    allow: Fine.
  - id: calls-old
    reject: Not before 2025.
    when: { 'payload["StartTime<"]': { starts_with: '2024' } }
  - id: calls-team
    review: A team of its own.
    when: { 'payload["team_ids[]"]': { some: { is: t1 } } }
  - id: calls-app
    reject: Not of this app.
    when: { 'domain(payload.labels["app.kubernetes.io/name"])': { is: evil.example } }
limits:
  - id: calls-per-app
    review: Many of one app.
    count: calls
    at_most: 5
    within: 1h
    per: payload.labels["app.kubernetes.io/name"]
`
const files = bundle({ 'tools/pay.yaml': TOOL, 'rules/pay.yaml': RULES })

describe('any name of a property in brackets', () => {
  it('is a field of rules, functions, limits, `sensitive` and `missing_means`', async () => {
    expect((await diagnose(files)).filter(({ severity }) => severity === 'error')).toEqual([])
  })

  it.each<[JsonObject, string, string[]]>([
    [{}, 'allow', ['calls-open']],
    [{ 'StartTime<': '2024-01-01' }, 'reject', ['calls-old']],
    [{ 'StartTime<': '2025-01-01' }, 'allow', ['calls-open']],
    [{ 'team_ids[]': ['t0', 't1'] }, 'review', ['calls-team']],
    [{ labels: { 'app.kubernetes.io/name': 'evil.example' } }, 'reject', ['calls-app']],
    // a path that is spelled like the name is another field
    [{ labels: { app: { 'kubernetes.io/name': 'evil.example' } } }, 'allow', ['calls-open']],
  ])('decides %j', async (payload, verdict, by) => {
    const outcome = await (await snapshotOf(files)).decide(call(payload))
    expect([outcome.verdict, outcome.by]).toEqual([verdict, by])
  })

  it('appears in explanations as it is written, and as a tag when it is sensitive', async () => {
    const snapshot = await snapshotOf(files)
    const text = JSON.stringify(
      await snapshot.explain(call({ 'StartTime<': '2024-01-01', 'team_ids[]': ['canary-1'] })),
    )
    expect(text).toContain(String.raw`payload[\"StartTime<\"]`)
    expect(text).toContain('2024-01-01')
    expect(text).not.toContain('canary-1')
  })

  it('is offered by the hint', async () => {
    const dotted = {
      ...files,
      'rules/pay.yaml': RULES.replaceAll('payload["StartTime<"]', 'payload.StartTime<'),
    }
    const found = await diagnose(dotted)
    expect(found.some(({ hint = '' }) => hint.includes('payload["StartTime<"]'))).toBe(true)
  })

  it('is a field of tests in rule files', async () => {
    const tests = `tests:
  - review: a team
    payload: { 'team_ids[]': [t1] }
    by: [calls-team]
  - allow: another app
    payload: { labels: { app.kubernetes.io/name: evil.example } }
`
    const found = await diagnose({ ...files, 'rules/pay.yaml': RULES + tests })
    expect(found.filter(({ severity }) => severity === 'error')).toEqual([
      expect.objectContaining({ code: 'test-failed', line: 29 }),
    ])
  })

  it('can be the field in which two bundles differ', async () => {
    const changed = RULES.replace('some: { is: t1 }', 'some: { is: t2 }')
    expect(changed).not.toBe(RULES)
    const { found } = await analyzeTool(
      [await prepared(files), await prepared({ ...files, 'rules/pay.yaml': changed })],
      'pay',
    )
    const where = found.flatMap(({ change }) => change.where).join('\n')
    expect(where).toContain('payload["team_ids[]"]')
    const directions = found.map(({ change }) => `${change.before} -> ${change.after}`)
    expect(directions.some((one) => /^allow.* -> review/.test(one))).toBe(true)
    expect(directions.some((one) => /^review.* -> allow/.test(one))).toBe(true)
  })
})

async function prepared(of: Readonly<Record<string, string>>): Promise<Bundle> {
  const result = await prepareBundle(Object.entries(of).map(([path, text]) => ({ path, text })))
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics))
  return result
}
