import { describe, expect, it } from 'vitest'
import { headingOf } from '../../src/domain/heading.ts'
import { inOrder, LONGEST_VALUE, mixesDirections, orderOf } from '../../src/domain/letter-order.ts'
import { warningsOf } from '../../src/domain/text-warnings.ts'
import { visible } from '../../src/cli/terminal/visible-text.ts'

const PROSE = 'ההזמנה 5 תצא מחר, api מוכן. '.repeat(12)

const PLAIN_SENTENCES = [
  'שלום עולם, מה שלומך היום?',
  'שָׁלוֹם עוֹלָם',
  'السلام عليكم ورحمة الله.',
  'حال شما چطور است؟',
  'ہم ادا کریں گے۔',
]
const MIXED = [
  'אב 100 -> 900',
  'א 1,000 - 5',
  '100 אב',
  'pay אב',
  'דפע ١٠',
  'أب = جد',
  '/home/אב/x',
  'a@אב.example',
]

describe('mixesDirections', () => {
  it.each(PLAIN_SENTENCES)('leaves a plain sentence alone: %s', (text) => {
    expect(mixesDirections(text)).toBe(false)
    expect(inOrder(text)).toBe(text)
    expect(warningsOf([{ place: 'payload/x', text }])).toEqual([])
  })

  it.each(MIXED)('finds a value whose order changes: %s', (text) => {
    expect(mixesDirections(text)).toBe(true)
    expect(warningsOf([{ place: 'payload/x', text }]).map(({ place, kinds }) => [place, kinds])).toEqual([
      ['payload/x', expect.arrayContaining(['order'])],
    ])
  })

  it.each(['1000', 'Zürich 5', '価格 100 -> 900', 'ราคา ๕', 'цена 5'])(
    'has nothing to say of other scripts: %s',
    (text) => expect(mixesDirections(text)).toBe(false),
  )
})

describe('warningsOf', () => {
  it('does not warn of long prose, unless a rule read it', () => {
    expect(PROSE.length).toBeGreaterThan(LONGEST_VALUE)
    expect(warningsOf([{ place: 'payload/body', text: PROSE }])).toEqual([])
    const [read] = warningsOf([{ place: 'payload/body', text: PROSE, read: true }])
    expect(read).toMatchObject({ place: 'payload/body', kinds: ['order'] })
  })
})

describe('orderOf', () => {
  it('has each run of a value in the order in which it is stored', () => {
    const order = orderOf('אב גד 100 -> 900 הו')
    expect(order?.direction).toBe('ltr')
    expect(order?.runs('אב גד 100 -> 900 הו')).toEqual([
      { text: 'אב גד', turned: true },
      { text: ' 100 -> 900 ', turned: false },
      { text: 'הו', turned: true },
    ])
  })

  it('keeps the direction of prose, and isolates numbers and other letters in it', () => {
    const order = orderOf(PROSE)
    expect(order?.direction).toBe('rtl')
    expect(order?.runs('שלום -5 -> 9, api v2 שוב')).toEqual([
      { text: 'שלום ', turned: false },
      { text: '-5 -> 9, api v2', turned: true },
      { text: ' שוב', turned: false },
    ])
    expect(orderOf(`Dear ${PROSE}`)?.direction).toBe('ltr')
  })

  it('loses no character, and needs no long time', () => {
    for (const text of [...MIXED, PROSE, `${'-'.repeat(9_000)}א${'1 '.repeat(50_000)}`]) {
      const runs = orderOf(text)?.runs(text) ?? []
      expect(runs.map((one) => one.text).join('')).toBe(text)
    }
  })
})

describe('a line for a chat or a terminal', () => {
  it('spells the letters that would move other characters, and no others', () => {
    expect(inOrder('to אב')).toBe('to אב')
    expect(inOrder('  "to": "שלום עולם",')).toBe('  "to": "שלום עולם",')
    expect(inOrder('אב 100 -> 900')).toBe('[U+05D0][U+05D1] 100 -> 900')
    expect(inOrder('  "אב": "גד"')).toBe('  "[U+05D0][U+05D1]": "[U+05D2][U+05D3]"')
    expect(inOrder('אב to')).toBe('[U+05D0][U+05D1] to')
  })

  it('is what headings and `review show` print', () => {
    expect(headingOf([{ text: 'Pay ' }, { text: 'אב', field: 'to' }, { text: ' 500' }]).line).toBe(
      'Pay [U+05D0][U+05D1] 500',
    )
    expect(visible('x\n  אב 100')).toBe('x\n  [U+05D0][U+05D1] 100')
  })
})
