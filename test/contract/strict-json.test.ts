import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../src/contract/errors.ts'
import type { JsonValue } from '../../src/contract/json.ts'
import { LIMITS } from '../../src/contract/limits.ts'
import { canonicalJson, digestOf } from '../../src/domain/digest.ts'
import { parseRequest, parseStrictJson } from '../../src/contract/strict-json.ts'
import { runs } from '../runs.ts'
import { textsOf } from '../texts.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** The value, or undefined when the scan refuses; anything else that is thrown is a failure. */
function strict(text: string): { value: JsonValue } | undefined {
  try {
    return { value: parseStrictJson(bytes(text)) }
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError)
    expect((error as GatewayError).code).toBe('invalid_json')
    return undefined
  }
}

/** Replaces, removes, doubles or inserts one piece of the text. */
const PIECES = textsOf('fragments', 'of JSON')
const mutation = fc.record({
  at: fc.nat(),
  length: fc.nat({ max: 3 }),
  piece: fc.constantFrom('', ...PIECES),
})

function mutate(text: string, changes: readonly { at: number; length: number; piece: string }[]): string {
  return changes.reduce((before, { at, length, piece }) => {
    const place = at % (before.length + 1)
    return before.slice(0, place) + piece + before.slice(place + length)
  }, text)
}

describe('the strict JSON scan', () => {
  it('accepts a mutated document only when JSON.parse returns an equal value', () => {
    let taken = 0
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 4 }),
        fc.array(mutation, { minLength: 0, maxLength: 3 }),
        (document, changes) => {
          const text = mutate(document, changes)
          if (!text.isWellFormed()) return
          const result = strict(text)
          if (result === undefined) return
          taken++
          const plain = JSON.parse(text) as JsonValue
          expect(result.value).toStrictEqual(plain)
          const again = JSON.parse(JSON.stringify(result.value)) as JsonValue
          expect(digestOf(again)).toBe(digestOf(plain))
          expect(JSON.parse(canonicalJson(plain))).toEqual(again)
        },
      ),
      { numRuns: runs(60_000) },
    )
    expect(taken, 'the generator also makes what is accepted').toBeGreaterThan(runs(10_000))
  })

  it('accepts the output of JSON.stringify, except for the named rules', () => {
    const safe = fc.oneof(
      fc.maxSafeInteger(),
      fc
        .double({ noDefaultInfinity: true, noNaN: true })
        .filter((n) => !Number.isInteger(n) || Number.isSafeInteger(n)),
    )
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(null, true, false),
        safe,
        fc.string({ unit: 'binary' }).filter((s) => s.isWellFormed()),
        fc.array(tie('value'), { maxLength: 5 }),
        fc.dictionary(
          fc.string({ unit: 'grapheme' }).filter((key) => key !== '__proto__'),
          tie('value'),
          { maxKeys: 5 },
        ),
      ),
    })).value
    fc.assert(
      fc.property(value, (one) => {
        expect(strict(JSON.stringify(one))?.value).toEqual(JSON.parse(JSON.stringify(one)))
      }),
      { numRuns: runs(5_000) },
    )
  })

  it('accepts numbers of 15 digits, never more than 17, and no number that would lose digits', () => {
    const literals = fc.tuple(
      fc
        .integer({ min: 1, max: 19 })
        .chain((n) => fc.bigInt({ min: 10n ** BigInt(n - 1), max: 10n ** BigInt(n) - 1n })),
      fc.integer({ min: -345, max: 310 }),
    )
    fc.assert(
      fc.property(literals, ([mantissa, exponent]) => {
        const significand = String(mantissa).replace(/0+$/, '')
        const literal = `${mantissa}e${exponent}`
        const value = Number(literal)
        const taken = strict(literal) !== undefined
        const normal = Number.isFinite(value) && value >= 2 ** -1022
        if (normal && significand.length <= 15) expect([literal, taken]).toEqual([literal, true])
        if (significand.length > 17 || !Number.isFinite(value) || value === 0)
          expect([literal, taken]).toEqual([literal, false])
        if (!taken) return
        const whole = exponent >= 0 || mantissa % 10n ** BigInt(-exponent) === 0n
        expect([literal, Number.isInteger(value)]).toEqual([literal, whole])
        const places = Math.min(17, significand.length)
        const off = Math.abs(Number(value.toPrecision(places)) - value)
        expect(off, literal).toBeLessThanOrEqual(value * 2 ** -52)
        if (places > 15) return
        const kept = value.toPrecision(places).replace(/e.*$/, '').replace(/\D/g, '').replace(/^0+/, '')
        expect([literal, kept.replace(/0+$/, '')]).toEqual([literal, significand])
      }),
      { numRuns: runs(20_000) },
    )
  })

  it('refuses a duplicate key in any spelling and at any depth', () => {
    const key = fc.string({ minLength: 1, maxLength: 4 }).filter((k) => k !== '__proto__')
    const escaped = (text: string): string =>
      `"${Array.from(text)
        .map((c) => (c.length === 1 ? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}` : c))
        .join('')}"`
    fc.assert(
      fc.property(key, fc.nat({ max: 5 }), (name, depth) => {
        const twice = `{${JSON.stringify(name)}:1,"other-key":2,${escaped(name)}:3}`
        expect(strict(`${'[{"a":'.repeat(depth)}${twice}${'}]'.repeat(depth)}`)).toBeUndefined()
      }),
    )
  })

  it.each([
    ['depth', (n: number) => '['.repeat(n) + ']'.repeat(n), LIMITS.JSON_DEPTH],
    [
      'keys',
      (n: number) => `{${Array.from({ length: n }, (_, i) => `"${i}":0`).join(',')}}`,
      LIMITS.JSON_KEYS,
    ],
    ['values', (n: number) => `[${Array.from({ length: n - 1 }, () => '0').join(',')}]`, LIMITS.JSON_VALUES],
    ['bytes of a string', (n: number) => `"${'x'.repeat(n)}"`, LIMITS.STRING_BYTES],
  ])('accepts %s up to the cap and no more', (_, make, cap) => {
    expect(strict(make(cap))).toBeDefined()
    expect(strict(make(cap + 1))).toBeUndefined()
  })

  it.each(['x', 'é', '€', '😀', '\\u20ac'])('counts the bytes of %s instead of the characters', (letter) => {
    const width = Buffer.byteLength(JSON.parse(`"${letter}"`) as string)
    const most = Math.floor(LIMITS.STRING_BYTES / width)
    expect(strict(`"${letter.repeat(most)}"`)).toBeDefined()
    expect(strict(`"${letter.repeat(most + 1)}"`)).toBeUndefined()
  })

  it.each([
    ['', 'expected a value', 0],
    ['\ufeff{}', 'the body begins with a byte order mark', 0],
    ['{} x', 'there is text after the document', 3],
    ['01', 'there is text after the document', 1],
    ['[1 2]', 'expected `,` or the end of the list', 3],
    ['[1,]', 'expected a value', 3],
    ['[tru]', 'expected a value', 1],
    ['[:]', 'expected a value', 1],
    ['[/]', 'expected a value', 1],
    ['{"a":1,}', 'expected a key in double quotes', 7],
    ['{"a" 1}', 'expected `:`', 5],
    ['["abc', 'the string does not end', 1],
    ['"a\nb"', 'a string contains a control character', 2],
    ['"a\u001fb"', 'a string contains a control character', 2],
    ['"a\\x"', 'an escape is not JSON', 2],
    ['["\\ud800"]', 'a string contains a lone surrogate', 1],
    ['[-]', 'a number is not JSON', 1],
    ['[1e400]', 'a number is too large', 1],
    ['[-1e-400]', 'a number is too small', 1],
    ['[9007199254740993]', 'an integer is beyond 2^53-1', 1],
    ['0.123456789012345678', 'a number has more digits than a double can hold', 0],
    ['9007199254740993.0', 'a number has more digits than a double can hold', 0],
    ['1.1125369292536008e-308', 'a number has more digits than a double can hold', 0],
    [`0.${'0'.repeat(62)}1`, 'a number is too long', 0],
    ['{"a":{"__proto__":1}}', 'the key `__proto__` is not accepted', 6],
  ])('reports what is wrong in %j, and where', (text, why, place) => {
    expect(() => parseStrictJson(bytes(text))).toThrow(
      new GatewayError('invalid_json', `${why} (at character ${place})`),
    )
  })

  it('accepts similar input that is valid', () => {
    const texts = ['-0', '-0.0e-999', '"\u0020"', '"\\ud83d\\ude00"', '9007199254740991', '-9007199254740991']
    /** Beyond 15 digits the last may be rounded, down to the smallest normal double. */
    const rounded = ['0.12345678901234567', '2.2250738585072015e-308']
    for (const text of [
      ...texts,
      ...rounded,
      ' [ ] ',
      `0.${'0'.repeat(61)}1`,
      '\t{\r\n"a" : {}\t, "b":[ ]\r}\n',
    ])
      expect([text, strict(text)?.value]).toEqual([text, JSON.parse(text)])
  })

  it.each([
    ['a byte that begins nothing', [0xff]],
    ['more bytes than needed', [0xc0, 0x80]],
    ['half of a pair', [0xed, 0xa0, 0x80]],
    ['the first two bytes of three', [0xe2, 0x82]],
  ])('refuses %s: JSON.parse would read another value', (_, odd) => {
    expect(() => parseStrictJson(Uint8Array.of(0x22, ...odd, 0x22))).toThrow(
      'the body is not UTF-8 (at character 0)',
    )
  })

  it('reads only its part of a buffer, and no more keys and values than its budget', () => {
    expect(parseStrictJson(bytes('[[1]]').subarray(1, 4))).toEqual([1])
    const keys = `{${Array.from({ length: LIMITS.JSON_KEYS + 2 }, (_, i) => `"${i}":0`).join(',')}}`
    const values = `[${Array.from({ length: LIMITS.JSON_VALUES + 1 }, () => '0').join(',')}]`
    for (const text of [keys, values]) {
      expect(parseStrictJson(bytes(text), { spare: 2 })).toEqual(JSON.parse(text))
      expect(() => parseStrictJson(bytes(text), { spare: 1 })).toThrow('more than')
    }
  })

  it('accepts texts of any length in the named member, and names only up to the cap', () => {
    const long = 'x'.repeat(LIMITS.STRING_BYTES + 1)
    const read = (text: string) => () => parseStrictJson(bytes(text), { longTextsIn: 'free' })
    for (const text of [`{"free":["${long}"]}`, `{"a":1,"fre\\u0065":{"b":{"c":"${long}"}}}`])
      expect(read(text)()).toEqual(JSON.parse(text))
    for (const text of [
      `"${long}"`,
      `["${long}"]`,
      `{"a":{"free":"${long}"}}`,
      `{"free":[],"a":"${long}"}`,
      `{"free":{"${long}":1}}`,
      `[{"free":"${long}"}]`,
    ])
      expect(read(text)).toThrow('a string is longer than 65536 bytes')
  })

  it('names the place, and shortens a long key', () => {
    const message = (text: string): string => {
      try {
        parseStrictJson(bytes(text))
      } catch (error) {
        return (error as Error).message
      }
      return ''
    }
    expect(message('{"a":1,"a":2}')).toBe('duplicate key `a` (at character 7)')
    const long = 'k'.repeat(5_000)
    expect(message(`{"${long}":1,"${long}":2}`).length).toBeLessThan(120)
  })
})

/** Vectors of RFC 8785: appendix B for numbers, section 3.2.2 and 3.2.3 for the rest. */
describe('RFC 8785 form of accepted documents', () => {
  it.each([
    ['-0', '0'],
    ['5e-324', '5e-324'],
    ['-5e-324', '-5e-324'],
    ['1.7976931348623157e308', '1.7976931348623157e+308'],
    ['9007199254740991', '9007199254740991'],
    ['333333333.3333333', '333333333.3333333'],
    ['333333333.33333325', '333333333.33333325'],
    ['333333333.33333329', '333333333.3333333'],
    ['4.50', '4.5'],
    ['2e-3', '0.002'],
    ['1E30', '1e+30'],
    ['1e-27', '1e-27'],
    ['0.000001', '0.000001'],
    ['1e-7', '1e-7'],
    ['9.999999999999997e22', '9.999999999999997e+22'],
    ['1e23', '1e+23'],
    ['295147905179352830000.0', '295147905179352830000'],
  ])('writes %s as %s', (literal, canonical) => {
    const result = strict(literal)
    expect(result).toBeDefined()
    expect(canonicalJson(result?.value ?? null)).toBe(canonical)
  })

  it('sorts keys by UTF-16 code units, and escapes as little as possible', () => {
    const text =
      '{"\\u20ac":"Euro Sign","\\r":"Carriage Return","\\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\\ud83d\\ude00":"Emoji: Grinning Face","\\u0080":"Control","\\u00f6":"Latin Small Letter O With Diaeresis"}'
    expect(canonicalJson(strict(text)?.value ?? null)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    )
  })

  it('writes the example of RFC 8785, section 3.2.2', () => {
    const text =
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}'
    expect(canonicalJson(strict(text)?.value ?? null)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    )
  })
})

describe('NUL in a request', () => {
  const refusal = (text: string): string | undefined => {
    try {
      parseRequest(Buffer.from(text))
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  it('is refused everywhere, in keys too', () => {
    expect(refusal(String.raw`{"a":"\\\u0000"}`)).toBe('a string contains NUL (at character 8)')
    expect(refusal(String.raw`{"a\u0000":1}`)).toBe('a string contains NUL (at character 3)')
  })

  it.each([String.raw`"\\u0000"`, String.raw`"\\\\u0000"`, '"u0000"', '"\\u0001"'])(
    'is not confused with similar text: %s',
    (text) => {
      expect(refusal(text)).toBeUndefined()
    },
  )
})
