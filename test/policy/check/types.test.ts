import { describe, expect, it } from 'vitest'
import { RICH, rich, runFine } from '../cases.ts'
import { bundle, diagnose, rules } from '../support.ts'

const means = (value: string): Record<string, string> => ({
  'tools/pay.yaml': RICH,
  'rules/pay.yaml': rules('  - { id: a, allow: A. }\n', `tool: pay\nmissing_means: { ${value} }`),
})

const CODES = [
  'undeclared-field',
  'test-type',
  'literal-type',
  'literal-enum',
  'literal-range',
  'literal-form',
  'missing-means-type',
  'missing-means-unused',
]

describe('a finding of the type check', () => {
  runFine(
    [
      ['a comparison at a bound that splits the range', rich('{ payload.amount: { over: 999 } }')],
      ['a limit that is the bound itself and holds', rich('{ payload.amount: { at_least: 1 } }')],
      ['a branch of anyOf that fits', rich('{ any: [{ payload.who: abc }, { payload.who: 12 }] }')],
      ['a value of every oneOf branch', rich('{ payload.one: [a, b, c] }')],
      ['a field that may be null', rich('{ payload.maybe: { over: 1 } }')],
      ['any key of an open object', rich('{ payload.open.whatever: { over: 1 } }')],
      ['a key that only a pattern names', rich('{ payload.map.x_1: abc }')],
      ['a key that additionalProperties describes', rich('{ payload.map.total: 3 }')],
      ['text that fits its pattern', rich('{ payload.code: ch_1 }')],
      ['a mail address', rich('{ payload.mail: dana@acme.com }')],
      [
        'a list of routing.yaml of which some entry fits',
        rich('{ domain(payload.to): { some: $our_domains } }'),
      ],
      ['a function of text or a number', rich('{ host(payload.who): acme.com }')],
      ['a function of a list with a text in it', rich('{ domain(payload.pair): { some: acme.com } }')],
      ['a function of a field that nothing is known of', rich('{ host(payload.open.url): acme.com }')],
      ['a function of the labels of a tool without any', rich('{ domain(tool.labels): { some: a.com } }')],
      ['a path', rich('{ path(payload.url): [/workspace, /] }')],
      ['an IPv6 host', rich("{ host(payload.url): ['[::1]', localhost, 10.0.0.1] }")],
      ['a text beyond ASCII, which may be sent decomposed', rich('{ payload.note: éé }')],
      ['a meaning that fits', means('payload.tags: [], payload.note: { is: nothing }, payload.share: 0.5')],
    ],
    CODES,
  )

  const other = (amount: string): Record<string, string> => ({
    'tools/pay.yaml': RICH,
    'tools/wire.yaml': RICH.replace('tool: pay', 'tool: wire').replace(
      "amount: { $ref: '#/$defs/money' }",
      `amount: ${amount}`,
    ),
  })
  const both = (match: string): string =>
    rules(`  - { id: a, allow: A., when: ${match} }\n`, 'tools: [pay, wire]')

  it('is reported when one of several tools has another type there', async () => {
    const found = await diagnose(
      bundle({ ...other('{ type: string }'), 'rules/pay.yaml': both('{ payload.amount: { over: 5 } }') }),
    )
    expect(found.map((one) => one.message)).toContain(
      '`over` needs a number, but `payload.amount` of `wire` is text',
    )
  })

  it('is not reported for a function when one of several tools has text there', async () => {
    const match = both('{ host(payload.amount): acme.com }')
    const codes = async (amount: string): Promise<readonly string[]> =>
      (await diagnose(bundle({ ...other(amount), 'rules/pay.yaml': match })))
        .filter((one) => one.severity === 'error')
        .map((one) => one.message)
    expect(await codes('{ type: string }')).toEqual([])
    expect(await codes('{ type: number }')).toEqual([
      '`host` reads text, but `payload.amount` of `pay` is a whole number',
    ])
  })

  it('is not reported for a literal that one of several tools permits', async () => {
    const files = { ...other('{ type: integer, minimum: 1, maximum: 9000 }') }
    const codes = async (limit: number): Promise<readonly string[]> =>
      (await diagnose(bundle({ ...files, 'rules/pay.yaml': both(`{ payload.amount: { over: ${limit} } }`) })))
        .filter((one) => one.severity === 'error')
        .map((one) => one.code)
    expect(await codes(5000)).toEqual([])
    expect(await codes(9000)).toEqual(['literal-range'])
  })

  it('carries the excerpt with a caret under the literal', async () => {
    const [found] = await diagnose(bundle(rich('{ payload.currency: [usd, eru] }')))
    expect(found).toMatchObject({
      excerpt: '    when: { payload.currency: [usd, eru] }',
      column: 37,
      width: 3,
    })
  })
})

it('reports only one problem of a number that is not finite', async () => {
  for (const test of ['.nan', '[0.5, .inf]', '{ over: .inf }', '{ not: { under: -.inf } }']) {
    const found = await diagnose(bundle(rich(`{ payload.share: ${test} }`)))
    expect(found.map(({ code }) => code)).toEqual(['unsafe-number'])
  }
})
