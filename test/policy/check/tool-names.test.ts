import { describe, expect, it } from 'vitest'
import { directory, pay, runCases, runFine, type Case } from '../cases.ts'
import { bundle, diagnose, DIRECTORY } from '../support.ts'

const agent = (tools: string): Record<string, string> => directory('tools: []', `tools: ${tools}`)
const seen = (test: string): Record<string, string> =>
  pay(`  - id: a\n    allow: A.\n    when: { payload.amount: 1, agent.tools: ${test} }\n`)

const REJECTED = 'until a tool has a contract under tools/, every call of it is rejected'
const HELD = 'the history holds only tools that had a contract when they were called'

const CASES: readonly Case[] = [
  [
    'a misspelt tool of an agent',
    agent('[pya]'),
    'directory.yaml:5:41 tool-without-contract: no tool contract named `pya` | did you mean `pay`?',
  ],
  [
    'a glob of an agent that matches nothing',
    agent("[pay, 'mail.*']"),
    `directory.yaml:5:46 tool-without-contract: no tool with a contract matches \`mail.*\` | ${REJECTED}`,
  ],
  [
    'a misspelt tool in the history',
    seen('{ some: pya }'),
    'rules/pay.yaml:5:53 tool-without-contract: no tool contract named `pya` | did you mean `pay`?',
  ],
  [
    'a tool in the history that is one of several',
    seen('{ none: { is: [pay, shell] } }'),
    `rules/pay.yaml:5:65 tool-without-contract: no tool contract named \`shell\` | ${HELD}`,
  ],
  [
    'a tool in the history with a letter of another alphabet',
    seen('{ some: p\u0430y }'),
    'rules/pay.yaml:5:53 tool-without-contract: no tool contract named `p<U+0430>y` | did you mean `pay`?',
  ],
  [
    'a glob of the history that matches nothing',
    seen("{ some: { not: { like: 'web.*' } } }"),
    `rules/pay.yaml:5:68 tool-without-contract: no tool with a contract matches \`web.*\` | ${HELD}`,
  ],
  [
    'a glob that is compared as it is written',
    seen("{ contains: 'pa*' }"),
    'rules/pay.yaml:5:57 tool-without-contract: no tool contract named `pa*` | write `{ like: pa* }` for a glob',
  ],
  [
    'a tool in the history of the task',
    pay('  - id: a\n    allow: A.\n    unless: { any: [{ task.tools: { every: pya } }] }\n'),
    'rules/pay.yaml:5:44 tool-without-contract: no tool contract named `pya` | did you mean `pay`?',
  ],
]

describe('a tool without a contract', () => runCases(CASES))

describe('a tool with a contract', () => {
  runFine(
    [
      ['an agent of that tool', agent('[pay]')],
      ['an agent of a glob that matches it', agent("['p*', '*y', '*']")],
      ['an agent of no tool', agent('[]')],
      [
        'an agent of every tool there is, of which there is none',
        { ...agent("['*']"), 'tools/pay.yaml': undefined, 'rules/pay.yaml': undefined },
      ],
      ['its name in the history', seen('{ some: pay }')],
      ['a glob of the history', seen("{ none: { like: ['p*'] } }")],
      ['a list of routing.yaml', seen('{ none: $our_domains }')],
      ['a history of some length', seen('{ count: { over: 2 } }')],
      ['a history that is there', seen('present')],
      [
        'labels, which tools without a contract do not have',
        pay('  - { id: a, allow: A., when: { agent.labels: { some: x } } }\n'),
      ],
    ],
    ['tool-without-contract'],
  )

  it('is not reported while its contract has errors', async () => {
    const files = bundle({ ...agent('[pay]'), 'tools/pay.yaml': 'tool: pay\n' })
    expect((await diagnose(files)).map((one) => one.code)).not.toContain('tool-without-contract')
  })

  it('is looked up once, however many agents name it', async () => {
    const agents = Array.from(
      { length: 900 },
      (_, n) => `      a${n}: { owners: [dana], tools: [gone.tool] }\n`,
    )
    const files = bundle({
      'directory.yaml': DIRECTORY.replace('    reviewers:', `${agents.join('')}    reviewers:`),
    })
    const found = await diagnose(files)
    expect(found.filter((one) => one.code === 'tool-without-contract')).toHaveLength(900)
    expect(found.every((one) => one.severity === 'warning')).toBe(true)
  })
})
