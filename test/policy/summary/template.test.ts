import { describe, expect, it } from 'vitest'
import { parseSummary } from '../../../src/policy/summary/template.ts'
import { contract, runCases, runFine, type Case } from '../cases.ts'

/** The parts of a template, fields by their names. */
function partsOf(text: string): unknown {
  const parsed = parseSummary(text)
  if (!parsed.ok) return parsed.problem
  return parsed.template.parts.map((part) => {
    if ('text' in part) return part.text
    const { field, format, currency } = part
    const of = typeof currency === 'object' ? currency.name : currency
    return [field.name, ...[format, of].filter((one) => one !== undefined)]
  })
}

describe('the template of a summary', () => {
  it('is text, fields and formats', () => {
    expect(partsOf('Transfer {amount_cents|money:currency} from {from} to {to[0].id}')).toEqual([
      'Transfer ',
      ['payload.amount_cents', 'money', 'payload.currency'],
      ' from ',
      ['payload.from'],
      ' to ',
      ['payload.to[0].id'],
    ])
    expect(partsOf('{a|money:USD}')).toEqual([['payload.a', 'money', 'USD']])
    expect(partsOf('{{{a}}} and }}{{')).toEqual(['{', ['payload.a'], '} and }{'])
    expect(partsOf('no field')).toEqual(['no field'])
  })

  it('has parts in brackets, and literal brackets', () => {
    const parsed = parseSummary('a [[b]] {c}[, d {e}[[0]]][ {f}]')
    expect(
      parsed.ok &&
        parsed.template.parts.map((part) => [part.within, 'text' in part ? part.text : part.field.name]),
    ).toEqual([
      [undefined, 'a [b] '],
      [undefined, 'payload.c'],
      [1, ', d '],
      [1, 'payload.e'],
      [1, '[0]'],
      [2, ' '],
      [2, 'payload.f'],
    ])
    for (const wrong of ['[ {a}', '{a} ]', '[[ [{a} [{b}] ]', '[no field] {a}'])
      expect(partsOf(wrong), wrong).toMatchObject({
        kind: 'summary',
        hint: expect.stringContaining('[[') as string,
      })
  })

  it('names any property', () => {
    expect(partsOf('{["team_ids[]"]|list} {labels["app.kubernetes.io/name"]} {["a}|:\\"{"]|short}')).toEqual([
      ['payload["team_ids[]"]', 'list'],
      ' ',
      ['payload.labels["app.kubernetes.io/name"]'],
      ' ',
      ['payload["a}|:\\"{"]', 'short'],
    ])
  })

  it('has its own digest', () => {
    const digestOf = (text: string): unknown => (parseSummary(text) as { template: object }).template
    expect(digestOf('a {b}')).toEqual(digestOf('a {b}'))
    expect(digestOf('a {b}')).not.toEqual(digestOf('a  {b}'))
  })
})

/** A contract whose fields are amount, note, email, to, flag and meta, with a summary. */
const summary = (text: string): Record<string, string> =>
  contract('risk: low', `summary: ${JSON.stringify(text)}\nrisk: low`)
const AT = 'tools/pay.yaml:3:10'

const CASES: readonly Case[] = [
  [
    'a field that the schema lacks',
    summary('Pay {amuont}'),
    `${AT} unknown-field: \`payload.amuont\` is not in the contract of \`pay\` | did you mean \`amount\`?`,
  ],
  [
    'a currency that the schema lacks',
    summary('Pay {amount|money:currency}'),
    `${AT} unknown-field: \`payload.currency\` is not in the contract of \`pay\``,
  ],
  [
    'what is no field',
    summary('Pay {not a field}'),
    `${AT} unknown-field: \`payload.not a field\` is not a field`,
  ],
  ['a field without a name', summary('Pay {}'), `${AT} bad-summary: a field of the summary has no name`],
  [
    'a brace that is never closed',
    summary('Pay {amount'),
    `${AT} bad-summary: \`{\` has no partner in the summary | write a field as \`{amount_cents|money:currency}\`, and a brace as \`{{\` or \`}}\``,
  ],
  ['a brace that closes nothing', summary('Pay }'), `${AT} bad-summary: \`}\` has no partner in the summary`],
  [
    'a format that there is not',
    summary('Pay {amount|monye:note}'),
    `${AT} bad-summary: \`monye\` is not a format of a summary | did you mean \`money\`?`,
  ],
  [
    'money without a currency',
    summary('Pay {amount|money}'),
    `${AT} bad-summary: \`money\` needs a currency | write \`|money:currency\` for the field, or \`|money:USD\` for a code`,
  ],
  [
    'an argument that nothing takes',
    summary('Pay {to|list:3}'),
    `${AT} bad-summary: the format \`list\` takes nothing behind it | write \`|list\``,
  ],
  [
    'money of what is no number',
    summary('Pay {note|money:USD}'),
    `${AT} bad-summary: \`payload.note\` is never a number, which \`money\` needs`,
  ],
  [
    'a currency that is no text',
    summary('Pay {amount|money:flag}'),
    `${AT} bad-summary: \`payload.flag\` is never text, which \`money\` needs`,
  ],
  [
    'a list that is none',
    summary('Pay {amount} {note|list}'),
    `${AT} bad-summary: \`payload.note\` is never a list, which \`list\` needs`,
  ],
  ['two lines', summary('Pay\n{amount}'), `${AT} bad-summary: a summary is one line`],
  [
    'too many characters',
    summary('x'.repeat(301)),
    `${AT} bad-summary: a summary has at most 300 characters`,
  ],
  ['too many fields', summary('{amount}'.repeat(13)), `${AT} bad-summary: a summary has at most 12 fields`],
  ['an empty one', summary(''), `${AT} bad-value: \`summary\` must not be empty`],
  [
    'a field that a rule reads and the summary leaves out',
    summary('Pay {note}'),
    `${AT} summary-leaves-out: the summary of \`pay\` leaves out \`payload.amount\`, which rule \`pay-small\` reads | add it, so that reviewers see what the rule saw`,
  ],
]

describe('checking a summary', () => {
  runCases(CASES)
  runFine(
    [
      [
        'a summary that names what rules read',
        summary('Pay {amount} {to|count} {to|list} {note|short} {meta}'),
      ],
      ['a contract without one', {}],
      [
        'a part of what the summary names whole',
        {
          ...summary('Pay {amount} to {to}'),
          'rules/pay.yaml': 'tool: pay\nrules:\n  - id: a\n    allow: A.\n    when: { "payload.to[0]": x }\n',
        },
      ],
    ],
    ['summary-leaves-out', 'bad-summary'],
  )
})
