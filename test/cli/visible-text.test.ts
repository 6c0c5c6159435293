import { describe, expect, it } from 'vitest'
import { escaped, jsonOf, onOneLine, setIn, visible } from '../../src/cli/terminal/visible-text.ts'

/** Controls, format characters, line and paragraph separators, and a character beyond 16 bits. */
const HOSTILE = `a\u0000\u001b[2J\u007f\u009b\u00ad\u202e\u2028\u2029\ufeff\u{e0041}\nb`

describe('a text from another person', () => {
  it('names its hidden characters, and keeps only the line ends that are asked for', () => {
    const named = 'a<U+0000><U+001B>[2J<U+007F><U+009B><U+00AD><U+202E><U+2028><U+2029><U+FEFF><U+E0041>'
    expect(visible(HOSTILE)).toBe(`${named}\nb`)
    expect(onOneLine(HOSTILE)).toBe(`${named}<U+000A>b`)
    expect(setIn(HOSTILE)).toBe(`${named}\n    b`)
  })

  it('is the same value as JSON, without hidden or control characters', () => {
    const value = { [HOSTILE]: [HOSTILE, 'zürich 東京'] }
    expect(JSON.parse(jsonOf(value))).toEqual(value)
    expect(jsonOf(value)).not.toMatch(/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u)
    expect(jsonOf(value)).toContain('zürich 東京')
    expect(escaped(JSON.stringify('\u009b\u{e0041}'))).toBe('"\\u009b\\udb40\\udc41"')
  })
})
