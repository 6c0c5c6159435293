import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeText } from '../../../src/policy/bundle/text.ts'
import { growth, LINEAR } from '../../growth.ts'

const bytes = (...parts: readonly (string | readonly number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)))
const refused = (file: Uint8Array) => {
  const decoded = decodeText('rules/a.yaml', file)
  if (decoded.ok) throw new Error('it was decoded')
  return decoded.diagnostic
}

describe('a file that is not UTF-8', () => {
  it('is reported with the line, the column and the byte', () => {
    expect(refused(bytes('tool: pay\nowner: Jos', [0xe9], '\nrules: []\n'))).toEqual({
      code: 'not-utf8',
      severity: 'error',
      file: 'rules/a.yaml',
      line: 2,
      column: 11,
      message: 'the byte 0xE9 is not valid UTF-8',
      hint: 'save the file as UTF-8',
      excerpt: 'owner: Jos<U+FFFD>',
      width: 1,
    })
  })

  it.each([
    ['the first byte', bytes([0xff], 'a'), 1, 1, '0xFF'],
    ['behind longer characters of the same line', bytes('a: 1\né🙂 ', [0x80]), 2, 5, '0x80'],
    ['a character that is cut off by the next one', bytes('a\n', [0xe2, 0x82], 'b'), 2, 1, '0xE2'],
    ['a character that is cut off by the end', bytes('a\nb', [0xf0, 0x9f]), 2, 2, '0xF0'],
    ['an overlong form', bytes('ab', [0xc0, 0xaf]), 1, 3, '0xC0'],
    ['a surrogate', bytes('ab', [0xed, 0xa0, 0x80]), 1, 3, '0xED'],
    ['behind a replacement character that is really there', bytes('\ufffd', [0xff]), 1, 2, '0xFF'],
    ['behind a byte order mark', bytes('\ufeffa', [0xff]), 1, 3, '0xFF'],
  ])('is reported for %s', (_, file, line, column, byte) => {
    expect(refused(file)).toMatchObject({ line, column, message: `the byte ${byte} is not valid UTF-8` })
  })

  it('is reported as UTF-16', () => {
    const file = bytes([0xff, 0xfe], [...Buffer.from('tool: pay\n', 'utf16le')])
    expect(refused(file)).toMatchObject({ line: 1, column: 1, hint: 'the file is UTF-16: save it as UTF-8' })
  })

  it('is reported in time linear in its size', () => {
    const look = (lines: number): void =>
      expect(refused(bytes('é\n'.repeat(lines), [0xff])).line).toBe(lines + 1)
    expect(growth(look, 20_000)).toBeLessThan(LINEAR)
  })
})

it('every text is read as it was written, byte order marks included', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const written = Buffer.from(`\ufeff${text}`).toString('utf8')
      expect(decodeText('a', Buffer.from(written))).toEqual({ ok: true, text: written })
    }),
  )
})
