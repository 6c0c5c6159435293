import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import { warningsIn } from '../../src/gateway/review/text-warnings.ts'
import { textsIn, warningsOf } from '../../src/domain/text-warnings.ts'

const RIGHT_TO_LEFT = '\u202e'

describe('textsIn', () => {
  it('returns every text with its JSON Pointer, including names', () => {
    const value = { k: ['v', 1, { 'a/b~': 'x' }, null] }
    expect([...textsIn(value, 'payload')]).toEqual([
      { place: 'payload/k', text: 'k', alike: false },
      { place: 'payload/k/0', text: 'v' },
      { place: 'payload/k/2/a~1b~0', text: 'a/b~', alike: false },
      { place: 'payload/k/2/a~1b~0', text: 'x' },
    ])
    expect([...textsIn('x', 'payload')]).toEqual([{ place: 'payload', text: 'x' }])
  })
})

describe('warningsIn', () => {
  it('inspects claims, names and values of the payload, and pictures that are only text', () => {
    const claims = {
      subject: 'a\u200bb',
      summary: ['fine', 'раураӏ'],
      images: ['\u202egnp.exe', 'data:image/png;base64,AAAA'],
    }
    const pictures = [{ shown: false }, { shown: true }]
    const payload = { 'k\u00ady': 1, list: ['ok', '\u202e'] }
    const found = warningsIn({ claims, digest: 'd' }, { payload, masked: [], pictures })
    expect(found.map(({ place, kinds, words }) => [place, ...kinds, ...words])).toEqual([
      ['subject', 'invisible'],
      ['summary', 'look_alike_word', '[U+0440][U+0430][U+0443][U+0440][U+0430][U+04CF]'],
      ['image 1', 'direction'],
      ['payload/k\u00ady', 'invisible'],
      ['payload/list/1', 'direction'],
    ])
  })
})

describe('warningsIn, for letters from right to left', () => {
  it('warns of prose only where a rule fired for it', () => {
    const body = 'ההזמנה 5 תצא מחר, api מוכן. '.repeat(12)
    const shown = { payload: { body, other: body, short: 'אב 100' }, masked: [], pictures: [] }
    const because = [{ field: 'payload.body', value: 'x' }]
    const rule = { id: 'r', mode: 'shadow', because } as const
    const fired = [rule] as unknown as NonNullable<Parameters<typeof warningsIn>[0]['fired']>
    const found = warningsIn({ claims: {}, digest: 'rtl', fired }, shown)
    expect(found.map(({ place }) => place)).toEqual(['payload/body', 'payload/short'])
  })
})

describe('warningsOf', () => {
  it('lists each place once, with all of its warnings', () => {
    const texts = [`a${RIGHT_TO_LEFT}b`, 'fine', 'run tеst'].map((text) => ({ place: 'preview', text }))
    expect(warningsOf([...texts, { place: 'subject', text: 'fine' }])).toEqual([
      {
        place: 'preview',
        kinds: ['direction', 'mixed_script'],
        message:
          'Characters change the direction of the text: it may read in a different order than it is stored. A word mixes letters of different alphabets that look alike.',
        words: ['t[U+0435]st'],
      },
    ])
  })

  it('combines all places after the first hundred into one count', () => {
    const texts = Array.from({ length: 200 }, (_, i) => ({ place: `payload/${i}`, text: RIGHT_TO_LEFT }))
    const found = warningsOf([...texts, { place: 'payload/1', text: '\u200b' }])
    expect(found).toHaveLength(101)
    expect(found.at(-1)).toMatchObject({ place: 'more places', kinds: ['direction'] })
    expect(found[1]?.kinds).toEqual(['direction', 'invisible'])
  })

  it('spells out twenty words of a place, in one text or in many', () => {
    const words = Array.from({ length: 30 }, (_, i) => `tеst${String.fromCodePoint(0x61 + i)}`)
    for (const texts of [words, [words.join(' ')]])
      expect(warningsOf(texts.map((text) => ({ place: 'preview', text })))[0]?.words).toEqual(
        words.slice(0, 20).map((word) => word.replace('е', '[U+0435]')),
      )
  })

  /** The gateway looks at whatever fits a request, between decisions. */
  it.each([
    '.',
    '://a.',
    '://',
    'а',
    'ас ',
    'сoс ',
    'Ꭰ ',
    'a\u0301',
    '\u0301',
    RIGHT_TO_LEFT,
    '\u200d',
    '\u200b',
    'क\u200d',
    '👨\u200d',
    '🏴',
    '🇩',
    ' ',
    '\t\n',
    '\u00a0',
    '\u3000',
    '۱',
    '1\u2044',
    '。',
    'Ａ',
    '\ud800',
    '\u{e0061}',
    'a'.repeat(60) + ' '.repeat(79),
    'https:',
    'https://a',
    'http:\\',
    '@a',
    'a@',
    '[ə',
    '/ˈa',
    'a。',
    '漢\u{e0100}',
    'a\u0332',
    'a\u0964',
    '1О0 ',
    'ˢ',
    '一a',
    '\u00a0-',
    'אa',
  ])('takes time proportional to the amount of %j', (piece) => {
    const most = piece.repeat(LIMITS.BODY_BYTES / 4 / Buffer.byteLength(piece))
    const quarter = most.slice(0, most.length / 4)
    inspect(quarter)
    const growths = [growth(quarter, most)]
    while (growths.length < TRIES && Math.min(...growths) >= LINEAR * 2) growths.push(growth(quarter, most))
    expect(Math.min(...growths)).toBeLessThan(LINEAR * 2)
  })
})

/** For four times as much. What grows with the square takes four times as long again. */
const LINEAR = 4
const NOISE_MS = 10
/** Quadratic growth shows in every try; the garbage collector and the compiler take their time only in some. */
const TRIES = 3

const growth = (quarter: string, most: string): number =>
  (processorMs(() => inspect(most)) + NOISE_MS) / (processorMs(() => inspect(quarter)) + NOISE_MS)

/** As one text, and as a list of short ones. */
function inspect(text: string): void {
  warningsOf([{ place: 'preview', text }])
  warningsOf(textsIn(text.slice(0, text.length / 4).split(''), 'payload'))
}

/** Processor time of this process only, without other work of the machine. */
function processorMs(act: () => void): number {
  const before = process.cpuUsage()
  act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
