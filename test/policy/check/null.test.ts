import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/contract/json.ts'
import { bundle, call, diagnose, snapshotOf } from '../support.ts'
import { contract, runCases, runFine, when, type Case } from '../cases.ts'

/** OpenAI's strict mode, Pydantic's `Optional` and FastMCP send null for an omitted argument. */

const FORMS: Readonly<Record<string, string>> = {
  'a list of types': "{ type: [string, 'null'] }",
  'Pydantic and FastMCP': "{ anyOf: [{ type: string }, { type: 'null' }], default: null, title: Cc }",
  'a choice of one': "{ oneOf: [{ type: string }, { type: 'null' }] }",
  'an enum with null': '{ enum: [x@acme.com, y@evil.example, null] }',
}
const files = (form: string, rules: string, required = '[to]'): Record<string, string> => ({
  'tools/pay.yaml': `tool: pay
description: Pay.
risk: low
input_schema:
  type: object
  additionalProperties: false
  required: ${required}
  properties:
    to: { type: string }
    cc: ${form}
    meta: { type: [object, 'null'], properties: { order: { type: string } } }
`,
  'rules/pay.yaml': rules,
})
const DRAFT = `tool: pay
missing_means: { payload.cc: nothing }
rules:
  - id: internal
    allow: Colleagues.
    when: { domain(payload.to): acme.com }
    unless: { domain(payload.cc): { not: acme.com } }
`
const verdictOf = async (changes: Record<string, string>, payload: JsonObject): Promise<string> =>
  (await (await snapshotOf(bundle(changes))).judge(call(payload))).verdict

describe('null where the contract permits it', () => {
  for (const [name, form] of Object.entries(FORMS))
    for (const required of ['[to]', '[to, cc]'])
      it(`means what missing_means says, as ${name}, with required ${required}`, async () => {
        const changes = files(form, DRAFT, required)
        expect(await diagnose(bundle(changes))).toEqual([])
        expect(await verdictOf(changes, { to: 'a@acme.com', cc: null })).toBe('allow')
        expect(await verdictOf(changes, { to: 'a@acme.com', cc: 'y@evil.example' })).toBe('reject')
      })

  it('stays unknown without missing_means', async () => {
    const rules = DRAFT.replace('missing_means: { payload.cc: nothing }\n', '')
    expect(await verdictOf(files("{ type: [string, 'null'] }", rules), { to: 'a@acme.com', cc: null })).toBe(
      'reject',
    )
  })

  it('is refused where the contract does not permit it', async () => {
    const snapshot = await snapshotOf(bundle(files('{ type: string }', DRAFT)))
    expect(snapshot.checkPayload('pay', { to: 'a@acme.com', cc: null })).toHaveLength(1)
  })

  it('makes the fields inside it null', async () => {
    const rules = `tool: pay
missing_means: { payload.meta.order: none }
rules:
  - { id: a, allow: A., when: { payload.meta.order: none } }
`
    const changes = files('{ type: string }', rules)
    expect(await verdictOf(changes, { to: 'x', meta: null })).toBe('allow')
    expect(await verdictOf(changes, { to: 'x', meta: { order: 'o-1' } })).toBe('reject')
  })
})

describe('the test `is: null`', () => {
  const rule = (test: string, means = ''): Record<string, string> =>
    files(
      "{ type: [string, 'null'] }",
      `tool: pay\n${means}rules:\n  - { id: a, allow: A., when: { payload.cc: ${test} } }\n`,
    )
  const outcomes = async (changes: Record<string, string>): Promise<string[]> =>
    Promise.all(
      [{ to: 'x', cc: null }, { to: 'x', cc: 'y' }, { to: 'x' }].map((payload) =>
        verdictOf(changes, payload),
      ),
    )
  const MEANS = 'missing_means: { payload.cc: nothing }\n'

  it('is true only for null; a missing field is unknown', async () => {
    expect(await outcomes(rule('{ is: null }'))).toEqual(['allow', 'reject', 'reject'])
    expect(await outcomes(rule('{ not: { is: null } }'))).toEqual(['reject', 'allow', 'reject'])
  })

  it('sees null as it was sent, regardless of missing_means', async () => {
    expect(await outcomes(rule('{ is: null }', MEANS))).toEqual(['allow', 'reject', 'reject'])
    expect(await outcomes(rule('{ not: { is: null } }', MEANS))).toEqual(['reject', 'allow', 'reject'])
  })

  it('tests entries of lists', async () => {
    const changes = files(
      "{ type: array, items: { type: [string, 'null'] } }",
      'tool: pay\nrules:\n  - { id: a, allow: A., when: { payload.cc: { some: { is: null } } } }\n',
    )
    expect(await verdictOf(changes, { to: 'x', cc: ['a', null] })).toBe('allow')
    expect(await verdictOf(changes, { to: 'x', cc: ['a'] })).toBe('reject')
  })
})

const CASES: readonly Case[] = [
  [
    'null of a field that never is',
    when('{ payload.note: { is: null } }'),
    'rules/pay.yaml:5:33 literal-type: `payload.note` of `pay` is never null: it is text | the contract does not permit null there',
  ],
  [
    'null of a function',
    when('{ domain(payload.note): { is: null } }'),
    'rules/pay.yaml:5:35 test-type: `domain` never gives null | write `payload.note` without `domain`',
  ],
]

describe('checking a test of null', () => {
  runCases(CASES)
  runFine(
    [
      ['null of a field that can be', when('{ payload.amount: { is: null } }')],
      [
        'missing_means of a required field that can be null',
        {
          ...contract('  properties:', '  required: [amount]\n  properties:'),
          'rules/pay.yaml':
            'tool: pay\nmissing_means: { payload.amount: 1 }\nrules:\n  - { id: a, allow: A., when: { payload.amount: 1 } }\n',
        },
      ],
    ],
    ['literal-type', 'missing-means-unused'],
  )
  it('reports an empty value as a mistake', async () => {
    const found = await diagnose(bundle(when('{ payload.amount: { is: } }')))
    expect(found.map(({ code }) => code)).toEqual(['wrong-type'])
  })
})
