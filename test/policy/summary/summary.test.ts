import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject, JsonValue } from '../../../src/contract/json.ts'
import { type Heading, hideFields } from '../../../src/domain/heading.ts'
import { segmentsOf } from '../../../src/domain/hidden-characters.ts'
import { bundle, CONTRACT, rules, snapshotOf } from '../support.ts'

const tag = (value: JsonValue): string => `[hidden ${JSON.stringify(value).length}]`

async function headingWith(
  template: string | undefined,
  payload: JsonObject,
  by: readonly string[] = [],
  places: readonly string[] = [],
): Promise<Heading> {
  const line = template === undefined ? '' : `summary: ${JSON.stringify(template)}\n`
  const files = bundle({
    'tools/pay.yaml': CONTRACT.replace('risk: low', `${line}risk: low`),
    'rules/pay.yaml': rules(`
  - { id: a, allow: A., when: { payload.amount: { at_most: 10 }, payload.note: x }, unless: { payload.flag: true } }
  - { id: b, review: B., when: { payload.email: { contains: x } } }
  - { id: c, review: C., when: { payload.amount: 7, agent.id: bot } }
limits:
  - { id: d, review: D., sum: payload.amount, at_most: 1, within: 1h, per: payload.note }
`),
  })
  const whole = {
    ...files,
    'tools/pay.yaml': (files['tools/pay.yaml'] ?? '').replace(ANY_AMOUNT, WHOLE_AMOUNT),
  }
  return (await snapshotOf(whole)).headingOf({ tool: 'pay', payload }, { by, places }, tag)
}
const ANY_AMOUNT = 'amount: { type: [integer, "null"] }'
const WHOLE_AMOUNT = 'amount: { type: integer, minimum: 0 }'

describe('a heading', () => {
  it('is the template with the values, each with its field and its original value', async () => {
    const { line, segments, template } = await headingWith('Pay {amount|money:USD} to {to|list}: {note}', {
      amount: 25_000,
      to: ['a', 'b', 'c', 'd'],
      note: 'thanks',
    })
    expect(line).toBe('Pay $250.00 to a, b, c, and 1 more: thanks')
    expect(segments).toEqual([
      { text: 'Pay ' },
      { text: '$250.00', field: 'payload.amount', exact: '25000' },
      { text: ' to ' },
      { text: 'a, b, c, and 1 more', field: 'payload.to', exact: '["a","b","c","d"]' },
      { text: ': ' },
      { text: 'thanks', field: 'payload.note' },
    ])
    expect(template).toMatch(/^[0-9a-f]{64}$/)
  })

  it('does not repeat a value that the heading shows elsewhere', async () => {
    const { segments } = await headingWith('{note} from {note|short}', { note: `a ${'b'.repeat(40)}` })
    expect(segments.map(({ exact }) => exact)).toEqual([undefined, undefined, undefined])
  })

  it('names the entries of a list that made a rule fire first', async () => {
    const to = ['a@x.example', 'b@x.example', 'c@x.example', 'someone@elsewhere.example']
    const { line } = await headingWith('Mail {to|list}', { to }, [], ['payload.to[3]', 'payload.to[3].x'])
    expect(line).toBe('Mail someone@elsewhere.example, a@x.example, b@x.example, and 1 more')
  })

  it('does not repeat long values, or values that its text already has', async () => {
    const { segments } = await headingWith('{note} {amount}', { note: 'two words', amount: 5 })
    expect(segments.map(({ exact }) => exact)).toEqual([undefined, undefined, undefined])
    const long = await headingWith('{note|short}', { note: 'x'.repeat(161) })
    expect(long.segments).toEqual([{ text: `${'x'.repeat(29)}…`, field: 'payload.note' }])
  })

  it('shows missing values and null', async () => {
    const { line, segments } = await headingWith('{amount} {note|short} {to|list} {meta}', { meta: null })
    expect(line).toBe('(none) (none) (none) null')
    expect(segments[0]).toEqual({ text: '(none)', field: 'payload.amount', missing: true })
    expect(segments[6]).toEqual({ text: 'null', field: 'payload.meta' })
  })

  it('leaves out a part in brackets without any value, and keeps null, zero and false', async () => {
    const template = 'Pay {amount}[, to {to|list}][, note {note}, flag {flag}][, mail {email}]'
    const lineOf = async (payload: JsonObject): Promise<string> => (await headingWith(template, payload)).line
    expect(await lineOf({ amount: 0 })).toBe('Pay 0')
    expect(await lineOf({ amount: 1, to: [], note: '' })).toBe('Pay 1')
    expect(await lineOf({ amount: 1, to: ['a'], note: 'n', flag: false })).toBe(
      'Pay 1, to a, note n, flag false',
    )
    expect(await lineOf({ amount: 1, to: null, email: 'x@y.z' })).toBe('Pay 1, to null, mail [hidden 7]')
  })

  it('shows a part with one value whole, so that no value disappears with an empty one', async () => {
    const template = 'Pay {amount}[, to {to|list}, note {note}, flag {flag}, mail {email}]'
    const { line, segments } = await headingWith(template, { amount: 1, note: '', flag: false })
    expect(line).toBe('Pay 1, to (none), note (none), flag false, mail (none)')
    expect(segments.filter(({ text }) => text === '(none)')).toEqual([
      { text: '(none)', field: 'payload.to', missing: true },
      { text: '(none)', field: 'payload.note' },
      { text: '(none)', field: 'payload.email', missing: true },
    ])
  })

  it('never leaves out a sensitive value, because that would reveal that it is empty', async () => {
    const lineOf = async (payload: JsonObject): Promise<string> =>
      (await headingWith('Pay {amount}[, to {to|list}, mail {email}]', payload)).line
    expect(await lineOf({ amount: 1, email: '' })).toBe('Pay 1, to (none), mail [hidden 2]')
    expect(await lineOf({ amount: 1, email: [], to: ['a'] })).toBe('Pay 1, to a, mail [hidden 2]')
    expect(await lineOf({ amount: 1 })).toBe('Pay 1')
  })

  it('keeps a part whose path leads into another kind of value', async () => {
    expect((await headingWith('Pay[ to {to[0]}]', { to: 'a' })).line).toBe('Pay to (none)')
  })

  it('shows sensitive values as tags, even when only the currency is sensitive', async () => {
    const { line, segments } = await headingWith('{email} {email|short} {amount|money:email}', {
      email: 'secret@acme.com',
      amount: 25_000,
    })
    expect(line).toBe('[hidden 17] [hidden 17] [hidden 5]')
    expect(JSON.stringify(segments)).not.toContain('secret')
    expect(JSON.stringify(segments)).not.toContain('25000')
    expect(segments[0]).toEqual({ text: '[hidden 17]', field: 'payload.email', sensitive: true })
  })

  it('has no hidden characters on its line', async () => {
    const { line, segments } = await headingWith('{note}|{to}', {
      note: 'a\u202eb\u200b\nc\td',
      to: ['x\u0000y', '\ud800'],
    })
    expect(line).toBe('"a[U+202E]b[U+200B][U+000A]c[U+0009]d"|x[U+0000]y [U+D800]')
    expect(segments[0]?.text).toBe('"a\u202eb\u200b\nc\td"')
  })

  it('a summary without a template names the tool and the fields that the deciding rules read', async () => {
    const lineBy = async (...by: string[]): Promise<string> =>
      (await headingWith(undefined, { amount: 7, note: 'x y', email: 'q' }, by)).line
    expect(await lineBy('a')).toBe('pay: amount 7, note "x y", flag (none)')
    expect(await lineBy('b', 'c')).toBe('pay: email [hidden 3], amount 7')
    expect(await lineBy('d')).toBe('pay: amount 7, note "x y"')
    expect(await lineBy('unmatched')).toBe('pay')
    expect((await headingWith(undefined, {}, ['a'])).template).toBeUndefined()
  })

  it('the summary of a tool without a contract is its name, for any name', async () => {
    const snapshot = await snapshotOf(bundle())
    const heading = snapshot.headingOf(
      { tool: 'no\u202esuch', payload: { a: 1 } },
      { by: ['unknown_tool'], places: [] },
      tag,
    )
    expect(heading).toEqual({ line: 'no[U+202E]such', segments: [{ text: 'no\u202esuch' }] })
  })

  it('can be made of any payload, even of one that does not fit the contract', async () => {
    const template =
      '{amount|money:note}{to|list}{email}{meta}{flag}{to[0]|host}{note|date}{note|path}{note|bytes}'
    const snapshot = await snapshotOf(
      bundle({ 'tools/pay.yaml': CONTRACT.replace('risk: low', `summary: '${template}'\nrisk: low`) }),
    )
    const value = fc.jsonValue()
    const payloads = fc.record({
      amount: value,
      to: value,
      email: value,
      meta: value,
      flag: value,
      note: value,
    })
    fc.assert(
      fc.property(payloads, (payload) => {
        const { line } = snapshot.headingOf(
          { tool: 'pay', payload: payload as JsonObject },
          { by: [], places: [] },
          tag,
        )
        expect(segmentsOf(line).filter(({ hidden }) => hidden)).toEqual([])
        expect(line).not.toMatch(/[\n\t]/)
      }),
      { numRuns: 1_000 },
    )
  })

  it('shows the size of a sensitive text, and hides a sensitive number', async () => {
    const { segments } = await headingWith('{email|bytes}', { email: 'x@y.example' })
    expect(segments).toEqual([{ text: '11 bytes', field: 'payload.email', sensitive: true }])
    const number = await headingWith('{email|bytes}', { email: 4_711 })
    expect(number.line).toBe('[hidden 4]')
  })

  it('loses a value that a later bundle marks as sensitive, and nothing else', async () => {
    const heading = await headingWith('{note} {amount} {to} {email}', { note: 'card', amount: 5, email: 'q' })
    const hidden = hideFields(heading, (field) => field !== 'payload.amount')
    expect(hidden.line).toBe('[hidden] 5 (none) [hidden 3]')
    expect(hidden.segments[0]).toEqual({ text: '[hidden]', field: 'payload.note', sensitive: true })
    expect(hidden.template).toBe(heading.template)
  })
})
