import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/contract/json.ts'
import type { Because } from '../../../src/domain/because.ts'
import type { Call, FiredRule } from '../../../src/policy/language/snapshot.ts'
import { bundle, CONTRACT, rules, snapshotOf } from '../support.ts'

/** The reasons of every rule that fires for a payload, by rule. */
async function reasonsFor(
  text: string,
  payload: JsonObject,
  more: Partial<Call> = {},
): Promise<Readonly<Record<string, readonly Because[] | undefined>>> {
  const fired = await firedFor(text, payload, more)
  return Object.fromEntries(fired.map(({ id, because }) => [id, because]))
}

async function firedFor(
  text: string,
  payload: JsonObject,
  more: Partial<Call> = {},
): Promise<readonly FiredRule[]> {
  const snapshot = await snapshotOf(bundle({ 'rules/pay.yaml': rules(text) }))
  const call: Call = { tool: 'pay', tenant: 'acme', agent: 'bot', at: 0, ...more, payload }
  const { fired } = await snapshot.decide(call)
  return snapshot.withReasons(call, fired)
}

const reasonFor = async (when: string, payload: JsonObject): Promise<readonly Because[] | undefined> =>
  (await reasonsFor(`  - { id: a, review: A., when: { ${when} } }\n`, payload))['a']

describe('the values that made a rule fire', () => {
  it('are the entries of a list that passed, each with the part that the test read', async () => {
    const to = [...Array.from({ length: 29 }, (_, i) => `a${i}@acme.com`), 'someone@elsewhere.example']
    expect(await reasonFor("'domain(payload.to)': { some: { not: $our_domains } }", { to })).toEqual([
      { field: 'payload.to[29]', of: 30, value: 'someone@elsewhere.example', read: 'elsewhere.example' },
    ])
    const ours = "not: { 'domain(payload.to)': { every: $our_domains } }"
    expect(await reasonFor(ours, { to })).toMatchObject([{ field: 'payload.to[29]', of: 30 }])
    expect(await reasonFor('payload.to: { contains: x }', { to: ['y', 'x'] })).toEqual([
      { field: 'payload.to[1]', of: 2, value: 'x' },
    ])
  })

  it('are all entries of a list without the entry that a rule asks for, at most twenty', async () => {
    const to = Array.from({ length: 30 }, (_, i) => `${i}`)
    const found = await reasonFor('payload.to: { none: x }', { to })
    expect(found).toHaveLength(20)
    expect(found?.at(-1)).toEqual({ field: 'payload.to[19]', of: 30, value: '19' })
  })

  it('are the commands of a line that passed, as the line writes them', async () => {
    const rm = "'shell_commands(payload.note)': { some: { .program: rm } }"
    expect(await reasonFor(rm, { note: 'ls; rm -r "a b"' })).toEqual([
      { field: 'payload.note', of: 2, value: 'ls; rm -r "a b"', read: 'rm -r a b' },
    ])
    expect(await reasonFor(rm, { note: 'ls $(id)' })).toEqual([
      { field: 'payload.note', state: 'unreadable' },
    ])
  })

  it('are only the parts of a condition that decided', async () => {
    const any = 'any: [{ payload.amount: { over: 10 } }, { payload.note: x }], payload.flag: true'
    expect(await reasonFor(any, { amount: 5, note: 'x', flag: true })).toEqual([
      { field: 'payload.note', value: 'x' },
      { field: 'payload.flag', value: true },
    ])
  })

  it('name a missing and an unreadable value without a value', async () => {
    expect(await reasonFor('payload.amount: { over: 10 }', {})).toEqual([
      { field: 'payload.amount', state: 'missing' },
    ])
    expect(await reasonFor('payload.amount: { over: 10 }', { amount: 'ten' })).toEqual([
      { field: 'payload.amount', state: 'unreadable' },
    ])
    const mixed = { to: ['a@acme.com', 'no address'] }
    expect(await reasonFor("'domain(payload.to)': { some: { is: x.example } }", mixed)).toEqual([
      { field: 'payload.to[1]', of: 2, state: 'unreadable' },
    ])
    expect(await reasonFor('payload.flag: false', {})).toEqual([
      { field: 'payload.flag', state: 'missing', read: false },
    ])
  })

  it('show the number of entries that a rule counted', async () => {
    expect(await reasonFor('payload.to: { count: { over: 1 } }', { to: ['a', 'b'] })).toEqual([
      { field: 'payload.to', value: '["a","b"]', read: 2, of: 2 },
    ])
  })

  it('show which part of a statement was read', async () => {
    const note = 'SELECT 1; DELETE FROM t'
    expect(await reasonFor("'sql_verbs(payload.note)': { contains: delete }", { note })).toEqual([
      { field: 'payload.note', of: 2, value: note, read: 'delete' },
    ])
  })

  it('begin with the value that kept an exception from applying, in the alternative that came closest', async () => {
    const text = `  - id: a
    review: A.
    when: { payload.note: [cat, git] }
    unless:
      any:
        - { payload.note: git, payload.to: { every: { matches: '^src/' } } }
        - { payload.note: cat, payload.to: { every: { matches: '^src/' } } }
`
    const { a = [] } = await reasonsFor(text, { note: 'cat', to: ['src/a', '/workspace/.env'] })
    expect(a.map(({ field }) => field)).toEqual(['payload.to[1]', 'payload.note'])
  })

  it('hide values of sensitive fields, and what a test read of them', async () => {
    const found = await reasonFor("'domain(payload.email)': evil.example", { email: 'x@evil.example' })
    expect(found).toEqual([{ field: 'payload.email', hidden: true }])
  })

  it('cut a long text', async () => {
    const [{ value } = {}] =
      (await reasonFor('payload.note: { contains: a }', { note: 'a'.repeat(999) })) ?? []
    expect(value).toBe(`${'a'.repeat(199)}…`)
  })

  it('are the amount and the field of a limit', async () => {
    const limits = `  - { id: a, allow: A. }
limits:
  - { id: l, review: L., sum: payload.amount, at_most: 1, within: 1h, per: payload.note, risk: high }
`
    const payload = { amount: 5, note: 'x' }
    const whole = CONTRACT.replace('[integer, "null"]', 'integer, minimum: 0')
    const snapshot = await snapshotOf(bundle({ 'rules/pay.yaml': rules(limits), 'tools/pay.yaml': whole }))
    const call: Call = { tool: 'pay', tenant: 'acme', agent: 'bot', at: 0, payload }
    const [use] = (await snapshot.decide(call)).limits ?? []
    const full = { ...call, exceeded: new Set([use?.limit ?? '']) }
    const { fired } = await snapshot.decide(full)
    expect(snapshot.withReasons(full, fired)).toMatchObject([
      { id: 'a' },
      {
        id: 'l',
        risk: 'high',
        because: [
          { field: 'payload.amount', value: 5 },
          { field: 'payload.note', value: 'x' },
        ],
      },
    ])
  })

  it('list values of the payload before other facts, and name the risk of a rule', async () => {
    const text = '  - { id: a, review: A., risk: high, when: { agent.id: bot, payload.note: x } }\n'
    expect(await firedFor(text, { note: 'x' })).toMatchObject([
      { risk: 'high', because: [{ field: 'payload.note' }, { field: 'agent.id', value: 'bot' }] },
    ])
  })
})
