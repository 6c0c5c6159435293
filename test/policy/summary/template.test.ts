import { describe, expect, it } from 'vitest'
import { parseSummary } from '../../../src/policy/summary/template.ts'
import { contract, runFine } from '../cases.ts'

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
describe('checking a summary', () => {
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
