import { describe, expect, it } from 'vitest'
import { NO_HISTORY, type Call, type Outcome } from '../../../src/policy/language/snapshot.ts'
import { bundle, call, diagnose, rules, snapshotOf, type Files } from '../support.ts'

/** Limits and history in the policy language (docs/policy-language.md): what policy says of them, without a store. */

const COUNTED = `tool: pay
description: Pay somebody.
risk: low
labels: [money]
sensitive: [payload.iban]
input_schema:
  type: object
  additionalProperties: false
  properties:
    amount: { type: integer, minimum: 0 }
    tip: { type: integer, minimum: 0, default: 2 }
    refund: { type: integer }
    to: { type: string }
    iban: { type: string }
    tags: { type: array, items: { type: string } }
    meta: { type: object }
    who: { type: [string, array] }
    account: { type: [integer, boolean, string] }
`
const limit = (text: string, more = ''): Files =>
  bundle({
    'tools/pay.yaml': COUNTED,
    'rules/pay.yaml': `${rules('  - id: open\n    allow: Open.\n')}${more}limits:\n  - ${text}\n`,
  })
const DAILY =
  '{ id: daily, review: Too much in a day., risk: high, sum: payload.amount, at_most: 100, within: 24h, per: agent }'

const decide = async (
  files: Files,
  payload: Call['payload'],
  changes: Partial<Call> = {},
): Promise<Outcome> => (await snapshotOf(files)).decide(call(payload, changes))

describe('the use of a limit', () => {
  it.each([
    ['agent', 'count: calls', false],
    ['payload.to', 'count: calls', false],
    ['payload.iban', 'count: calls', true],
    ['payload.iban', 'sum: payload.amount', true],
  ])('per %s, with %s, is hidden: %o', async (per, what, sensitive) => {
    const text = `{ id: l, review: Too much., risk: high, ${what}, at_most: 9, within: 24h, per: ${per} }`
    const [facts] = (await snapshotOf(limit(text))).limitsOf('pay')
    expect(facts).toMatchObject({ id: 'l', sensitive })
  })
})

describe('the charge of a call to a limit', () => {
  it('is its amount, under the name of its agent', async () => {
    const { verdict, limits } = await decide(limit(DAILY), { amount: 40 })
    expect(verdict).toBe('allow')
    expect(limits).toEqual([
      {
        id: 'daily',
        limit: 'daily agent bot',
        windowMs: 86_400_000,
        amount: 40,
        atMost: 100,
        mode: 'enforced',
        sensitive: false,
      },
    ])
  })

  it.each([
    ['a call counts one', 'count: calls', 'tenant', { amount: 40 }, 1, 'l tenant'],
    ['the task is that of the agent', 'count: calls', 'task', {}, 1, 'l task bot t1'],
    ['a default of the contract stands in', 'sum: payload.tip', 'agent', {}, 2, 'l agent bot'],
  ])('%s', async (_, measure, per, payload, amount, name) => {
    const files = limit(`{ id: l, reject: R., ${measure}, at_most: 1, within: 1h, per: ${per} }`)
    const { limits } = await decide(files, payload, { task: 't1' })
    expect(limits).toMatchObject([{ amount, limit: name }])
  })

  it('belongs to a limit that is among the rules of its bundle, with its place', async () => {
    const { rules: all } = await snapshotOf(limit(DAILY))
    const [mode, file] = ['enforced', 'rules/pay.yaml']
    expect(all).toEqual([
      { id: 'open', verdict: 'allow', mode, file, line: 3 },
      { id: 'daily', verdict: 'review', mode, file, line: 6 },
    ])
  })

  it('a limit by a field has a counter for each value, whose name hides the value', async () => {
    const files = limit('{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: payload.iban }')
    const names = await Promise.all(
      ['DE1', 'DE2', 'DE1'].map(async (iban) => (await decide(files, { iban })).limits?.[0]?.limit),
    )
    expect(names[0]).toBe(names[2])
    expect(names[0]).not.toBe(names[1])
    expect(names[0]).toMatch(/^l [0-9a-f]{64}$/)
  })

  it('a limit by a field has one counter for equal texts in all compositions', async () => {
    const files = limit('{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: payload.to }')
    const names = await Promise.all(
      ['caf\u00e9', 'cafe\u0301', 'cafe'].map(async (to) => (await decide(files, { to })).limits?.[0]?.limit),
    )
    expect(names[0]).toBe(names[1])
    expect(names[0]).not.toBe(names[2])
  })

  it('a limit by a field has a counter for each number and boolean too, not shared with equal-looking text', async () => {
    const files = limit('{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: payload.account }')
    const uses = await Promise.all(
      [1, 2, '1', true, 'true', 1].map(async (account) => (await decide(files, { account })).limits),
    )
    expect(uses.flat()).toHaveLength(6)
    const names = uses.map((one) => one?.[0]?.limit)
    expect(new Set(names).size).toBe(5)
    expect(names[5]).toBe(names[0])
  })

  it('an amount of 0 charges 0, and counts as measured', async () => {
    expect(await decide(limit(DAILY), { amount: 0 })).toMatchObject({
      verdict: 'allow',
      limits: [{ amount: 0 }],
    })
  })

  it('has one counter for every tool of the file', async () => {
    const files = bundle({
      'tools/pay.yaml': COUNTED,
      'tools/tip.yaml': COUNTED.replace('tool: pay', 'tool: tip'),
      'rules/pay.yaml': `${rules('  - id: open\n    allow: Open.\n', "tools: ['*']")}limits:\n  - ${DAILY}\n`,
    })
    const snapshot = await snapshotOf(files)
    const uses = await Promise.all(
      ['pay', 'tip'].map((tool) => snapshot.decide(call({ amount: 1 }, { tool }))),
    )
    expect(uses.map(({ limits }) => limits?.[0]?.limit)).toEqual(['daily agent bot', 'daily agent bot'])
  })
})

describe('a limit without room', () => {
  const exceeded = new Set(['daily agent bot'])

  it('gives its verdict, its risk and its reason, and decides', async () => {
    const outcome = await decide(limit(DAILY), { amount: 40 }, { exceeded })
    expect(outcome).toMatchObject({
      verdict: 'review',
      risk: 'high',
      policyRisk: 'high',
      by: ['daily'],
      message: 'Too much in a day.',
      fired: [{ id: 'daily', verdict: 'review', file: 'rules/pay.yaml', line: 6 }, { id: 'open' }],
    })
    expect(outcome.requirement?.seats.map((seat) => seat.group)).toEqual(['security'])
  })

  it('never loosens: a reject of a rule stays', async () => {
    const files = limit(DAILY)
    const rejecting = { ...files, 'rules/no.yaml': rules('  - id: no\n    reject: No.\n') }
    expect(await decide(rejecting, { amount: 1 }, { exceeded })).toMatchObject({
      verdict: 'reject',
      by: ['no'],
    })
  })

  it('does not match: a call that no rule covers stays uncovered', async () => {
    const files = {
      ...limit(DAILY),
      'rules/pay.yaml': `${rules('  - id: big\n    allow: Big.\n    when: { payload.amount: { over: 50 } }\n')}limits:\n  - ${DAILY}\n`,
    }
    expect(await decide(files, { amount: 1 }, { exceeded })).toMatchObject({
      verdict: 'reject',
      by: ['unmatched'],
    })
  })

  it('a limit in shadow mode is recorded, and changes nothing', async () => {
    for (const files of [
      limit(DAILY.replace('}', ', mode: shadow }')),
      limit(DAILY.replace('id: daily', 'id: daily, mode: shadow')),
    ]) {
      const outcome = await decide(files, { amount: 40 }, { exceeded })
      expect(outcome).toMatchObject({ verdict: 'allow', risk: 'low', by: ['open'] })
      expect(outcome.fired).toMatchObject([{ id: 'daily', mode: 'shadow' }, { id: 'open' }])
      expect(outcome.limits).toMatchObject([{ amount: 40, mode: 'shadow' }])
      expect(outcome.shadow).toEqual({ verdict: 'review', risk: 'high' })
    }
  })

  it('a limit of another agent does not affect this one', async () => {
    const outcome = await decide(limit(DAILY), { amount: 40 }, { exceeded: new Set(['daily agent other']) })
    expect(outcome.verdict).toBe('allow')
  })
})

describe('a limit that cannot be measured', () => {
  it('fires, names the missing field, and charges nothing', async () => {
    const outcome = await decide(limit(DAILY), {})
    expect(outcome).toMatchObject({
      verdict: 'review',
      by: ['daily'],
      message: 'Too much in a day. (could not check payload.amount: missing)',
      limits: [],
    })
    expect(outcome.fired).toMatchObject([{ id: 'daily', unknown: true }, { id: 'open' }])
  })

  it.each([-1, 1.5, 2 ** 53, '40', true])(
    'fires for an amount that no counter can hold: %j',
    async (amount) => {
      const outcome = await decide(limit(DAILY), { amount })
      expect(outcome).toMatchObject({
        verdict: 'review',
        message: 'Too much in a day. (could not check payload.amount: unreadable)',
        limits: [],
      })
    },
  )

  it('fires when its scope is missing', async () => {
    const files = limit('{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: payload.to }')
    expect(await decide(files, {})).toMatchObject({
      verdict: 'reject',
      message: 'R. (could not check payload.to: missing)',
    })
  })

  it('is skipped when missing means nothing, and is measured when missing means a value', async () => {
    const nothing = limit(DAILY, 'missing_means: { payload.amount: nothing }\n')
    expect(await decide(nothing, {})).toMatchObject({ verdict: 'allow', limits: [] })
    const seven = limit(DAILY, 'missing_means: { payload.amount: 7 }\n')
    expect(await decide(seven, {})).toMatchObject({ verdict: 'allow', limits: [{ amount: 7 }] })
  })

  it('does not apply when a missing scope means nothing', async () => {
    const text = '{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: payload.to }'
    const nothing = limit(text, 'missing_means: { payload.to: nothing }\n')
    expect(await decide(nothing, {})).toMatchObject({ verdict: 'allow', by: ['open'], limits: [] })
    expect(await decide(nothing, { to: 'a' })).toMatchObject({ limits: [{ amount: 1 }] })
  })
})

/** A rule that looks only at the task gets a warning, which is not what these tests are about. */
const errorsOf = async (files: Files): Promise<readonly unknown[]> =>
  (await diagnose(files)).filter(({ severity }) => severity === 'error')

describe('inline tests', () => {
  const tested = (test: string): Promise<readonly { message: string }[]> =>
    diagnose({
      ...limit(DAILY),
      'rules/pay.yaml': `${limit(DAILY)['rules/pay.yaml'] ?? ''}tests:\n  - ${test}\n`,
    })

  it('inline tests set earlier charges by `used`', async () => {
    expect(
      await tested('{ allow: to the last unit, payload: { amount: 40 }, used: { daily: 60 }, by: [open] }'),
    ).toEqual([])
    expect(
      await tested(
        '{ review: one more, payload: { amount: 40 }, used: { daily: 61 }, risk: high, by: [daily] }',
      ),
    ).toEqual([])
  })

  it('inline tests exceed a limit by one call that is larger than the limit', async () => {
    expect(
      await tested('{ review: by itself too much, payload: { amount: 101 }, risk: high, by: [daily] }'),
    ).toEqual([])
    const [found] = await tested('{ allow: by itself too much, payload: { amount: 101 } }')
    expect(found?.message).toContain('expected allow, got review by daily')
  })

  it('cannot name a limit that the call does not use', async () => {
    const [found] = await tested('{ allow: typo, payload: { amount: 4 }, used: { dayly: 61 } }')
    expect(found?.message).toContain('`dayly` is not a limit that this call uses')
  })

  it('inline tests set the history of the task and of the agent', async () => {
    const files = (test: string): Files =>
      bundle({
        'tools/pay.yaml': COUNTED,
        'rules/pay.yaml': `${rules(`  - id: open
    allow: Open.
  - id: after-web
    review: This task has read untrusted content.
    when: { task.labels: { some: untrusted } }
  - id: after-shell
    reject: This agent used the shell.
    when: { agent.tools: { some: shell } }
`)}tests:\n  - ${test}\n`,
      })
    expect(await errorsOf(files('{ allow: nothing before, payload: {}, by: [open] }'))).toEqual([])
    expect(
      await errorsOf(files('{ review: web, payload: {}, task: { labels: [untrusted] }, by: [after-web] }')),
    ).toEqual([])
    expect(
      await errorsOf(files('{ reject: shell, payload: {}, agent: { tools: [shell] }, by: [after-shell] }')),
    ).toEqual([])
  })
})

describe('history', () => {
  const files = bundle({
    'rules/pay.yaml': rules(
      '  - id: open\n    allow: Open.\n  - id: seen\n    review: Seen.\n    when: { task.tools: { some: web } }\n',
    ),
  })

  it('is needed by rules that read it', async () => {
    const snapshot = await snapshotOf(files)
    expect(snapshot.historyNeeds('pay')).toEqual({ task: true, agent: false })
    expect((await snapshotOf(bundle())).historyNeeds('pay')).toEqual({ task: false, agent: false })
    expect(snapshot.historyNeeds('nobody')).toEqual({ task: false, agent: false })
  })

  it('is unknown when it is not given, and empty without earlier calls', async () => {
    expect(await decide(files, {})).toMatchObject({ verdict: 'review', by: ['seen'] })
    expect(await decide(files, {}, { history: NO_HISTORY })).toMatchObject({ verdict: 'allow' })
    const history = { ...NO_HISTORY, taskTools: ['web'] }
    const outcome = await decide(files, {}, { history })
    expect(outcome).toMatchObject({ verdict: 'review', by: ['seen'], message: 'Seen.' })
    expect(outcome.reads).toEqual([
      { field: 'task.tools', state: 'value', value: ['web'], sensitive: false, disclose: 'full' },
    ])
  })
})

describe('an invalid limit', () => {
  const messages = async (text: string): Promise<string> =>
    (await diagnose(limit(text))).map(({ line, code, message }) => `${line} ${code}: ${message}`).join('\n')

  it.each([
    [
      '{ id: l, allow: A., count: calls, at_most: 1, within: 1h, per: agent }',
      'unknown-key: unknown key `allow` in a limit',
    ],
    [
      '{ id: l, reject: R., review: R., count: calls, at_most: 1, within: 1h, per: agent }',
      'verdict-count: a limit needs exactly one of review: and reject:, found 2',
    ],
    [
      '{ id: l, reject: R., at_most: 1, within: 1h, per: agent }',
      'missing-key: a limit needs exactly one of `count:` and `sum:`',
    ],
    [
      '{ id: l, reject: R., count: calls, sum: payload.amount, at_most: 1, within: 1h, per: agent }',
      'missing-key: a limit needs exactly one of',
    ],
    [
      '{ id: l, reject: R., count: apples, at_most: 1, within: 1h, per: agent }',
      'bad-value: `apples` is not a value for `count`',
    ],
    ['{ id: l, reject: R., count: calls, within: 1h, per: agent }', 'missing-key: a limit needs `at_most:`'],
    [
      '{ id: l, reject: R., count: calls, at_most: 1.5, within: 1h, per: agent }',
      'bad-value: `at_most` must be a whole number, 0 or more',
    ],
    [
      '{ id: l, reject: R., count: calls, at_most: 1, within: 32d, per: agent }',
      'bad-value: `32d` is not a duration',
    ],
    [
      '{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: nobody }',
      'unknown-field: `nobody` is not a field',
    ],
    [
      '{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: tool.labels }',
      'bad-value: `tool.labels` is not one value per call',
    ],
    [
      '{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: payload.tags }',
      'bad-value: `payload.tags` of `pay` is a list, not one value per call',
    ],
    [
      '{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: domain(payload.tags) }',
      'bad-value: `domain(payload.tags)` of `pay` is a list, not one value per call',
    ],
    [
      '{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: payload.meta }',
      'bad-value: `payload.meta` of `pay` is an object, not one value per call',
    ],
    [
      '{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: sql_verbs(payload.to) }',
      'bad-value: `sql_verbs(payload.to)` of `pay` is a list, not one value per call',
    ],
    [
      '{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: host(payload.amount) }',
      'test-type: `host` reads text, but `payload.amount` of `pay` is a whole number',
    ],
    [
      '{ id: l, reject: R., sum: payload.to, at_most: 1, within: 1h, per: agent }',
      'bad-value: `payload.to` must be an integer that is never negative',
    ],
    [
      '{ id: l, reject: R., sum: payload.refund, at_most: 1, within: 1h, per: agent }',
      'bad-value: `payload.refund` must be an integer that is never negative',
    ],
    [
      '{ id: l, reject: R., sum: payload.amuont, at_most: 1, within: 1h, per: agent }',
      'unknown-field: `payload.amuont` is not in the contract',
    ],
    [
      '{ id: l, reject: R., sum: agent.id, at_most: 1, within: 1h, per: agent }',
      'bad-value: `sum` adds up a field of the payload',
    ],
    [
      '{ id: open, reject: R., count: calls, at_most: 1, within: 1h, per: agent }',
      'duplicate-id: rule id `open` is also used at rules/pay.yaml:3',
    ],
    [
      `{ id: ${'l'.repeat(101)}, reject: R., count: calls, at_most: 1, within: 1h, per: agent }`,
      'bad-value: the id of a limit is at most 100 characters long',
    ],
  ])('%s', async (text, message) => {
    expect(await messages(text)).toContain(message)
  })

  it.each([
    ['agnet', 'did you mean `agent`?'],
    ['tsak', 'did you mean `task`?'],
    ['Tenant', 'did you mean `tenant`?'],
    ['agent.di', 'did you mean `agent.id`?'],
  ])('gets a hint for `per: %s`', async (per, hint) => {
    const files = limit(`{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: ${per} }`)
    expect((await diagnose(files)).map((one) => one.hint)).toContain(hint)
  })

  it.each([
    'payload.to',
    'payload.amount',
    'payload.who',
    'payload.meta.x',
    'domain(payload.to)',
    'tool.name',
  ])('is not reported for `per: %s`, which has or may have one value', async (per) => {
    const files = limit(`{ id: l, reject: R., count: calls, at_most: 1, within: 1h, per: ${per} }`)
    expect((await diagnose(files)).filter((one) => one.severity === 'error')).toEqual([])
  })
})
