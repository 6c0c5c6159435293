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
    const rows = KINDS.map(({ type, shown, given }) =>
      `| ${type} | ${shown} | ${given} |`.replace('|  |', '| |'),
    )
    expect(
      page
        .split('\n')
        .filter((line) => line.startsWith('| '))
        .slice(1),
    ).toEqual(rows)
    expect(Object.keys(EXAMPLES)).toEqual(KINDS.map(({ type }) => type))
  })

  it.each(Object.entries(EXAMPLES))('%s', (type, { shown = [], refused = [] }) => {
    for (const [value, json] of shown) {
      expect(KINDS.find(({ is }) => is(value))?.type).toBe(type)
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
