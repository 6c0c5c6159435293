import { describe, expect, it } from 'vitest'
import { runCases, runFine, type Case } from '../cases.ts'
import { bundle, call, CONTRACT, DIRECTORY, rules, ROUTING, snapshotOf } from '../support.ts'

const ALL = "tools: ['*']"
const CATCH_ALL = '  - id: all\n    review: Everything is looked at.\n'
const catchAll = (head = ALL): Record<string, string> => ({ 'rules/pay.yaml': rules(CATCH_ALL, head) })
const HIGH = { 'tools/pay.yaml': CONTRACT.replace('risk: low', 'risk: high') }
const ALLOW = '  - id: a\n    allow: A.\n    when: { payload.note: x }\n'

const CASES: readonly Case[] = [
  [
    'a bundle in which only a catch-all fires',
    catchAll(),
    "tools/pay.yaml:1:7 only-catch-all: every call of `pay` is rejected: `all` is for every tool, and such a review rule covers no call | write a rule for the tool or for some tools, such as `tools: ['ledger.*']`, or say `unmatched: review` in routing.yaml",
  ],
  [
    'a catch-all of two stars',
    catchAll("tools: ['**']"),
    'tools/pay.yaml:1:7 only-catch-all: every call of `pay` is rejected: `all` is for every tool, and such a review rule covers no call',
  ],
  [
    'an allow rule of a tool whose contract is above allow_up_to',
    { ...HIGH, 'rules/pay.yaml': rules(ALLOW) },
    'rules/pay.yaml:3:5 allow-above-limit: rule `a` never allows: `pay` has risk high, above `allow_up_to: medium` | write `review:`, lower `risk:` in the contract, or raise `allow_up_to`',
  ],
  [
    'a tool that no agent may use',
    {
      'directory.yaml': DIRECTORY.replace(
        'bot: { owners: [dana] }',
        "bot: { owners: [dana], tools: ['mail.*'] }",
      ),
    },
    'tools/pay.yaml:1:7 tool-without-agent: no agent may use `pay` | name it under `tools:` of an agent in directory.yaml',
  ],
  [
    'a tool with `proof: always` and an agent without signed approvals',
    {
      'directory.yaml': DIRECTORY.replace(
        'bot: { owners: [dana] }',
        'bot: { owners: [dana], signed_approvals: false }',
      ),
      'tools/pay.yaml': CONTRACT.replace('risk: low', 'risk: low\nproof: always'),
    },
    'tools/pay.yaml:4:8 proof-unsigned: `proof: always` means nothing for `acme/bot`: the agent has `signed_approvals: false` | let the agent use signed approvals, or no such tool',
  ],
]

describe('a warning about a tool and its rules and agents', () => {
  runCases(CASES)
  runFine(
    [
      [
        'a catch-all that asks people of unmatched calls',
        { ...catchAll(), 'routing.yaml': ROUTING.replace('unmatched: reject', 'unmatched: review') },
      ],
      ['a catch-all of some tools', catchAll("tools: ['p*']")],
      ['a catch-all that rejects', { 'rules/pay.yaml': rules('  - id: all\n    reject: No.\n', ALL) }],
      ['a catch-all beside a rule of the tool', { ...catchAll(), 'rules/more.yaml': rules(ALLOW) }],
      [
        'an allow rule of a tool at allow_up_to',
        { 'tools/pay.yaml': CONTRACT.replace('risk: low', 'risk: medium'), 'rules/pay.yaml': rules(ALLOW) },
      ],
      [
        'an allow rule that allows one of its tools',
        {
          'tools/risky.yaml': CONTRACT.replace('tool: pay', 'tool: pay.risky').replace(
            'risk: low',
            'risk: high',
          ),
          'rules/pay.yaml': rules(ALLOW, "tools: ['pay*']"),
        },
      ],
      [
        'a tool with `proof: always`',
        { 'tools/pay.yaml': CONTRACT.replace('risk: low', 'risk: low\nproof: always') },
      ],
      [
        'a bundle without agents',
        { 'directory.yaml': 'tenants:\n  acme:\n    agents: {}\n    reviewers: {}\n' },
      ],
    ],
    ['only-catch-all', 'allow-above-limit', 'tool-without-agent', 'proof-unsigned'],
  )

  it('is in the message to agents too, which names the rule that fired', async () => {
    const snapshot = await snapshotOf(bundle(catchAll()))
    const { verdict, message, by } = await snapshot.judge(call({}))
    expect([verdict, by]).toEqual(['reject', ['unmatched']])
    expect(message).toBe(
      'No rule of this tool covers this call: `all` fired, and a review rule for every tool covers none.',
    )
    const silent = await snapshotOf(bundle({ 'rules/pay.yaml': rules(ALLOW) }))
    expect((await silent.judge(call({}))).message).toBe('No rule covers this call.')
  })
})
