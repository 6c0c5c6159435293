import { describe } from 'vitest'
import { runCases, runFine, type Case } from '../cases.ts'
import { CONTRACT, rules } from '../support.ts'

const effects = (reversibility: string, source = ''): Record<string, string> => ({
  'tools/pay.yaml': `${CONTRACT.replace('irreversible', reversibility)}${source}`,
})
const SOURCE = 'source: { server: shop, name: pay }\n'
const CONFIRMED = 'source: { server: shop, name: pay, confirmed: true }\n'
const READS = '  - id: a\n    allow: A.\n    when: { tool.reversibility: read_only }\n'
const AMOUNT = '  - id: a\n    allow: A.\n    when: { payload.amount: { at_most: 5 } }\n'
const LIMIT = 'limits:\n  - { id: l, review: L., count: calls, at_most: 5, within: 1d, per: agent'
const pay = (text: string): Record<string, string> => ({ 'rules/pay.yaml': rules(text) })
const UNLIMITED =
  'rules/pay.yaml:3:5 amount-without-limit: rule `a` bounds `payload.amount` of one call, and no limit bounds the calls of `pay` over time | add a limit with `sum: payload.amount` or `count: calls` under `limits:`'
const UNCONFIRMED =
  'rules/pay.yaml:3:5 effects-unconfirmed: rule `a` rests on what the MCP server says about `pay`, and no person has confirmed it | find out what the tool does, then write `confirmed: true` under `source:` of its contract'

const ANY = '  - id: b\n    allow: B.\n'
const HOLDS = '  - id: a\n    review: A.\n    when: { tool.reversibility: { not: read_only } }\n'
const HOLDS_SOME =
  '  - id: a\n    review: A.\n    when: { any: [{ payload.amount: { over: 5 } }, { tool.reversibility: irreversible }] }\n'

const CASES: readonly Case[] = [
  ['an amount of a tool that nothing takes back', { ...effects('irreversible'), ...pay(AMOUNT) }, UNLIMITED],
  [
    'an amount under `unless`, inside `not`',
    {
      ...effects('irreversible'),
      ...pay('  - id: a\n    allow: A.\n    unless: { payload.amount: { not: { under: 5 } } }\n'),
    },
    UNLIMITED,
  ],
  [
    'an amount with a limit that only counts',
    { ...effects('irreversible'), ...pay(`${AMOUNT}${LIMIT}, mode: shadow }\n`) },
    UNLIMITED,
  ],
  ['effects that only the server declares', { ...effects('read_only', SOURCE), ...pay(READS) }, UNCONFIRMED],
  [
    'effects that a person does not confirm',
    { ...effects('read_only', CONFIRMED.replace('true', 'false')), ...pay(READS) },
    UNCONFIRMED,
  ],
  [
    'a review that only the claim keeps from an allowed call',
    { ...effects('read_only', SOURCE), ...pay(`${HOLDS}${ANY}`) },
    UNCONFIRMED,
  ],
  [
    'a rejection under `unless` that only the claim keeps from an allowed call',
    {
      ...effects('read_only', SOURCE),
      ...pay(`  - id: a\n    reject: A.\n    unless: { tool.reversibility: read_only }\n${ANY}`),
    },
    UNCONFIRMED,
  ],
  [
    'a review of large amounts that the claim keeps from small ones',
    { ...effects('read_only', SOURCE), ...pay(`${HOLDS_SOME}${ANY}`) },
    UNCONFIRMED,
  ],
  [
    'a confirmation that is no truth value',
    { ...effects('read_only', CONFIRMED.replace('true', '1')), ...pay(READS) },
    'tools/pay.yaml:17:47 wrong-type: `confirmed` must be true or false, found a number',
  ],
  [
    'a server whose name agents write in another way',
    { ...effects('read_only', SOURCE.replace('shop', 'my.server')), ...pay(AMOUNT) },
    'tools/pay.yaml:17:19 bad-value: `my.server` is not a name of a server | use up to 64 of letters, digits, `_` and `-`: agents write other characters as `_`, which another server may have',
  ],
]

describe('effects of a tool', () => {
  runCases(CASES)
  runFine(
    [
      ['an amount with a limit', { ...effects('irreversible'), ...pay(`${AMOUNT}${LIMIT} }\n`) }],
      ['an amount of a tool that can be undone', { ...effects('reversible'), ...pay(AMOUNT) }],
      ['an amount of a review', { ...effects('irreversible'), ...pay(AMOUNT.replace('allow', 'review')) }],
      ['an amount in shadow', { ...effects('irreversible'), ...pay(`${AMOUNT}    mode: shadow\n`) }],
      [
        'the length of a list',
        {
          ...effects('irreversible'),
          ...pay('  - id: a\n    allow: A.\n    when: { payload.to: { count: { at_most: 5 } } }\n'),
        },
      ],
      ['confirmed effects', { ...effects('read_only', CONFIRMED), ...pay(READS) }],
      ['effects that the author wrote', { ...effects('read_only'), ...pay(READS) }],
      ['a rule that does not rest on effects', { ...effects('read_only', SOURCE), ...pay(AMOUNT) }],
      ['a review without any allow rule', { ...effects('read_only', SOURCE), ...pay(HOLDS) }],
      [
        'a review that the claim makes stricter',
        { ...effects('irreversible', SOURCE), ...pay(`${HOLDS}${ANY}`) },
      ],
      ['a confirmed review', { ...effects('read_only', CONFIRMED), ...pay(`${HOLDS}${ANY}`) }],
      [
        'an allow rule in shadow beside the review',
        { ...effects('read_only', SOURCE), ...pay(`${HOLDS}${ANY}    mode: shadow\n`) },
      ],
      ['a review by effects', { ...effects('read_only', SOURCE), ...pay(READS.replace('allow', 'review')) }],
    ],
    ['amount-without-limit', 'effects-unconfirmed'],
  )
})

describe('a rule that never fires by what the tool does', () => {
  const NEVER =
    'rules/pay.yaml:3:5 never-fires: rule `a` never fires: no call that fits the contract meets its conditions'
  runCases([
    ['of the author', { ...effects('read_only'), ...pay(HOLDS) }, NEVER],
    ['that a person confirmed', { ...effects('read_only', CONFIRMED), ...pay(HOLDS) }, NEVER],
  ])
  runFine(
    [['that only the server says', { ...effects('read_only', SOURCE), ...pay(HOLDS) }]],
    ['never-fires', 'always-fires', 'always-beaten', 'optional-field'],
  )
})
