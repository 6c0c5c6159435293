import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SEAL_NONCE_BYTES, seal, unseal } from '../../src/domain/sealed.ts'

const SECRET = Buffer.alloc(32, 1)
const NONCE = Buffer.alloc(SEAL_NONCE_BYTES, 2)

describe('a sealed text', () => {
  it('opens unchanged, and only with the key that sealed it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const sealed = seal(SECRET, 'a use', text, NONCE)
        expect(unseal(SECRET, 'a use', sealed)).toBe(text)
        expect(sealed).toMatch(/^[\w-]+$/)
        if (text.length > 8) expect(Buffer.from(sealed, 'base64url').toString()).not.toContain(text)
      }),
    )
  })

  it('is undefined for another secret, another purpose, and any change of its bytes', () => {
    const sealed = seal(SECRET, 'a use', 'a text of some length', NONCE)
    expect(unseal(Buffer.alloc(32, 3), 'a use', sealed)).toBeUndefined()
    expect(unseal(SECRET, 'another use', sealed)).toBeUndefined()
    for (let i = 0; i < sealed.length; i++) {
      const other = sealed[i] === 'A' ? 'B' : 'A'
      expect(
        unseal(SECRET, 'a use', sealed.slice(0, i) + other + sealed.slice(i + 1)),
        `at ${i}`,
      ).toBeUndefined()
      expect(unseal(SECRET, 'a use', sealed.slice(0, i)), `cut at ${i}`).toBeUndefined()
    }
    for (const more of ['A', '=', ' ', '.', 'AAAA'])
      expect(unseal(SECRET, 'a use', sealed + more)).toBeUndefined()
    expect(unseal(SECRET, 'a use', 'nonsense, with blanks')).toBeUndefined()
  })

  it('keeps its format, because stores of other versions contain it', () => {
    const sealed = 'AgICAgICAgICAgICbfTdNT4VZzSmUD25LQWS5edOE96R5Q'
    expect(seal(SECRET, 'a use', 'a text', NONCE)).toBe(sealed)
    expect(unseal(SECRET, 'a use', sealed)).toBe('a text')
  })

  it('differs with every nonce', () => {
    const other = Buffer.alloc(SEAL_NONCE_BYTES, 4)
    expect(seal(SECRET, 'a use', 'a text', NONCE)).not.toBe(seal(SECRET, 'a use', 'a text', other))
  })
})
