import { describe, expect, it } from 'vitest'
import { diffBundles, type BundleDiff } from '../../../src/policy/diff/diff.ts'
import { changes, loosens } from '../../../src/policy/diff/gate.ts'
import { printMarkdown } from '../../../src/policy/diff/markdown.ts'
import { printDiff } from '../../../src/policy/diff/print.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { printDiagnostics } from '../../../src/policy/report/diagnostics.ts'
import { bundle, DIRECTORY, rules, type Files } from '../support.ts'

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

  it.each([
    ['', '{ payload.amount: nothing }', 'loosens', 'payload.amount means nothing instead of unknown'],
    ['', '{ payload.amount: 0 }', 'loosens', 'payload.amount means 0 instead of unknown'],
    ['{ payload.amount: nothing }', '', 'tightens', 'payload.amount means unknown instead of nothing'],
    [
      '{ payload.amount: 7 }',
      '{ payload.amount: nothing }',
      'loosens',
      'payload.amount means nothing instead of 7',
    ],
    ['{ payload.amount: 7 }', '{ payload.amount: 9 }', 'tightens', 'payload.amount means 9 instead of 7'],
    ['{ payload.to: x }', '{ payload.to: y }', 'changes', 'payload.to means "y" instead of "x"'],
    [
      '{ payload.amount: 7 }',
      '{ payload.amount: 7, payload.to: y }',
      'loosens',
      'payload.to means "y" instead of unknown',
    ],
  ])('missing_means %s -> %s, outside the limit itself', async (from, to, direction, text) => {
    const limit = DAILY.replace('per: agent', 'per: payload.to')
    const [before, after] = [from, to].map((means) => {
      const { 'rules/pay.yaml': file = '', ...others } = files([limit])
      return { ...others, 'rules/pay.yaml': means === '' ? file : `missing_means: ${means}\n${file}` }
    })
    const found = await diff(before ?? {}, after ?? {})
    expect(found.limits).toEqual([{ direction, text: `limit daily: a missing ${text}`, enforced: true }])
    if (direction !== 'tightens') expect(loosens(found)).toBe(true)
  })

  it('reports that a default of the contract now replaces a missing field, unless the field is required', async () => {
    const before = files([DAILY])
    const withDefault = CONTRACT.replace('minimum: 0', 'minimum: 0, default: 0')
    const found = await diff(before, { ...before, 'tools/pay.yaml': withDefault })
    expect(found.limits.map(({ direction, text }) => `${direction} ${text}`)).toEqual([
      'loosens limit daily: a missing payload.amount means 0 (default of the contract) instead of unknown',
    ])
    expect(loosens(found)).toBe(true)
    const required = (contract: string): Files => ({
      ...before,
      'tools/pay.yaml': contract.replace('type: object\n', 'type: object\n  required: [amount]\n'),
    })
    expect((await diff(required(CONTRACT), required(withDefault))).limits).toEqual([])
  })

  it('reports added and removed limits, and gives shadow limits no direction', async () => {
    expect(await limitsOf([DAILY], [])).toEqual(['loosens limit daily: removed'])
    expect(await limitsOf([], [DAILY])).toEqual(['tightens limit daily: added'])
    expect(await limitsOf([], [`${DAILY}, mode: shadow`])).toEqual(['changes limit daily (shadow): added'])
    expect(
      await limitsOf([`${DAILY}, mode: shadow`], [`${DAILY.replace('100', '7')}, mode: shadow`]),
    ).toEqual(['changes limit daily (shadow): at most 7 instead of 100'])
  })

  it('is printed, counted in the summary, and fails the gate when it loosens', async () => {
    const looser = await diff(files([DAILY]), files([DAILY.replace('100', '200')]))
    expect(printDiff(looser)).toContain('LOOSENS limit daily: at most 200 instead of 100')
    expect(printDiff(looser)).toContain('1 loosened, 0 tightened, 0 changed otherwise; complete')
    expect(printMarkdown(looser)).toContain('### Loosened')
    expect([loosens(looser), changes(looser)]).toEqual([true, true])
    const counted = await diff(files([]), files([`${DAILY}, mode: shadow`]))
    expect([loosens(counted), changes(counted)]).toEqual([false, true])
  })
})

describe('a limit that cannot measure every call', () => {
  const PER_PAYEE = DAILY.replace('per: agent', 'per: payload.to').replace(', risk: high', '')
  const only = (text: string, limit = PER_PAYEE): Files =>
    files([limit], `  - { id: open, ${text}, when: { payload.amount: { at_least: 0 } } }\n`)

  it('does not hide changes of calls that it measures', async () => {
    const found = await diff(only('review: Asked.'), only('allow: Open.'))
    const text = printDiff(found)
    expect(text).toContain(
      'pay LOOSENS review/low -> allow/low when payload.amount present and payload.to present\n',
    )
    expect(text).toContain('e.g. {"amount":0,"to":""}: by open -> open')
    expect(text).not.toContain('daily')
    expect([found.complete, loosens(found)]).toEqual([true, true])
  })

  it('changes the calls that it cannot measure', async () => {
    const added = printDiff(await diff(files([]), files([PER_PAYEE])))
    expect(added).toContain('pay TIGHTENS allow/low -> review/low when ')
    expect(added).toContain('payload.to missing')
    expect(added).toContain('e.g. {"amount":0}: by open -> daily')
    const counted = await diff(
      files([]),
      files(['id: daily, review: Many., count: calls, at_most: 3, within: 1h, per: agent']),
    )
    expect(counted.tools).toEqual([])
  })
})

describe('the difference of rules about history', () => {
  const after = (test: string): string =>
    `  - { id: open, allow: Open. }\n  - id: seen\n    review: Seen.\n    when: { ${test} }\n`

  it('is found for the history of the task and of the agent', async () => {
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

describe('the difference of labels in the history', () => {
  const rule = (text: string, unmatched = 'reject'): Files => ({
    ...bundle({
      'tools/pay.yaml': CONTRACT,
      'tools/read.yaml':
        'tool: read\ndescription: d\nrisk: low\nlabels: [untrusted, web]\ninput_schema: { type: object }\n',
      'rules/pay.yaml': rules(`  - { id: open, allow: Open. }\n  - { id: seen, ${text} }\n`),
      'rules/read.yaml': 'tool: read\nrules:\n  - { id: read, allow: Open. }\n',
    }),
    'routing.yaml': (bundle()['routing.yaml'] ?? '').replace('unmatched: reject', `unmatched: ${unmatched}`),
  })
  const without = (files: Files): Files => ({
    ...files,
    'tools/read.yaml': (files['tools/read.yaml'] ?? '').replace('untrusted, ', ''),
  })
  const SOME = 'review: Seen., when: { task.labels: { some: untrusted } }'
  const NONE = 'allow: Not seen., when: { agent.labels: { none: untrusted } }'

  it.each([
    ['a review rule fires less', SOME, 'loosens', 'changes'],
    ['an allow rule that asks for none fires more', NONE, 'loosens', 'tightens'],
    [
      'a reject rule that counts',
      'reject: Much., when: { agent.labels: { count: { over: 1 } } }',
      'loosens',
      'tightens',
    ],
    [
      'an allow rule that asks for it',
      'allow: Seen., when: { not: { task.labels: { none: untrusted } } }',
      'tightens',
      'loosens',
    ],
    ['another label', 'review: Seen., when: { task.labels: { some: private } }', undefined, undefined],
    ['a shadow rule', `${SOME}, mode: shadow`, undefined, undefined],
    [
      'a rule for tools of another kind',
      'review: Seen., when: { tool.reversibility: irreversible, tool.labels: { some: outbound }, task.labels: { some: untrusted } }',
      undefined,
      undefined,
    ],
  ])('reports the effect of a label on the rules of other tools: %s', async (_, text, lost, gained) => {
    const found = await Promise.all([
      diff(rule(text), without(rule(text))),
      diff(without(rule(text)), rule(text)),
    ])
    expect(found.map(({ history }) => history[0]?.direction)).toEqual([lost, gained])
    expect(found.map(loosens)).toEqual([lost, gained].map((one) => one === 'loosens' || one === 'changes'))
    expect(found.map(changes)).toEqual([lost, gained].map((one) => one !== undefined))
  })

  it('is a separate line, counted in the summary', async () => {
    const found = await diff(rule(SOME), without(rule(SOME)))
    const line = 'history: read loses the label untrusted, which seen asks about'
    expect(printDiff(found)).toContain(`LOOSENS ${line}`)
    expect(printDiff(found)).toContain('1 loosened, 0 tightened, 0 changed otherwise')
    expect(printMarkdown(found)).toContain(`### Loosened\n\n- \`${line}\``)
  })

  it('is stricter when it sends a call to review that was not rejected before', async () => {
    const { history } = await diff(without(rule(SOME, 'review')), rule(SOME, 'review'))
    expect(history).toMatchObject([{ direction: 'tightens' }])
  })
})

describe('the difference of rates', () => {
  it.each([
    ['10/m', '600/h', 'LOOSENS acme agent bot: rate 10 calls/1m -> 600 calls/1h'],
    ['600/h', '10/m', 'TIGHTENS acme agent bot: rate 600 calls/1h -> 10 calls/1m'],
    ['10/m', '11/h', 'LOOSENS acme agent bot: rate 10 calls/1m -> 11 calls/1h'],
    ['10/m', '11/m', 'LOOSENS acme agent bot: rate 10 calls/1m -> 11 calls/1m'],
  ])('%s -> %s, with bursts', async (from, to, line) => {
    const at = (rate: string): Files =>
      bundle({
        'directory.yaml': DIRECTORY.replace(
          'bot: { owners: [dana] }',
          `bot: { owners: [dana], rate: ${rate} }`,
        ),
      })
    expect(printDiff(await diff(at(from), at(to)))).toContain(line)
  })
})
