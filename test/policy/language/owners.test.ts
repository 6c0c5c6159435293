import { describe, expect, it } from 'vitest'
import { diffBundles } from '../../../src/policy/diff/diff.ts'
import { callOfRequest } from '../../../src/policy/evaluate/explain-request.ts'
import type { CompiledSnapshot } from '../../../src/policy/evaluate/compile.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import type { Call } from '../../../src/policy/language/snapshot.ts'
import { bundle, call, diagnose, NOON, rules, snapshotOf, type Files } from '../support.ts'

/** The fact `agent.owners`, from directory.yaml to each tool of the author. */

const owned = (match: string, verdict = 'allow', tests = ''): Files =>
  bundle({
    'rules/pay.yaml': rules(`  - { id: a, ${verdict}: A., when: { agent.owners: ${match} } }\n${tests}`),
  })

async function truth(snapshot: CompiledSnapshot, one: Partial<Call>): Promise<boolean | 'unknown'> {
  const { fired } = await snapshot.judge(call({}, one))
  return fired[0]?.unknown === true ? 'unknown' : fired.length > 0
}

describe('agent.owners', () => {
  it.each([
    ['{ some: dana }', true],
    ['{ contains: dana }', true],
    ['{ every: dana }', true],
    ['{ none: alice }', true],
    ['{ count: 1 }', true],
    ['{ some: DANA }', false],
    ['{ count: { over: 1 } }', false],
    ['{ contains: [alice, bob] }', false],
  ])('%s reads the owners in the directory', async (match, expected) => {
    expect(await truth(await snapshotOf(owned(match, 'review')), {})).toBe(expected)
  })

  it.each([
    ['an agent that the directory does not have', { agent: 'nobody' }],
    ['a tenant that the directory does not have', { tenant: 'globex' }],
    ['an agent of an odd name', { agent: '__proto__' }],
    ['a tenant of an odd name', { tenant: 'constructor' }],
  ])('is unknown for %s, so no allow rule fires', async (_, one) => {
    for (const match of ['{ some: dana }', '{ none: dana }', '{ count: 0 }']) {
      expect(await truth(await snapshotOf(owned(match, 'review')), one)).toBe('unknown')
      expect(await truth(await snapshotOf(owned(match)), one)).toBe(false)
    }
  })

  it('is recorded with the decision', async () => {
    const { reads } = await (await snapshotOf(owned('{ some: dana }'))).decide(call({}))
    expect(reads).toEqual([
      { field: 'agent.owners', state: 'value', value: ['dana'], sensitive: false, disclose: 'full' },
    ])
  })

  it('is a list, so a test of one text is an error', async () => {
    expect(await diagnose(owned('dana'))).toMatchObject([{ code: 'test-type' }])
    expect(await diagnose(owned('{ some: dana }'))).toEqual([])
  })

  it.each([
    ['allow: the directory', 'agent: { id: bot, tenant: acme }'],
    ['allow: the test', 'agent: { owners: [x, dana] }'],
    ['allow: the test before the directory', 'agent: { id: narrow, tenant: acme, owners: [dana] }'],
    ['reject: nobody without an agent', 'payload: {}'],
    ['reject: an agent of no directory', 'agent: { id: bot, tenant: globex }'],
  ])('in a test, has the owners that the test means: %s', async (name, given) => {
    const files = owned(
      '{ some: dana }',
      'allow',
      `tests:\n  - ${name.replace(': ', ': "')}"\n    ${given}\n`,
    )
    expect((await diagnose(files)).filter(({ code }) => code !== 'untested-rule')).toEqual([])
  })

  it('in explain, has the owners of the named agent, and none without a name', async () => {
    const snapshot = await snapshotOf(owned('{ some: dana }'))
    const readOf = async (agent?: string): Promise<string> => {
      const one = callOfRequest({ tool_name: 'pay', ...(agent !== undefined && { agent }) }, NOON)
      if (one === undefined) throw new Error('the request has no call')
      return JSON.stringify((await snapshot.explain(one)).rules[0]?.conditions)
    }
    expect(await readOf('acme/bot')).toContain('["dana"]'.replaceAll('"', String.raw`\"`))
    expect(await readOf()).toContain('"read":"[]"')
  })

  it('in diff, has every list of owners that the rules distinguish', async () => {
    const [old, current] = await Promise.all(
      [owned('{ some: dana }'), owned('{ some: [dana, alice] }')].map(async (files) => {
        const made = await prepareBundle(Object.entries(files).map(([path, text]) => ({ path, text })))
        if (!made.ok) throw new Error('the bundle does not check')
        return made
      }),
    )
    if (!old || !current) throw new Error('two bundles')
    const [found] = (await diffBundles(old, current)).tools
    expect(found?.doubts).toEqual([])
    expect(found?.changes.map(({ direction }) => direction)).toEqual(Array(4).fill('loosens'))
    const where = 'when agent.owners not some is dana and agent.owners some is one of dana, alice'
    expect(found?.changes[0]?.where).toEqual([where])
    expect(found?.changes[0]?.example.call.owners).toEqual(['alice'])
  })
})
