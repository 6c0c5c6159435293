import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold } from '../../src/console/payload/fold.ts'
import { canonicalText, textsOf, treeOf } from '../../src/console/payload/tree.ts'
import type { ThreadRevision } from '../../src/contract/reviewer.ts'
import type { JsonValue } from '../../src/contract/json.ts'
import { canonicalJson } from '../../src/domain/canonical-json.ts'
import { warningsOf } from '../../src/console/thread/warnings.ts'

describe('treeOf', () => {
  it('has members in canonical order, JSON Pointers, and marks what is masked', () => {
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

  it('prints as RFC 8785 does, to the byte', () => {
    const json = fc.jsonValue({ noUnicodeString: false, maxDepth: 5 })
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalText(treeOf(value as JsonValue, []))).toBe(canonicalJson(value as JsonValue))
      }),
      { numRuns: 2_000 },
    )
    expect(canonicalText(treeOf({ b: -0, a: 1e21, __proto__: null }, []))).toBe('{"a":1e+21,"b":0}')
  })

  it('gives every text for inspection, names too', () => {
    expect([...textsOf(treeOf({ k: ['v', 1, { w: 'x' }] }, []))].map(({ text }) => text)).toEqual([
      'k',
      'v',
      'w',
      'x',
    ])
  })
})

describe('fold', () => {
  it('says how much it folds away, and loses nothing', () => {
    const lines = Array.from({ length: 426 }, (_, i) => `line ${i}`).join('\n')
    expect(fold(lines).rest).toBe('412 more lines')
    expect(fold('a'.repeat(20_000))).toEqual({ shown: 'a'.repeat(1_200), rest: '18,800 more characters' })
    expect(fold('👍'.repeat(5_000)).shown.isWellFormed()).toBe(true)
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

describe('warningsOf', () => {
  it('looks at claims, at names and values of the payload, and at pictures that are only text', () => {
    const revision = {
      subject: 'a\u200bb',
      summary: ['fine', 'раураӏ'],
      images: ['\u202egnp.exe', 'data:image/png;base64,AAAA'],
      pictures: [{ shown: false }, { shown: true }],
    } as unknown as ThreadRevision
    const found = warningsOf(revision, { 'k\u00ady': 1, list: ['ok', '\u202e'] })
    expect(found).toEqual([
      { place: 'subject', warnings: ['invisible'], words: [] },
      { place: 'summary', warnings: ['look_alike_word'], words: ['раураӏ'] },
      { place: 'image 1', warnings: ['direction'], words: [] },
      { place: 'payload/k\u00ady', warnings: ['invisible'], words: [] },
      { place: 'payload/list/1', warnings: ['direction'], words: [] },
    ])
  })
})
