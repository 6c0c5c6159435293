import { readFileSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { type Handle, InvalidPayload } from '@countersign/sdk'
import { carrierOf } from '../../packages/sdk/src/carrier.ts'
import { KINDS, toJson, toPayload } from '../../packages/sdk/src/values.ts'
import { gateBefore } from './double.ts'

class Money {
  readonly cents = 1
}
class Liar extends Map<string, number> {
  override *[Symbol.iterator](): MapIterator<[string, number]> {
    yield ['a', 0]
  }
}

/** The words of the page: name, type, what reviewers see, what the function gets. A codec encodes before the table. */
const PAGE: readonly (readonly [name: string, type: string, shown: string, given: string])[] = [
  ['plain value', '`null`, `boolean`, `string`', 'itself; a text with a lone surrogate is refused', 'itself'],
  ['number', '`number`', 'itself; `-0` becomes `0`; `NaN` and infinities are refused', 'itself'],
  ['bigint', '`bigint`', 'text: `12n` becomes `"12"`', 'a `bigint`, by the schema'],
  [
    'Date',
    'exactly `Date`',
    'text in RFC 3339, in UTC; an invalid date is refused, or a year beyond 9999',
    'a `Date`, by the schema',
  ],
  ['URL', 'exactly `URL`', 'text', 'a `URL`, by the schema'],
  ['Array', 'exactly `Array`', 'a list; holes are refused', 'an `Array`'],
  [
    'Set',
    'exactly `Set`',
    "a list, in the order of the items' JSON; two items that are equal in JSON are refused",
    'a `Set`, by the schema',
  ],
  ['Map', 'exactly `Map`', 'an object; keys must be text', 'a `Map`, by the schema'],
  [
    'object',
    'plain object',
    'an object; a member that is `undefined` is left out; accessors, symbols and hidden members are refused',
    'an object',
  ],
  [
    'codec',
    'a type with a codec of zod (`z.codec`) in the schema',
    'its encoded side, by this table',
    'its decoded side',
  ],
  ['buffer', 'buffers, typed arrays, `Blob`', 'refused: send it as text, base64 for instance', ''],
  ['function', 'functions, symbols; `undefined` in a list, a `Set` or a `Map`', 'refused: leave it out', ''],
  [
    'other',
    'every other object, such as an instance of a class or a subclass of a type above',
    'refused by the name of its class: pass a plain object, or give the tool a schema with a codec',
    '',
  ],
]
const typeOf = (value: unknown): string | undefined =>
  PAGE.find(([name]) => name === KINDS.find(({ is }) => is(value))?.name)?.[1]

/** For each row of the table: values with what reviewers see, and refused values with the words of the refusal. */
const EXAMPLES: Readonly<Record<string, { shown?: [unknown, unknown][]; refused?: [unknown, RegExp][] }>> = {
  '`null`, `boolean`, `string`': {
    shown: [
      [null, null],
      [true, true],
      ['é', 'é'],
    ],
    refused: [['\ud800', /lone surrogate.*: send other text/]],
  },
  '`number`': {
    shown: [
      [1.5, 1.5],
      [-0, 0],
    ],
    refused: [
      [NaN, /NaN.*: send text/],
      [-Infinity, /-Infinity/],
    ],
  },
  '`bigint`': { shown: [[2n ** 64n, '18446744073709551616']] },
  'exactly `Date`': {
    shown: [[new Date(0), '1970-01-01T00:00:00.000Z']],
    refused: [
      [new Date('no'), /an invalid Date/],
      [new Date(8e15), /an invalid Date/],
      [Object.assign(new Date(0), { toISOString: () => 'x' }), /class Date with members of its own/],
    ],
  },
  'exactly `URL`': { shown: [[new URL('https://a.example/b?c#d'), 'https://a.example/b?c#d']] },
  'exactly `Array`': {
    shown: [
      [
        [1, [2n]],
        [1, ['2']],
      ],
    ],
    refused: [
      [Object.assign([1], { length: 2 }), /a list with holes/],
      [Object.assign([1], { more: 1 }), /beside its items/],
    ],
  },
  'exactly `Set`': {
    shown: [[new Set(['b', 'a', 10, 9]), ['a', 'b', 10, 9]]],
    refused: [[new Set([1n, '1']), /a Set with two items that are equal in JSON at .*: remove one/]],
  },
  'exactly `Map`': {
    shown: [[new Map([['a', new Date(0)]]), { a: '1970-01-01T00:00:00.000Z' }]],
    refused: [
      [new Map([[1, 2]]), /a Map with a key that is no text/],
      [new Liar([['a', 1]]), /class Liar/],
    ],
  },
  'plain object': {
    shown: [
      [{ a: undefined, b: 1 }, { b: 1 }],
      [Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
    ],
    refused: [
      [
        {
          get a() {
            return 1
          },
        },
        /an accessor or a hidden member at \/place\/a/,
      ],
      [Object.defineProperty({}, 'a', { value: 1 }), /hidden member at \/place\/a/],
      [{ [Symbol('s')]: 1 }, /Symbol\(s\)/],
    ],
  },
  'a type with a codec of zod (`z.codec`) in the schema': {},
  'buffers, typed arrays, `Blob`': {
    refused: [
      [Buffer.from('a'), /class Buffer at .*: send it as text, base64/],
      [new ArrayBuffer(1), /class ArrayBuffer at .*: send/],
      [new Blob(['a']), /class Blob at .*: send/],
    ],
  },
  'functions, symbols; `undefined` in a list, a `Set` or a `Map`': {
    refused: [
      [() => 1, /type function at .*: leave it out/],
      [Symbol('s'), /type symbol/],
      [[undefined], /undefined at \/place\/0/],
    ],
  },
  'every other object, such as an instance of a class or a subclass of a type above': {
    refused: [
      [new Money(), /an object of class Money at .*: pass a plain object, or give/],
      [/a/, /class RegExp/],
    ],
  },
}

describe('the table of values', () => {
  it('equals the table of the page, and has examples of each row', () => {
    const page = readFileSync(new URL('../../docs/javascript/values.md', import.meta.url), 'utf8')
    const rows = PAGE.map(([, type, shown, given]) =>
      `| ${type} | ${shown} | ${given} |`.replace('|  |', '| |'),
    )
    expect(KINDS.map(({ name }) => name)).toEqual(PAGE.flatMap(([name]) => (name === 'codec' ? [] : [name])))
    for (const { name, remedy } of KINDS)
      if (remedy !== undefined) expect(PAGE.find(([one]) => one === name)?.[2]).toContain(`: ${remedy}`)
    expect(
      page
        .split('\n')
        .filter((line) => line.startsWith('| '))
        .slice(1),
    ).toEqual(rows)
    expect(Object.keys(EXAMPLES)).toEqual(PAGE.map(([, type]) => type))
  })

  it.each(Object.entries(EXAMPLES))('%s', (type, { shown = [], refused = [] }) => {
    for (const [value, json] of shown) {
      expect(typeOf(value)).toBe(type)
      expect(toJson(value)).toStrictEqual(json)
      expect(toPayload({ a: value })).toStrictEqual({ a: json })
    }
    for (const [value, words] of refused) {
      expect(() => toPayload({ place: value })).toThrow(InvalidPayload)
      expect(() => toPayload({ place: value })).toThrow(words)
      expect(() => toPayload({ place: value })).toThrow(/ at \/place/)
    }
  })

  it('ends with a value in itself, and with one that is no object', () => {
    const cycle: Record<string, unknown> = {}
    cycle['a'] = cycle
    expect(() => toPayload(cycle)).toThrow(/nested too deeply, or in itself/)
    expect(() => toPayload([1])).toThrow(/no JSON object: arguments have names/)
  })
})

const SCHEMA = z.object({
  at: z.codec(z.iso.datetime(), z.date(), {
    decode: (text) => new Date(text),
    encode: (date) => date.toISOString(),
  }),
  note: z.string().optional(),
})
const COERCED = z.object({
  at: z.string().transform((text) => new Date(text)),
  rates: z.record(z.string(), z.number()).transform((rates) => new Map(Object.entries(rates))),
})
const call = { taskId: 't', callId: 'c1', onPending: () => undefined }
const saved = (handle: Handle): Handle => JSON.parse(JSON.stringify(handle)) as Handle

describe('values of a call', () => {
  it('are the own objects of the caller in one process', async () => {
    const payload = { at: new Date(0), tags: new Set(['b', 'a']), note: undefined as string | undefined }
    const { gate, sent } = gateBefore({})
    expect(await gate.guard('pay', payload, (own) => own === payload)).toBe(true)
    expect(sent.requests).toMatchObject({ payload: { at: '1970-01-01T00:00:00.000Z', tags: ['a', 'b'] } })
    expect(sent.validate).toMatchObject({ request_payload: { tags: ['a', 'b'] } })
  })

  it('that change while people look do not run, and leave the proof unused', async () => {
    const payload = { at: new Date(0) }
    const { gate, asked } = gateBefore({}, undefined, { onPending: () => payload.at.setTime(1) })
    const run = vi.fn()
    await expect(gate.guard('pay', payload, run)).rejects.toMatchObject({ code: 'arguments_changed' })
    expect([asked.includes('validate'), run.mock.calls]).toEqual([false, []])
  })

  it('that change during the redemption do not run, and the report says so', async () => {
    const payload = { list: [1] }
    const { gate, said } = gateBefore({ validate: (is) => (payload.list.push(2), is) })
    const run = vi.fn()
    await expect(gate.guard('pay', payload, run)).rejects.toMatchObject({ code: 'arguments_changed' })
    expect(run).not.toHaveBeenCalled()
    await gate.settled()
    expect(said).toMatchObject([{ outcome: 'not_run' }])
  })

  it.each([
    ['a codec', SCHEMA, { at: new Date(0), note: undefined }],
    ['a transform that is idempotent', COERCED, { at: new Date(0), rates: new Map([['eur', 1]]) }],
  ])('are made anew by the schema after a resume: %s', async (_, schema, value) => {
    const { gate, sent } = gateBefore({})
    const handle = saved(await gate.propose('pay', value, { ...call, schema }))
    const got = await gate.resume(handle, (made: unknown) => made, { schema })
    expect(got).toEqual(value)
    expect(sent.validate).toMatchObject({ request_payload: { at: '1970-01-01T00:00:00.000Z' } })
  })

  it('that the schema makes otherwise do not run, and leave the proof unused; their first result does', async () => {
    const schema = z.object({ text: z.string().transform((text) => `${text}!`) })
    const { gate, asked } = gateBefore({})
    const value = schema.parse({ text: 'a' })
    const handle = saved(await gate.propose('pay', value, { ...call, schema }))
    const before = asked.length
    await expect(gate.resume(handle, () => 1, { schema })).rejects.toMatchObject({
      code: 'arguments_changed',
    })
    expect(asked.length).toBe(before)
    expect(await gate.resume(handle, (made) => made, { schema, payload: value })).toBe(value)
  })

  it.each([
    ['function', z.object({ f: z.function() })],
    ['Money', z.object({ m: z.instanceof(Money) })],
    ['symbol', z.object({ list: z.array(z.symbol()) })],
    ['codec', SCHEMA.extend({ t: z.string().transform(Number) })],
  ])('of a schema that no payload can hold are refused before the first call: %s', (name, schema) => {
    expect(() => carrierOf(schema, 'pay')).toThrow(TypeError)
    expect(() => carrierOf(schema, 'pay')).toThrow(name)
  })

  it('pass through a recursive schema', () => {
    const tree = z.object({
      get children() {
        return z.array(tree)
      },
    })
    expect(carrierOf(tree).toPayload({ children: [{ children: [] }] })).toEqual({
      children: [{ children: [] }],
    })
  })
})
