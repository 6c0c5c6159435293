import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold } from '../../src/console/text/fold.ts'
import { canonicalText, treeOf } from '../../src/console/payload/tree.ts'
import type { JsonValue } from '../../src/contract/json.ts'
import { canonicalJson } from '../../src/domain/digest.ts'
import { runs } from '../runs.ts'

describe('treeOf', () => {
  it('keeps members in canonical order with JSON Pointers, and marks masked values', () => {
    const tree = treeOf({ b: [1, { 'x/y': '[hidden 1a2b3c4d]' }], a: null }, ['/b/1/x~1y'])
    expect(tree.items?.map(({ name }) => name)).toEqual(['a', 'b'])
    expect(tree.items?.[1]?.items?.[1]?.items?.[0]).toEqual({
      name: 'x/y',
      pointer: '/b/1/x~1y',
      kind: 'text',
      text: '[hidden 1a2b3c4d]',
      masked: true,
    })
  })

  it('prints the exact bytes of RFC 8785', () => {
    const json = fc.jsonValue({ noUnicodeString: false, maxDepth: 5 })
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalText(treeOf(value as JsonValue, []))).toBe(canonicalJson(value as JsonValue))
      }),
      { numRuns: runs(2_000) },
    )
    expect(canonicalText(treeOf({ b: -0, a: 1e21, __proto__: null }, []))).toBe('{"a":1e+21,"b":0}')
  })
})

describe('fold', () => {
  it('says how much it folds, and loses nothing', () => {
    const lines = Array.from({ length: 426 }, (_, i) => `line ${i}`).join('\n')
    expect(fold(lines).rest).toBe('412 more lines')
    expect(fold('a'.repeat(20_000))).toEqual({ shown: 'a'.repeat(1_200), rest: '18,800 more characters' })
    expect(fold('👍'.repeat(5_000)).shown.isWellFormed()).toBe(true)
    // the longest text that a contract may permit, in its worst shapes
    const size = 190 * 1024
    const worst = ['a', '\n', 'a\n', '👍', '\u0301', '\u202e', '\0', '"', '\\'].map((one) =>
      one.repeat(size).slice(0, size),
    )
    for (const text of worst) {
      const { shown, rest } = fold(text)
      expect(shown.length).toBeLessThanOrEqual(1_200)
      expect(text.startsWith(shown)).toBe(true)
      expect(rest).toMatch(/^[1-9][\d,]* more (?:lines|characters)$/)
      expect(canonicalText(treeOf({ text }, []))).toBe(canonicalJson({ text }))
    }
    expect(fold('short\ntext')).toEqual({ shown: 'short\ntext' })
    fc.assert(
      fc.property(fc.string({ maxLength: 4_000, unit: fc.constantFrom('a', '\n', '👍') }), (text) => {
        const { shown, rest } = fold(text)
        expect(text.startsWith(shown)).toBe(true)
        expect(rest === undefined).toBe(shown === text)
      }),
    )
  })
})
