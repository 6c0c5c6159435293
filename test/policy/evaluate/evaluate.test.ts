import { describe, expect, it } from 'vitest'
import { printExplanation } from '../../../src/policy/evaluate/explain.ts'
import type { JsonObject } from '../../../src/contract/json.ts'
import { bundle, call, CONTRACT, NOON, ROUTING, rules, snapshotOf, withRules } from '../support.ts'

/** The verdict of one rule `when: MATCH` for a payload, as allow and as reject rule: TRUE, FALSE or UNKNOWN. */
async function truth(match: string, payload: JsonObject, head?: string): Promise<string> {
  const one = await withRules(
    `  - id: a\n    allow: A.\n    when: ${match}\n  - id: b\n    reject: B.\n    when: ${match}\n`,
    head,
  )
  const { fired } = await one.judge(call(payload))
  if (fired.some((rule) => rule.id === 'a')) return 'true'
  return fired.length > 0 ? 'unknown' : 'false'
}

/** Queries in which one dialect reads a string or a comment, and another reads a name with a statement behind it. */
const UNREADABLE_SQL = [
  "select [']; drop table t --']",
  'select ["]; drop table t --"]',
  'select [`]; drop table t --`]',
  "select [a]]'] ; drop table t --'",
  'select [/*]; drop table t --*/',
  'select [-- ]; drop table t',
  "select q'[']' from dual; drop table t --'",
  "select NQ'{'}' from dual; drop table t --'",
]

const TRUTHS: readonly (readonly [string, JsonObject, string])[] = [
  ['{ payload.amount: 5 }', { amount: 5 }, 'true'],
  ['{ payload.amount: 5 }', { amount: 6 }, 'false'],
  ['{ payload.amount: 5 }', {}, 'unknown'],
  ['{ payload.amount: 5 }', { amount: null }, 'unknown'],
  ['{ payload.amount: 5 }', { amount: '5' }, 'unknown'],
  ['{ payload.amount: { not: 5 } }', {}, 'unknown'],
  ['{ not: { payload.amount: 5 } }', {}, 'unknown'],
  ['{ payload.amount: { over: 1, under: 3 } }', { amount: 2 }, 'true'],
  ['{ payload.amount: { over: 1, under: 3 } }', { amount: [2] }, 'unknown'],
  ['{ payload.amount: missing }', {}, 'true'],
  ['{ payload.amount: present }', { amount: 0 }, 'true'],
  ['{ payload.amount: { not: missing } }', {}, 'false'],
  ['{ payload.amount: missing }', { amount: null }, 'unknown'],
  ['{ payload.meta.a.b: missing }', {}, 'true'],
  ['{ payload.meta.a.b: missing }', { meta: { a: 'text' } }, 'unknown'],
  ['{ "payload.to[1]": b }', { to: ['a', 'b'] }, 'true'],
  ['{ "payload.to[2]": b }', { to: ['a', 'b'] }, 'unknown'],
  ['{ payload.to: { some: a } }', { to: [] }, 'false'],
  ['{ payload.to: { every: a } }', { to: [] }, 'unknown'],
  ['{ payload.to: { none: a } }', { to: [] }, 'true'],
  ['{ payload.to: { every: { not: a } } }', { to: ['b', 5] }, 'unknown'],
  ['{ payload.to: { count: { at_least: 2 } } }', { to: ['a', 'b'] }, 'true'],
  ['{ payload.to: { contains: a } }', { to: ['a'] }, 'true'],
  ['{ payload.note: { contains: ell } }', { note: 'hello' }, 'true'],
  ['{ payload.note: { like: "a*c" } }', { note: 'a/b/c' }, 'true'],
  ['{ payload.note: { like: "a*c*d" } }', { note: 'acd' }, 'true'],
  ['{ payload.note: { like: "ab*ba" } }', { note: 'aba' }, 'false'],
  ['{ payload.note: { starts_with: A } }', { note: 'a' }, 'false'],
  ["{ payload.note: { matches: '(?i)\\bwhere\\b' } }", { note: 'x WHERE y' }, 'true'],
  ['{ payload.note: caf\u00e9 }', { note: 'cafe\u0301' }, 'true'],
  ['{ payload.note: { is: missing } }', { note: 'missing' }, 'true'],
  ['{ payload.note: $our_domains }', { note: 'acme.io' }, 'true'],
  ['{ payload.note: $$x }', { note: '$x' }, 'true'],
  ['{ payload.flag: false }', {}, 'true'],
  ['{ payload.flag: missing }', {}, 'true'],
  ['{ domain(payload.to): { every: $our_domains } }', { to: ['a@ACME.com'] }, 'true'],
  ['{ domain(payload.to): { some: acme.com } }', { to: ['a@acme.com.evil.io'] }, 'false'],
  ['{ domain(payload.to): { some: acme.com } }', { to: ['a@evil.io, b@acme.com'] }, 'unknown'],
  ['{ host(payload.note): acme.com }', { note: 'https://ACME.com:443/x' }, 'true'],
  ['{ host(payload.note): acme.com }', { note: 'https://acme.com@evil.io/' }, 'unknown'],
  ['{ host(payload.note): acme.com }', { note: 'https://acme.com:8443/' }, 'unknown'],
  ['{ origin(payload.note): "https://acme.com:8443" }', { note: 'https://ACME.com:8443/x' }, 'true'],
  ['{ host(payload.note): acme.com }', { note: 'https:\\\\acme.com' }, 'unknown'],
  ['{ path(payload.note): /etc/passwd }', { note: '/tmp/../etc//passwd' }, 'true'],
  ['{ path(payload.note): { starts_with: / } }', { note: 'relative' }, 'unknown'],
  ['{ sql_verbs(payload.note): { every: select } }', { note: 'select count(id) from t' }, 'true'],
  ['{ sql_verbs(payload.note): { some: delete } }', { note: 'with x as (delete from t) select 1' }, 'true'],
  ['{ sql_verbs(payload.note): { some: drop } }', { note: 'select 1 --1; drop table t' }, 'unknown'],
  ['{ sql_verbs(payload.note): { every: select } }', { note: 'select $$x$$' }, 'unknown'],
  ['{ sql_verbs(payload.note): { every: select } }', { note: 'select 1 into t2' }, 'false'],
  ...UNREADABLE_SQL.map(
    (note) => ['{ sql_verbs(payload.note): { every: select } }', { note }, 'unknown'] as const,
  ),
  ...['select [my col] from [t]', "select 'it''s' -- why"].map(
    (note) => ['{ sql_verbs(payload.note): { every: select } }', { note }, 'true'] as const,
  ),
  ['{ sql_functions(payload.note): { some: { not: count } } }', { note: 'select count(*)' }, 'false'],
  ['{ sql_functions(payload.note): { some: { not: count } } }', { note: 'select count(*), f()' }, 'true'],
  ['{ sql_functions(payload.note): { some: { not: count } } }', { note: 'drop table t' }, 'unknown'],
  ['{ sql_functions(payload.note): { count: 0 } }', { note: 'select 1' }, 'true'],
  ['{ sql_functions(payload.to): { every: f } }', { to: ['select f()', 'select 1'] }, 'true'],
  ['{ sql_functions(payload.to): { every: f } }', { to: ['select f()', 'select 1; x'] }, 'unknown'],
  ['{ sql_verbs(payload.note): { some: deny } }', { note: 'select 1 deny select on x to y' }, 'true'],
  ['{ sql_verbs(payload.note): { count: 1 } }', { note: 'select $$x$$' }, 'unknown'],
  ['{ sql_verbs(payload.note): { count: { over: 1 } } }', { note: 'select 1 --1; drop table t' }, 'unknown'],
  ['{ sql_verbs(payload.note): present }', { note: 'select $$x$$' }, 'unknown'],
  ['{ sql_verbs(payload.note): { count: 2 } }', { note: 'select 1; drop table t' }, 'true'],
  ['{ sql_verbs(payload.to): { count: { at_most: 2 } } }', { to: ['select 1', 'select $$x$$'] }, 'unknown'],
  ['{ sql_verbs(payload.to): { some: drop } }', { to: ['drop table t', 'select $$x$$'] }, 'true'],
  ['{ sql_verbs(payload.to): { every: drop } }', { to: ['drop table t', 'select $$x$$'] }, 'unknown'],
  ['{ sql_verbs(payload.to): { count: 0 } }', { to: [] }, 'true'],
  ['{ domain(payload.to): { count: 2 } }', { to: ['a@acme.com', 'nobody'] }, 'true'],
  ['{ task.workflow: w }', {}, 'unknown'],
  ['{ tool.labels: { some: money } }', {}, 'true'],
  ['{ tool.reversibility: irreversible }', {}, 'true'],
  ['{ time.weekday: mon, time.hour: 12 }', {}, 'true'],
]

describe('a condition', () => {
  for (const [match, payload, expected] of TRUTHS) {
    it(`${match} is ${expected} for ${JSON.stringify(payload)}`, async () => {
      expect(await truth(match, payload)).toBe(expected)
    })
  }

  it('reads `$$` in a list as a text that begins with $, as in a test', async () => {
    const snapshot = await snapshotOf(
      bundle({
        'routing.yaml': ROUTING.replace('[acme.com, acme.io]', () => '[$$ours]'),
        'rules/pay.yaml': rules('  - { id: a, allow: A., when: { payload.note: $our_domains } }\n'),
      }),
    )
    const judged = ['$ours', '$$ours', 'ours'].map((note) => snapshot.judge(call({ note })))
    const fired = (await Promise.all(judged)).map((outcome) => outcome.fired.map((rule) => rule.id))
    expect(fired).toEqual([['a'], [], []])
  })

  const means = (text: string): string => `tool: pay\nmissing_means: { ${text} }`
  it('reads `$$` in missing_means as a text that begins with $, as in a test', async () => {
    const rule = "  - { id: a, allow: A., when: { payload.note: '$$x' } }\n"
    const snapshot = await withRules(rule, means("payload.note: '$$x'"))
    expect((await snapshot.decide(call({}))).verdict).toBe('allow')
  })

  it('uses missing_means for a missing field, and `nothing` as false', async () => {
    expect(await truth('{ payload.amount: { at_most: 5 } }', {}, means('payload.amount: 3'))).toBe('true')
    expect(await truth('{ payload.amount: { not: 5 } }', {}, means('payload.amount: nothing'))).toBe('false')
    expect(await truth('{ not: { payload.amount: 5 } }', {}, means('payload.amount: nothing'))).toBe('true')
    expect(await truth('{ payload.amount: missing }', {}, means('payload.amount: 3'))).toBe('true')
    expect(await truth('{ payload.to: { count: 0 } }', {}, means('payload.to: []'))).toBe('true')
    expect(
      await truth(
        '{ payload.note: nothing }'.replace('nothing', '{ is: nothing }'),
        {},
        means('payload.note: { is: nothing }'),
      ),
    ).toBe('true')
  })
})

describe('a decision', () => {
  it('is the strictest verdict that fired, with the ids of its rules', async () => {
    const snapshot = await withRules(
      '  - { id: b-two, review: Two., risk: high }\n  - { id: a-one, review: One. }\n  - { id: c-ok, allow: Ok. }\n',
    )
    const outcome = await snapshot.decide(call({}))
    expect(outcome).toMatchObject({
      verdict: 'review',
      by: ['a-one', 'b-two'],
      message: 'One. Two.',
      policyRisk: 'high',
    })
    expect(outcome.requirement).toEqual({
      seats: [
        { group: 'security', approvals: 1, escalate: [{ group: 'security-leads', after_ms: 1_800_000 }] },
      ],
      expires_ms: 3_600_000,
      remind_after_ms: [900_000],
    })
    expect(outcome.fired.map((rule) => rule.id)).toEqual(['a-one', 'b-two', 'c-ok'])
  })

  it('needs the reviewers of both risks and of every deciding rule', async () => {
    const snapshot = await withRules(
      '  - id: a\n    review: A.\n    reviewers: { group: fraud-desk, approvals: 1, expires: 2h }\n',
    )
    const { requirement, risk, policyRisk } = await snapshot.decide(call({}, { riskLevel: 'medium' }))
    expect([policyRisk, risk]).toEqual(['low', 'medium'])
    expect(requirement?.seats.map((seat) => seat.group)).toEqual(['fraud-desk', 'on-call', 'team-leads'])
    expect(requirement?.expires_ms).toBe(2 * 3_600_000)
  })

  it('needs a sign-in when a level or a deciding rule does, and states this', async () => {
    const plain = '  - { id: a, review: A. }\n'
    const asking = '  - { id: b, review: B., reviewers: { group: fraud-desk, interactive: true } }\n'
    const level = { 'routing.yaml': ROUTING.replace('expires: 8h', 'expires: 8h, interactive: true') }
    const off = { 'routing.yaml': ROUTING.replace('expires: 8h', 'expires: 8h, interactive: false') }
    const ask = async (
      rule: string,
      changes: Record<string, string>,
    ): Promise<readonly [unknown, boolean]> => {
      const snapshot = await snapshotOf(bundle({ 'rules/pay.yaml': rules(rule), ...changes }))
      const { requirement } = await snapshot.decide(call({}))
      const text = printExplanation(await snapshot.explain(call({})))
      return [requirement?.interactive, text.includes(', signed in, within 8h\n')]
    }
    expect(await ask(plain, {})).toEqual([undefined, false])
    expect(await ask(plain, off)).toEqual([undefined, false])
    expect(await ask(plain, level)).toEqual([true, true])
    expect(await ask(plain + asking, {})).toEqual([true, true])
  })

  it('an unmatched call follows routing, with the levels', async () => {
    const quiet = '  - { id: a, allow: A., when: { payload.amount: 1 } }\n'
    const refused = await (await withRules(quiet)).decide(call({ amount: 2 }))
    const message = 'No rule covers this call.'
    expect(refused).toMatchObject({ verdict: 'reject', by: ['unmatched'], message })
    const files = bundle({
      'routing.yaml': ROUTING.replace('unmatched: reject', 'unmatched: review'),
      'rules/pay.yaml': rules(quiet),
    })
    const asked = await (await snapshotOf(files)).decide(call({ amount: 2 }))
    expect(asked).toMatchObject({ verdict: 'review', by: ['unmatched'], message })
    expect(asked.requirement?.seats[0]?.group).toBe('on-call')
  })

  it('a rule that fired on UNKNOWN names the fields that it could not check, and is not a match', async () => {
    const snapshot = await withRules(
      '  - id: a\n    review: Look.\n    when: { payload.amount: { over: 5 }, payload.note: x }\n',
    )
    const outcome = await snapshot.decide(call({ note: 'x' }))
    expect(outcome).toMatchObject({ verdict: 'reject', by: ['unmatched'] })
    expect(outcome.fired).toMatchObject([{ id: 'a', unknown: true }])
    const both = await withRules('  - id: a\n    reject: No.\n    when: { payload.amount: { over: 5 } }\n')
    const { by, message } = await both.decide(call({}))
    expect(by).toEqual(['a', 'unmatched'])
    expect(message).toBe('No. (could not check payload.amount: missing) No rule covers this call.')
  })

  it("is not matched by a review rule of a tools: ['*'] file, but by its allow and reject rules", async () => {
    const star = "tools: ['*']"
    const review = await withRules('  - { id: a, review: A. }\n', star)
    expect(await review.decide(call({}))).toMatchObject({ verdict: 'reject', by: ['unmatched'] })
    const allow = await withRules('  - { id: a, allow: A. }\n', star)
    expect(await allow.decide(call({}))).toMatchObject({ verdict: 'allow', by: ['a'] })
  })

  it('turns an allow above allow_up_to into a review and states why', async () => {
    const snapshot = await withRules('  - { id: a, allow: A. }\n  - { id: b, allow: B., risk: high }\n')
    const outcome = await snapshot.decide(call({}))
    expect(outcome).toMatchObject({ verdict: 'review', by: ['a', 'allow_up_to', 'b'], risk: 'high' })
    expect(outcome.message).toContain('Risk high is above medium')
    expect(outcome.requirement?.seats[0]?.group).toBe('security')
  })

  it('states why a caller or a tool is refused', async () => {
    const snapshot = await withRules('  - { id: a, allow: A. }\n')
    const by = async (changes: Parameters<typeof call>[1]) => (await snapshot.decide(call({}, changes))).by
    expect(await by({ tool: 'pya' })).toEqual(['unknown_tool'])
    expect(await by({ agent: 'nobody' })).toEqual(['unknown_agent'])
    expect(await by({ tenant: 'nowhere' })).toEqual(['unknown_tenant'])
    expect(await by({ agent: 'narrow' })).toEqual(['tool_not_permitted'])
    expect((await snapshot.decide(call({}, { tool: 'x\u202e' }))).message).toContain('<U+202E>')
  })

  it('a call of a tool with a contract and no rules is unmatched', async () => {
    const files = bundle({ 'tools/idle.yaml': CONTRACT.replace('tool: pay', 'tool: idle') })
    expect(await (await snapshotOf(files)).decide(call({}, { tool: 'idle' }))).toMatchObject({
      verdict: 'reject',
      by: ['unmatched'],
    })
  })

  it('applies until through its whole day in the routing time zone', async () => {
    const snapshot = await withRules("  - { id: a, allow: A., until: '2026-11-16' }\n")
    const end = Date.UTC(2026, 10, 16, 23)
    expect((await snapshot.decide(call({}, { at: end - 1 }))).verdict).toBe('allow')
    expect((await snapshot.decide(call({}, { at: end }))).verdict).toBe('reject')
    expect((await snapshot.decide(call({}, { at: Number.NaN }))).verdict).toBe('reject')
  })

  it('reads the clock of the routing time zone, across a change to summer time', async () => {
    const snapshot = await withRules('  - { id: a, allow: A., when: { time.hour: 2, time.weekday: sun } }\n')
    const at = async (utc: number) => (await snapshot.decide(call({}, { at: utc }))).verdict
    expect(await at(Date.UTC(2026, 9, 25, 0, 30))).toBe('allow')
    expect(await at(Date.UTC(2026, 9, 25, 1, 30))).toBe('allow')
    expect(await at(Date.UTC(2026, 9, 25, 2, 30))).toBe('reject')
    expect(await at(Date.UTC(2026, 2, 29, 1, 30))).toBe('reject')
  })

  it('lets a shadow rule and a shadow file change nothing but the record', async () => {
    const shadow = '  - { id: s, mode: shadow, reject: S., risk: critical }\n  - { id: a, allow: A. }\n'
    const outcome = await (await withRules(shadow)).decide(call({}))
    expect(outcome).toMatchObject({ verdict: 'allow', risk: 'low', by: ['a'], message: 'A.' })
    expect(outcome.fired.map(({ id, mode }) => [id, mode])).toEqual([
      ['a', 'enforced'],
      ['s', 'shadow'],
    ])
    expect(outcome.shadow).toEqual({ verdict: 'reject', risk: 'critical' })
    expect((await (await withRules('  - { id: a, allow: A. }\n')).decide(call({}))).shadow).toBeUndefined()
    const file = await withRules('  - { id: a, allow: A. }\n', 'tool: pay\nmode: shadow')
    expect(await file.decide(call({}))).toMatchObject({ verdict: 'reject', by: ['unmatched'] })
  })

  it('records exactly the fields the rules read, marked when sensitive', async () => {
    const snapshot = await withRules(
      '  - id: a\n    allow: A.\n    when: { payload.amount: 1, domain(payload.email): acme.com, payload.meta.x: present }\n    unless: { agent.id: x }\n',
    )
    expect(
      (await snapshot.decide(call({ amount: 1, email: 'a@b.c', note: 'unread', meta: null }))).reads,
    ).toEqual([
      { field: 'agent.id', state: 'value', value: 'bot', sensitive: false, disclose: 'full' },
      { field: 'payload.amount', state: 'value', value: 1, sensitive: false, disclose: 'full' },
      { field: 'payload.email', state: 'value', value: 'a@b.c', sensitive: true, disclose: 'masked' },
      { field: 'payload.meta.x', state: 'value', value: null, sensitive: false, disclose: 'full' },
    ])
  })

  it('explains itself rule by rule without sensitive values', async () => {
    const snapshot = await withRules(
      '  - id: a\n    allow: A.\n    when: { domain(payload.email): acme.com }\n  - id: b\n    review: B.\n    when: { any: [{ payload.amount: { over: 5 } }, { payload.note: x }] }\n',
    )
    const text = printExplanation(await snapshot.explain(call({ email: 'secret@evil.io', note: 'y' })))
    expect(text).toContain('allow  a   rules/pay.yaml:3   not fired')
    expect(text).toContain('* review b   rules/pay.yaml:6   cannot tell')
    expect(text).toContain('no          domain(payload.email) is acme.com   ((sensitive))')
    expect(text).toContain('cannot tell payload.amount over 5   (missing)')
    expect(text).not.toContain('secret')
  })

  it.each([
    [
      'sql_verbs(payload.note): { some: drop }',
      'with x as (delete from t) select * from (select 1)',
      '[with, delete, select]',
    ],
    ['sql_verbs(payload.note): { some: drop }', 'selec', 'unreadable'],
    ['host(payload.note): evil.example', 'https://a.example/x', 'a.example'],
    ['path(payload.note): { starts_with: /etc }', '/a/../b', '/b'],
    ['domain(payload.note): evil.example', 'no address', 'unreadable'],
  ])('prints what a function made of the value: %s of %j gives %s', async (test, note, given) => {
    const snapshot = await withRules(`  - id: a\n    reject: A.\n    when: { ${test} }\n`)
    const text = printExplanation(await snapshot.explain(call({ note })))
    expect(text).toContain(`(${JSON.stringify(note)} gives ${given}`)
  })

  it('never prints the result of a function for a missing or a sensitive value', async () => {
    const snapshot = await withRules(
      '  - id: a\n    reject: A.\n    when: { any: [{ domain(payload.email): a.io }, { domain(payload.note): a.io }] }\n',
    )
    const text = printExplanation(await snapshot.explain(call({ email: 'secret@evil.io' })))
    expect(text).toContain('(missing)')
    expect(text).not.toMatch(/gives|evil/)
  })

  it('is made by rules of every file that names the tool', async () => {
    const files = bundle({ 'rules/more.yaml': rules('  - { id: more, reject: More. }\n', "tools: ['p*']") })
    expect(await (await snapshotOf(files)).decide(call({ amount: 1 }))).toMatchObject({
      verdict: 'reject',
      by: ['more'],
    })
  })

  it('is the same at any time', async () => {
    const snapshot = await withRules('  - { id: a, allow: A., when: { payload.amount: 1 } }\n')
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, (_, n) => snapshot.decide(call({ amount: n % 2 }, { at: NOON + n }))),
    )
    expect(outcomes.map((outcome) => outcome.verdict)).toEqual(
      outcomes.map((_, n) => (n % 2 === 1 ? 'allow' : 'reject')),
    )
  })
})

describe('a reject rule with `unknown: review`', () => {
  const DECLINES = `
  - { id: base, review: Somebody looks. }
  - { id: dear, reject: Too dear., when: { payload.amount: { over: 10 } }, unknown: review, reviewers: { group: security } }
`
  it('rejects when it is true, and asks its reviewers when it cannot be checked', async () => {
    const snapshot = await withRules(DECLINES)
    const dear = await snapshot.judge(call({ amount: 11 }))
    expect([dear.verdict, dear.by]).toEqual(['reject', ['dear']])
    const unclear = await snapshot.explain(call({}))
    const { verdict, by, message, requirement, fired } = unclear.outcome
    expect([verdict, by]).toEqual(['review', ['base', 'dear']])
    expect(message).toBe('Somebody looks. Too dear. (could not check payload.amount: missing)')
    expect(requirement?.seats.map(({ group }) => group)).toContain('security')
    expect(fired.map((one) => [one.id, one.verdict, one.unknown])).toEqual([
      ['base', 'review', false],
      ['dear', 'review', true],
    ])
    expect(printExplanation(unclear)).toContain('* review dear   rules/pay.yaml:5   cannot tell')
    const cheap = await snapshot.judge(call({ amount: 5 }))
    expect([cheap.verdict, cheap.by]).toEqual(['review', ['base']])
  })

  it('is above an allow rule, and matches nothing', async () => {
    const allowing = await withRules(DECLINES.replace('review: Somebody looks.', 'allow: Fine.'))
    expect((await allowing.judge(call({}))).verdict).toBe('review')
    const alone = await withRules(DECLINES.replace(/.*base.*\n/, ''))
    expect(await alone.judge(call({}))).toMatchObject({ verdict: 'reject', by: ['unmatched'] })
  })
})
