import { describe, expect, it } from 'vitest'
import type { FieldIr, NodeIr } from '../../../src/policy/language/rule.ts'
import { isTaskScoped } from '../../../src/policy/language/history.ts'
import { directory, pay, runCases, runFine, type Case } from '../cases.ts'
import { bundle, CONTRACT, diagnose, diagnoseAll, DIRECTORY, ROUTING, rules } from '../support.ts'

const TIGHT = CONTRACT.replace('  properties:', '  required: [amount, note, to]\n  properties:')
  .replace('amount: { type: [integer, "null"] }', 'amount: { type: integer, minimum: 1, maximum: 100 }')
  .replace(
    'note: { type: string }',
    'note: { type: string }\n    kind: { enum: [a, b] }\n    even: { type: integer, multipleOf: 2 }',
  )
const tight = (text: string, head?: string): Record<string, string> => ({
  'tools/pay.yaml': TIGHT,
  ...pay(text, head),
})
const one = (verdict: string, conditions: string): Record<string, string> =>
  tight(`  - { id: a, ${verdict}: A., ${conditions} }\n`)
const idle = (
  verdict: string,
  conditions: string,
  expected: string,
): readonly [Record<string, string>, string] => [one(verdict, conditions), `rules/pay.yaml:3:5 ${expected}`]

const EXCLUDE = 'contradiction: the conditions of rule `a` exclude each other'
const NEVER = 'never-fires: rule `a` never fires: no call that fits the contract meets its conditions'
const ALWAYS = 'always-fires: rule `a` fires for every call: its conditions always hold'

const IDLE: readonly Case[] = [
  ['over 10 and under 5', ...idle('allow', 'when: { payload.amount: { over: 10, under: 5 } }', EXCLUDE)],
  [
    'two values at once',
    ...idle('allow', 'when: { all: [{ payload.note: x }, { payload.note: y }] }', EXCLUDE),
  ],
  [
    'two beginnings at once',
    ...idle(
      'allow',
      'when: { all: [{ payload.note: { starts_with: x } }, { payload.note: { like: "y*" } }] }',
      EXCLUDE,
    ),
  ],
  [
    'a whole number between two neighbours',
    ...idle('allow', 'when: { payload.amount: { over: 4, under: 5 } }', NEVER),
  ],
  [
    'an even number between two of them',
    ...idle('allow', 'when: { payload.even: { over: 2, under: 4 } }', NEVER),
  ],
  [
    'when and unless of the same',
    ...idle('reject', 'when: { payload.note: x }, unless: { payload.note: [x, y] }', EXCLUDE),
  ],
  [
    'missing and compared',
    ...idle('allow', 'when: { all: [{ payload.note: missing }, { payload.note: x }] }', EXCLUDE),
  ],
  [
    'an entry that must and must not be there',
    ...idle('allow', 'when: { payload.to: { some: x, none: x } }', EXCLUDE),
  ],
  [
    'every entry and an empty list',
    ...idle('allow', 'when: { payload.to: { every: x, count: 0 } }', EXCLUDE),
  ],
  [
    'another reversibility than the contract has',
    ...idle('reject', 'when: { tool.reversibility: read_only }', NEVER),
  ],
  ['a required field that is missing', ...idle('reject', 'when: { payload.amount: missing }', NEVER)],
  ['a label that no tool has', ...idle('review', 'when: { tool.labels: { some: outbound } }', NEVER)],
  ['every value of an enum excluded', ...idle('allow', 'when: { payload.kind: { not: [a, b] } }', NEVER)],
  ['a required field that is present', ...idle('review', 'when: { payload.amount: present }', ALWAYS)],
  [
    'both sides of a limit',
    ...idle(
      'allow',
      'when: { any: [{ payload.amount: { over: 5 } }, { payload.amount: { at_most: 5 } }] }',
      ALWAYS,
    ),
  ],
  ['the bound itself', ...idle('allow', 'when: { payload.amount: { at_least: 1 } }', ALWAYS)],
  ['every weekday', ...idle('review', 'when: { time.weekday: [mon, tue, wed, thu, fri, sat, sun] }', ALWAYS)],
  [
    'a stricter rule with a wider limit',
    tight(
      '  - { id: a, review: A., when: { payload.amount: { over: 50 } } }\n  - { id: b, reject: B., when: { payload.amount: { over: 40 } } }\n',
    ),
    'rules/pay.yaml:3:5 always-beaten: rule `a` decides nothing: whenever it fires, reject rule `b` fires too',
  ],
  [
    'a stricter rule without conditions',
    tight('  - { id: a, allow: A., when: { payload.note: x } }\n  - { id: b, review: B. }\n'),
    'rules/pay.yaml:3:5 always-beaten: rule `a` decides nothing: whenever it fires, review rule `b` fires too',
  ],
  [
    'a stricter rule of another file',
    {
      ...tight('  - { id: a, allow: A., when: { payload.note: { starts_with: ab } } }\n'),
      'rules/star.yaml': rules(
        '  - { id: b, reject: B., when: { payload.note: { starts_with: a } } }\n',
        "tools: ['p*']",
      ),
    },
    'rules/pay.yaml:3:5 always-beaten: rule `a` decides nothing: whenever it fires, reject rule `b` fires too',
  ],
  [
    'an optional field of a review rule',
    one('review', 'when: { payload.kind: a }'),
    'rules/pay.yaml:3:5 optional-field: `payload.kind` is optional in the contract of `pay`: when it is missing, the condition is unknown, and review rule `a` fires | say what it means under `missing_means:`, or test `missing` or `present` in the rule',
  ],
  [
    'an optional field read through a function',
    one('reject', 'when: { domain(payload.email): { not: acme.com } }'),
    'rules/pay.yaml:3:5 optional-field: `payload.email` is optional in the contract of `pay`: when it is missing, the condition is unknown, and reject rule `a` fires',
  ],
  [
    'a task field that the agent may leave out',
    one('review', 'when: { task.workflow: { not: deploy } }'),
    'rules/pay.yaml:3:5 optional-field: `task.workflow` is optional: when it is missing, the condition is unknown, and review rule `a` fires',
  ],
  [
    'a tool without a rule',
    { 'tools/x.yaml': CONTRACT.replace('tool: pay', 'tool: x') },
    'tools/x.yaml:1:7 tool-without-rule: no rule file applies to `x`',
  ],
]

const STAFF: readonly Case[] = [
  [
    'a level that only owners could approve',
    directory('bot: { owners: [dana] }', 'bot: { owners: [alice, carol] }'),
    'routing.yaml:5:22 level-understaffed: level low needs 1 of group `on-call`, but too few are left for agent `bot` of tenant `acme`: its owners may not vote',
  ],
  [
    'a level with one person too few once an owner is excluded',
    { ...directory('bot: { owners: [dana] }', 'bot: { owners: [bob] }') },
    'routing.yaml:8:22 level-understaffed: level critical needs 2 of group `security-leads`, but too few are left for agent `bot` of tenant `acme`: its owners may not vote | add a reviewer who does not own the agent to the group',
  ],
  [
    'a rule that asks for more people than there are',
    pay('  - { id: a, review: A., reviewers: { group: fraud-desk, approvals: 2 } }\n'),
    'rules/pay.yaml:3:5 reviewers-understaffed: rule `a` needs 2 of group `fraud-desk` beside the reviewers of level low, but no combination of reviewers for agent `bot` in tenant `acme` can fill every seat',
  ],
  [
    'a rule that needs one person on two seats',
    {
      'directory.yaml': DIRECTORY.replace('[fraud-desk, security-leads]', '[security-leads]')
        .replace('alice: { groups: [', 'alice: { groups: [fraud-desk, ')
        .replace('carol: { groups: [on-call, ', 'carol: { groups: ['),
      ...pay('  - { id: a, review: A., reviewers: { group: fraud-desk } }\n'),
    },
    'rules/pay.yaml:3:5 reviewers-understaffed: rule `a` needs 1 of group `fraud-desk` beside the reviewers of level low, but no combination of reviewers for agent `bot` in tenant `acme` can fill every seat',
  ],
]

const PAIRS: readonly Case[] = [
  [
    'a level that can be filled, but not together with another one',
    directory('carol: { groups: [on-call, ', 'carol: { groups: ['),
    'routing.yaml:8:22 levels-understaffed: the reviewers of levels low and critical cannot fill every seat together for agent `bot` of tenant `acme`; a held call of risk low that its agent rates critical needs both levels | add reviewers to the groups',
  ],
  [
    'levels of which one person has all groups',
    {
      'routing.yaml': ROUTING.replace('approvals: 2', 'approvals: 1'),
      'directory.yaml': DIRECTORY.replace(/ {6}(bob|carol): .*\n/g, ''),
    },
    'routing.yaml:6:22 levels-understaffed: the reviewers of levels low and medium cannot fill every seat together for agent `bot` of tenant `acme` (nor those of low and high, low and critical); a held call of risk low that its agent rates medium needs both levels',
  ],
]

const CODES = [
  'contradiction',
  'never-fires',
  'always-fires',
  'always-beaten',
  'optional-field',
  'tool-without-rule',
]

describe('the analysis of a rule', () => runCases(IDLE))
describe('the check of a quorum', () => runCases([...STAFF, ...PAIRS]))

describe('the check that one group of people fills two levels', () => {
  const apart = { 'directory.yaml': DIRECTORY.replace('carol: { groups: [on-call, ', 'carol: { groups: [') }
  const found = async (files: Record<string, string>): Promise<readonly string[]> =>
    (await diagnose(bundle(files))).map(({ code }) => code)

  it('ignores a lower level that no call of the bundle can have', async () => {
    expect(await found(apart)).toContain('levels-understaffed')
    const medium = { 'tools/pay.yaml': CONTRACT.replace('risk: low', 'risk: medium') }
    expect(await found({ ...apart, ...medium })).not.toContain('levels-understaffed')
  })

  it('considers only agents that may use a tool of the lower level', async () => {
    const narrow = apart['directory.yaml'].replace(
      'bot: { owners: [dana] }',
      'bot: { owners: [dana], tools: [] }',
    )
    expect(await found({ 'directory.yaml': narrow })).not.toContain('levels-understaffed')
  })

  it.each([
    ['review: A., risk: medium', true],
    ['allow: A., risk: medium', true],
    ['reject: A., risk: medium', false],
    ['review: A., risk: medium, mode: shadow', false],
    ['review: A.', false],
  ])('considers a lower level that a rule gives to calls that may go to review: %s', async (rule, is) => {
    // only medium and critical have too few people together
    const directory = DIRECTORY.replace('[on-call, team-leads, security] }', '[on-call, security] }')
    const codes = await found({ 'directory.yaml': directory, ...pay(`  - { id: a, ${rule} }\n`) })
    expect(codes.includes('levels-understaffed')).toBe(is)
    expect(codes).not.toContain('bad-value')
  })

  it('reports a level that cannot be filled alone only once', async () => {
    const nobody = ROUTING.replace('approvals: 2', 'approvals: 3')
    expect(await found({ ...apart, 'routing.yaml': nobody })).toEqual(['level-understaffed'])
  })
})

describe('a finding of the analysis', () => {
  runFine(
    [
      ['a rule without conditions', tight('  - { id: a, review: A. }\n')],
      [
        'two entries of one list',
        one('allow', 'when: { all: [{ payload.to: { some: x } }, { payload.to: { some: y } }] }'),
      ],
      [
        'a number of verbs that nobody can tell, because a text is unreadable',
        one(
          'allow',
          'when: { any: [{ sql_verbs(payload.to): { count: 0 } }, { sql_verbs(payload.to): { count: { over: 0 } } }] }',
        ),
      ],
      ['a beginning and an end', one('allow', 'when: { payload.note: { starts_with: ab, ends_with: yz } }')],
      [
        'two beginnings, one inside the other',
        one('allow', 'when: { payload.note: { starts_with: [a, b] } }'),
      ],
      [
        'a rule that needs its stricter neighbour to differ',
        tight(
          '  - { id: a, allow: A., when: { payload.amount: { at_most: 50 } } }\n  - { id: b, reject: B., when: { payload.amount: { over: 50 } } }\n',
        ),
      ],
      [
        'a rule beaten by a shadow rule',
        tight(
          '  - { id: a, allow: A., when: { payload.amount: { over: 1 } } }\n  - { id: b, reject: B., mode: shadow }\n',
        ),
      ],
      [
        'a rule that matches where a catch-all review does not',
        {
          ...tight('  - { id: a, allow: A. }\n'),
          'rules/star.yaml': rules('  - { id: b, review: B. }\n', "tools: ['*']"),
        },
      ],
      [
        'a rule whose risk decides who reviews',
        tight(
          '  - { id: a, allow: A., risk: medium, when: { payload.note: x } }\n  - { id: b, review: B. }\n',
        ),
      ],
      [
        'an optional field with missing_means',
        tight(
          '  - { id: a, review: A., when: { payload.kind: a } }\n',
          'tool: pay\nmissing_means: { payload.kind: nothing }',
        ),
      ],
      ['an optional field with a default', one('review', 'when: { payload.flag: true }')],
      [
        'an optional field that is asked to be present',
        one('reject', 'when: { payload.email: present }, unless: { domain(payload.email): acme.com }'),
      ],
      ['an optional field of an allow rule', one('allow', 'when: { payload.kind: a }')],
      [
        'an optional field that may as well be missing',
        one('review', 'when: { any: [{ payload.kind: a }, { payload.kind: missing }] }'),
      ],
      [
        'a field that is required inside one that is asked to be present',
        {
          ...one('review', 'when: { payload.meta: present, payload.meta.order: { starts_with: x } }'),
          'tools/pay.yaml': TIGHT.replace(
            'meta: { type: object }',
            'meta: { type: object, required: [order], properties: { order: { type: string } } }',
          ),
        },
      ],
      [
        'a field that the contract requires under a condition',
        {
          ...one('review', 'when: { payload.kind: present, payload.email: x@acme.com }'),
          'tools/pay.yaml': TIGHT.replace(
            '  properties:',
            '  if: { required: [kind] }\n  then: { required: [email] }\n  properties:',
          ),
        },
      ],
      [
        'a rule about labels that all tools of today have',
        tight('  - { id: a, review: A., when: { tool.labels: { some: money } } }\n', "tools: ['*']"),
      ],
      [
        'a field whose unreadable values no contract excludes',
        one('allow', 'when: { not: { domain(payload.note): acme.com } }'),
      ],
      [
        'owners who may review their own agents',
        directory('bot: { owners: [dana] }', 'bot: { owners: [alice], prevent_self_review: false }'),
      ],
      [
        'a level whose escalation reaches somebody',
        {
          ...directory('bot: { owners: [dana] }', 'bot: { owners: [alice, carol] }'),
          'routing.yaml': ROUTING.replace('group: on-call', 'group: team-leads').replace(
            'critical: { group: security-leads, approvals: 2',
            'critical: { group: security-leads, approvals: 1',
          ),
        },
      ],
    ],
    CODES,
  )

  it('is not reported when the analysis is too large', async () => {
    const many = Array.from({ length: 7 }, (_, n) => `{ payload.note: { contains: part-${n} } }`).join(', ')
    expect(await diagnose(bundle(one('allow', `when: { all: [${many}] }`)))).toEqual([])
  })
})

describe('untested-rule', () => {
  const untested = async (tests: string): Promise<readonly string[]> => {
    const text = `${rules('  - { id: a, allow: A. }\n  - { id: b, review: B., mode: shadow, when: { payload.note: missing } }\n')}${tests}`
    const found = await diagnoseAll(bundle({ 'rules/pay.yaml': text }))
    return found.map((one) => `${one.severity} ${one.code} ${one.line}: ${one.message}`)
  }

  it('is reported for every rule that no test fires, even in shadow mode or without any tests', async () => {
    expect(await untested('')).toEqual([
      'warning untested-rule 3: no test fires rule `a`',
      'warning untested-rule 4: no test fires rule `b`',
    ])
    expect(await untested('tests:\n  - { allow: x, payload: { note: x } }\n')).toEqual([
      'warning untested-rule 4: no test fires rule `b`',
    ])
    expect(await untested('tests:\n  - { allow: x, payload: {} }\n')).toEqual([])
  })

  it('never crowds out an error', async () => {
    const many = Array.from({ length: 1_100 }, (_, n) => `  - { id: r${n}, allow: A. }\n`).join('')
    const text = `${rules(many)}tests:\n  - { reject: no, payload: {} }\n`
    const found = await diagnoseAll(bundle({ 'rules/pay.yaml': text }))
    expect(found.filter((one) => one.severity === 'error').map((one) => one.code)).toEqual(['test-failed'])
  })
})

describe('task-scoped-history', () => {
  const field = (root: string): NodeIr => ({
    kind: 'leaf',
    field: { name: root, root, path: [] } as unknown as FieldIr,
    test: { op: 'some', test: { op: 'is', values: ['untrusted'] } },
  })
  const both = (...roots: string[]): NodeIr => ({ kind: 'all', items: roots.map(field) })

  it('is reported for a tightening rule that reads no other history', () => {
    expect(isTaskScoped({ verdict: 'review', when: both('tool.labels', 'task.labels') })).toBe(true)
    expect(isTaskScoped({ verdict: 'reject', unless: { kind: 'not', item: field('task.tools') } })).toBe(true)
  })

  it('is not reported for an allow rule, with the history of the agent, or without history', () => {
    expect(isTaskScoped({ verdict: 'allow', when: field('task.labels') })).toBe(false)
    expect(isTaskScoped({ verdict: 'review', when: both('task.labels', 'agent.labels') })).toBe(false)
    expect(isTaskScoped({ verdict: 'review', when: field('task.workflow') })).toBe(false)
  })

  it('is reported for a rule in a bundle', async () => {
    const text =
      '  - { id: open, allow: Open. }\n  - id: seen\n    review: Seen.\n    when: { task.tools: { some: pay } }\n'
    expect((await diagnose(bundle({ 'rules/pay.yaml': rules(text) }))).map(({ code }) => code)).toContain(
      'task-scoped-history',
    )
  })
})

describe('history-ends', () => {
  const found = async (retention: string, when: string): Promise<readonly string[]> => {
    const text = `  - { id: open, allow: Open. }\n  - { id: seen, review: Seen., when: { ${when} } }\n`
    const files = { 'rules/pay.yaml': rules(text), 'routing.yaml': `${retention}\n${ROUTING}` }
    const all = await diagnose(bundle(files))
    return all.filter(({ code }) => code === 'history-ends').map(({ message }) => message)
  }

  it('is reported for a short retention of tasks and a rule that reads their history', async () => {
    const message = 'a task is new again 40d after its last call, for rule `seen` of rules/pay.yaml'
    const reads = ['task.tools: { some: pay }', 'any: [{ not: { task.labels: { some: money } } }]']
    for (const when of reads) expect(await found('retention: { tasks: 40d }', when)).toEqual([message])
  })

  it('is not reported without such a rule, and for the default or more', async () => {
    expect(await found('retention: { tasks: 40d }', 'agent.tools: { some: pay }')).toEqual([])
    for (const retention of ['retention: { tasks: 90d }', 'retention: { threads: 10d }'])
      expect(await found(retention, 'task.tools: { some: pay }')).toEqual([])
  })
})

describe('options-unchecked', () => {
  const found = async (verdict: string, match: string): Promise<readonly (string | undefined)[]> => {
    const when = `when: { shell_commands(payload.note): { every: ${match} } }`
    const all = await diagnose(
      bundle({ 'rules/pay.yaml': rules(`  - { id: a, ${verdict}: A., ${when} }\n`) }),
    )
    return all.filter(({ code }) => code === 'options-unchecked').map(({ message }) => message)
  }

  it.each([
    '{ .program: [ls, git] }',
    '{ any: [{ .program: ls }, { .program: git, ".arguments[0]": status }] }',
    '{ .program: git, .options: { none: --output } }',
    '{ .program: git, .options: { every: { not: --output } } }',
    '{ .program: git, .options: { none: { not: { starts_with: "-" } } } }',
    '{ any: [{ .options: { count: 0 } }, { .program: ls }], .program: git }',
  ])('is reported for an allow rule with %s', async (match) => {
    expect(await found('allow', match)).toEqual(['rule `a` allows `git` with any options'])
    expect(await found('reject', match)).toEqual([])
  })

  it.each([
    '{ .program: [ls, cat] }',
    '{ .program: git, .options: { none: { not: [--stat, -p] } } }',
    '{ .program: git, .options: { count: 0 } }',
    '{ .program: git, .arguments: { every: [status, --stat] } }',
    '{ any: [{ .options: { none: { not: -p } } }, { .arguments: { every: status } }], .program: git }',
    '{ .program: git, .text: [git status, git log] }',
  ])('is not reported for %s', async (match) => {
    expect(await found('allow', match)).toEqual([])
  })
})

describe('what an allow rule does not read', () => {
  const found = async (code: string, rule: string, verdict = 'allow'): Promise<readonly string[]> =>
    (await diagnose(bundle({ 'rules/pay.yaml': rules(`  - { id: a, ${verdict}: A., ${rule} }\n`) }))).flatMap(
      (one) => (one.code === code ? [one.message] : []),
    )

  it.each([
    "when: { payload.note: { matches: '^query' } }",
    "when: { payload.note: { matches: ['^a$', '(?i)^git (?:log|status)'] } }",
    "when: { payload.note: { starts_with: a, matches: '^a.*' } }",
    "when: { payload.to: { every: { matches: '\\Aa' } } }",
    "unless: { payload.note: { not: { matches: '^a\\$' } } }",
    "when: { shell_commands(payload.note): { every: { .text: { matches: '^ls' } } } }",
    "when: { not: { payload.to: { none: { matches: '^a' } } } }",
  ])('open-pattern is reported for %s', async (rule) => {
    expect(await found('open-pattern', rule)).toHaveLength(1)
    expect(await found('open-pattern', rule, 'review')).toEqual([])
  })

  it.each([
    "when: { payload.note: { matches: '^query.*$' } }",
    "when: { payload.note: { matches: ['^(?:a|b$)', 'TICKET-[0-9]+'] } }",
    "when: { payload.note: { not: { matches: '^a' } } }",
    "when: { payload.to: { none: { matches: '^a' } } }",
    "unless: { payload.note: { matches: '^a' } }",
    "when: { payload.note: { matches: '^select' }, sql_verbs(payload.note): { every: select } }",
  ])('open-pattern is not reported for %s', async (rule) => {
    expect(await found('open-pattern', rule)).toEqual([])
  })

  it('rest-unread is reported unless the rule reads the whole list', async () => {
    const first = '"payload.to[0]": ls'
    const [message] = await found('rest-unread', `when: { ${first}, "payload.to[1]": -l }`)
    expect(message).toBe('rule `a` reads entries of `payload.to` by their index, and does not see the others')
    for (const rest of ['every: [ls, -l]', 'count: 1', 'none: { contains: / }'])
      expect(await found('rest-unread', `when: { ${first}, payload.to: { ${rest} } }`)).toEqual([])
    expect(await found('rest-unread', `when: { ${first} }, unless: { payload.to: { some: -R } }`)).toEqual([])
    expect(await found('rest-unread', `when: { ${first} }`, 'review')).toEqual([])
  })
})

describe('functions-unchecked', () => {
  const verbs = '{ sql_verbs(payload.note): { every: select } }'
  const functions = '{ sql_functions(payload.note): { some: { not: count } } }'
  const codes = async (text: string): Promise<readonly string[]> =>
    (await diagnose(bundle({ 'rules/pay.yaml': rules(text) }))).map(({ code }) => code)

  it('is reported for an allow rule that trusts only the verbs of a field', async () => {
    const text = `  - { id: a, allow: A., when: ${verbs} }\n`
    expect(await codes(text)).toEqual(['functions-unchecked'])
    const [found] = await diagnose(bundle({ 'rules/pay.yaml': rules(text) }))
    expect(found?.message).toContain('rule `a` trusts `sql_verbs(payload.note)`')
    const other = functions.replace('note', 'email')
    expect(await codes(`  - { id: a, allow: A., when: ${verbs}, unless: ${other} }\n`)).toContain(
      'functions-unchecked',
    )
  })

  it('is not reported when a rule of the file reads the functions, or for a tightening rule', async () => {
    expect(await codes(`  - { id: a, allow: A., when: ${verbs}, unless: ${functions} }\n`)).toEqual([])
    const guarded = `  - { id: a, allow: A., when: ${verbs} }\n  - { id: b, review: B., when: ${functions} }\n`
    expect(await codes(guarded)).not.toContain('functions-unchecked')
    expect(await codes(`  - { id: a, review: A., when: ${verbs} }\n`)).not.toContain('functions-unchecked')
  })
})
