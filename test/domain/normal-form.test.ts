import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { segmentsOf } from '../../src/domain/hidden-characters.ts'
import { inspectText } from '../../src/domain/hidden-text.ts'
import { isComparable, longMarkRuns, MOST_MARKS, normalForm, toNfc } from '../../src/domain/normal-form.ts'
import { growth, LINEAR } from '../growth.ts'
import '../seed.ts'
import { runs } from '../runs.ts'

const FORMS = ['NFC', 'NFKC'] as const
/** Classes 240 and 1: everything that has a class at all changes places with one of them. */
const [LAST, FIRST] = ['\u0345', '\u0334']
const ALTERNATING = LAST + FIRST

/** Whether nothing of what the character is decomposed to ends a run of marks. */
function isOrdered(character: string, form: 'NFD' | 'NFKD'): boolean {
  const parts = Array.from(character.normalize(form))
  return parts.every(
    (part) =>
      (LAST + part).normalize(form) !== LAST + part || (part + FIRST).normalize(form) !== part + FIRST,
  )
}

describe('a text with more than 64 combining marks in a row', () => {
  it.each([
    ['of two classes', ALTERNATING],
    ['of one class', '\u0301'],
    ['outside of the basic plane', '\u{1e8d0}\u{1e944}'],
    ['that are decomposed to two', '\u0344\u0f73'],
    ['without a class, as a variation selector', '\u0345\ufe0f'],
    ['that NFKC makes of letters', '\uff9e\u0345'],
  ])('a text has no normal form when a run of marks is too long: marks %s', (_, marks) => {
    const run = marks.repeat(MOST_MARKS + 1)
    const some = Array.from(run).slice(0, MOST_MARKS).join('')
    for (const form of FORMS) {
      expect(normalForm(`a${some}b${some}`, form)).toBe(`a${some}b${some}`.normalize(form))
      expect(normalForm(`b a${some}\u0301 c`, form)).toBeUndefined()
      expect(normalForm(run, form)).toBeUndefined()
    }
    expect(isComparable(`a${run}`)).toBe(false)
    expect(toNfc(`漢${run}`)).toBeUndefined()
  })

  it('is detected wherever the runs are, each run once', () => {
    const run = '\u0301'.repeat(MOST_MARKS + 1)
    expect([...longMarkRuns(`${run}ab${run}\u0301c\u0301`)]).toEqual([
      { start: 0, end: 65 },
      { start: 67, end: 133 },
    ])
  })

  it('shows each run as one box, and adds a warning', () => {
    const run = ALTERNATING.repeat(8_000)
    const box = { code: 'U+0345', name: 'stacked marks', kind: 'stacked', count: 16_000 }
    expect(segmentsOf(`to a${run}b\u202e`)).toEqual([
      { text: 'to a' },
      { text: run, hidden: box },
      { text: 'b' },
      { text: '\u202e', hidden: expect.objectContaining({ code: 'U+202E' }) as object },
    ])
    expect(inspectText(`a${run}`).warnings).toContain('stacked')
  })
})

it('counts every character that takes part in ordering as a mark, in every plane', () => {
  const missed: string[] = []
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code)
    // Unicode has not assigned it, so it has no class
    if (/\p{C}/u.test(character)) continue
    if (!isComparable(character.repeat(MOST_MARKS + 1))) continue
    if (isOrdered(character, 'NFD') || isOrdered(character, 'NFKD')) missed.push(code.toString(16))
  }
  expect(missed).toEqual([])
})

it("matches the language's own normal form when every run is short enough", () => {
  const piece = fc.constantFrom(
    'a',
    '\u1100\u1161',
    '\uac00',
    '\u0958',
    '\u0344',
    '\u0f73',
    '\u{1d15e}',
    '😀',
    '\u0301',
    '\u0323',
  )
  const marks = fc.array(fc.constantFrom('\u0301', '\u0323', '\u{1e8d0}'), { minLength: 60, maxLength: 70 })
  const text = fc
    .array(
      fc.oneof(
        { weight: 9, arbitrary: piece },
        marks.map((some) => some.join('')),
      ),
    )
    .map((all) => all.join(''))
  fc.assert(
    fc.property(text, (one) => {
      const stacked = /[\p{M}\uff9e\uff9f]{65}/u.test(one)
      expect(toNfc(one)).toBe(stacked ? undefined : one.normalize('NFC'))
      expect(
        segmentsOf(one)
          .map((segment) => segment.text)
          .join(''),
      ).toBe(one)
    }),
    { numRuns: runs(500) },
  )
})

it.each([
  ['one run', (size: number) => `a${ALTERNATING.repeat(size)}`],
  ['the longest runs that are normalised', (size: number) => `a${ALTERNATING.repeat(32)}`.repeat(size / 32)],
  ['runs of two-unit marks', (size: number) => `a${'\u{1e8d0}'.repeat(64)}`.repeat(size / 32)],
  ['no marks', (size: number) => '漢字'.repeat(size)],
])('normalising, showing and inspecting take linear time: %s', (_, textOf) => {
  const look = (size: number): unknown => {
    const text = textOf(size)
    return [toNfc(text), normalForm(text, 'NFKC'), segmentsOf(text), inspectText(text)]
  }
  expect(growth(look, 2_048)).toBeLessThan(LINEAR)
})
