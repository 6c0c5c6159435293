import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deceptiveWords, inspectText, spelled } from '../../src/domain/hidden-text.ts'
import { growth, LINEAR } from '../growth.ts'
import { runs } from '../runs.ts'
import { textsOf } from '../texts.ts'

interface Hostile {
  readonly entries: readonly { id: string; class: string; text: string; why: string }[]
  readonly benign: readonly string[]
}
const dataOf = (name: string): Hostile =>
  JSON.parse(readFileSync(new URL(`../data/hostile/${name}`, import.meta.url), 'utf8')) as Hostile
const { entries, benign } = dataOf('hostile-unicode.json')
const more = dataOf('more-unicode.json')

/** Characters that living scripts, typography and emoji need: no warning may appear. */
const MORE_BENIGN = textsOf('hidden-texts', 'benign')

/** One or more of each class, beside those of the data. */
const MORE_HOSTILE: Readonly<Record<string, readonly string[]>> = {
  bidi: [0x202a, 0x202e, 0x2068, 0x61c].map((point) => `pay ${String.fromCodePoint(point)}000,1 EUR`),
  invisible: [
    0x200c, 0xfeff, 0x115f, 0xffa0, 0x17b5, 0x2061, 0x2064, 0x206f, 0xfe00, 0xfe0e, 0xfff9, 0xfffb, 0xfffc,

    0xe0001, 0xe0061, 0xe01ef, 0x1d17a, 0x1d159, 0x180c, 0x180e, 0xad, 0xa0, 0x2003, 0x2009, 0x202f, 0x205f,
    0x3000, 0x1680, 0x1bca0, 0x16fe4, 0xfff0, 0xe0fff, 0x13430,
  ].map((point) => `trans${String.fromCodePoint(point)}fer`),
  sequences: [
    '🏴\u{e0061}\u{e0062}\u{e0063}\u{e007f}',
    'ok\u200d\u200c\u200d\u200c',
    'سلام\u200c\u200c\u200cسلام',
    'क\u200d\u200dष',
    '❤\ufe0f\ufe0f',
    '7\ufe0f',
    '漢\u{e0100}\u{e0101}',
    '👨\u200d👩\u200d \u200dx',
  ],
  commands: textsOf('hidden-texts', 'commands'),
  names: textsOf('hidden-texts', 'names'),
  letters_among_latin: ['goסgle', 'acc۸ount', 'paყpal', 'adoტin', 'trഠy', 'usဝr', 'roоt', 'conꮯat'],
  numbers: ['pay 1\u060000', 'amount\u06055', 'x\u06dd5'],
  more_addresses: [
    'https:\\\\bank.com@evil.com',
    'https:/bank.com@evil.com',
    'https:bank.com@evil.com',
    'https:///bank.com@evil.com',
  ],
  control: [
    1, 7, 0xb, 0xc, 0xd, 0x1b, 0x7f, 0x85, 0x90, 0x2028, 0x2029, 0xfdd0, 0xfffe, 0x10ffff, 0xe000, 0xf0000,
    0x378, 0xd800, 0xdfff,
  ].map((point) => `a${String.fromCodePoint(point)}b`),
  look_alike: textsOf('hidden-texts', 'look-alike'),
  stacked: ['a\u0301\u0302\u0303', 'a̶p̶p̶r̶o̶v̶e̶d̶', 'x\u20dd', 'x\u20e3', '\u0301a', 'о҈к', 're\u0301ad'],
  padding: [
    `Refund${'\n'.repeat(30)}and more`,
    `ok${' '.repeat(120)}; rm -rf /`,
    `ok${'\t'.repeat(90)}x`,
    `ok${'\t'.repeat(30)}rm`,
  ],
  address: ['https://xn--ggle-55da.com/', 'https://bank.example@attacker.test/'],
  users_and_numbers_as_hosts: textsOf('hidden-texts', 'users and numbers as hosts'),
  signs_of_other_scripts: [
    0x2d7, 0x701, 0x703, 0x7fa, 0xa60e, 0x166e, 0x1362, 0x1803, 0x1806, 0x16eb, 0x60d, 0x55d, 0x5be, 0x1400,
    0x903, 0x5c5, 0xa78a, 0x2017, 0xfe13, 0xfe4d, 0x2f8, 0x10a50,
  ].map((point) => `db${String.fromCodePoint(point)}read`),
  dots_slashes_and_stars: textsOf('hidden-texts', 'dots, slashes and stars'),
  marks_of_other_scripts: [0x64b, 0x591, 0x93c, 0xe49, 0x5b0, 0x3099, 0x1bc9d, 0x1107f].map(
    (point) => `adm${String.fromCodePoint(point)}in`,
  ),
  cjk_as_ascii: ['rm 一rf /', '1〇0 EUR', '〇k', 'curl ノetc', 'エxec', 'bankー1.com', 'へ/.ssh', 'ㅣist'],
  numbers_with_letters: ['pay 1О0 EUR', '10О EUR', '1ο', 'Ι00', '1Օ0', 'платёж 1О0 евро'],
  more_words: textsOf('hidden-texts', 'more words'),
  variants_as_a_message: [
    Array.from('東京都港区', (one, i) => one + String.fromCodePoint(0xe0100 + i)).join(''),
    'ᠮᠣ\u180b\u180bᠩ',
    '5\u00a0--all',
  ],
  signs_by_themselves: textsOf('hidden-texts', 'signs by themselves'),
  more_marks: ['d̲e̲l̲', 'ก้้้', '$\u0301', '.\u0323'],
}

const flagged = (text: string): boolean => inspectText(text).warnings.length > 0

describe('inspectText', () => {
  it('flags at least 95 % of the hostile strings', () => {
    const classes = ['bidi', 'invisible', 'control', 'homoglyph', 'zalgo']
    const hostile = entries.filter((entry) => classes.includes(entry.class))
    const missed = hostile.filter(({ text }) => !flagged(text)).map(({ id, why }) => `${id} ${why}`)
    expect(missed).toEqual(['S081 precomposed accent (NFC)', 'S090 rn looks like m (ASCII only!)'])
    expect(1 - missed.length / hostile.length).toBeGreaterThanOrEqual(0.95)
  })

  it('does not flag benign text of any living script', () => {
    const alarms = [...benign, ...more.benign, ...MORE_BENIGN].flatMap((text) => {
      const { warnings, segments } = inspectText(text)
      const boxes = segments.flatMap(({ hidden }) => (hidden === undefined ? [] : [hidden.code]))
      return warnings.length > 0 ? [[text, ...warnings, ...boxes].join(' ')] : []
    })
    expect(alarms).toEqual([])
  })

  it.each([...new Set(more.entries.map((entry) => entry.class))])(
    'flags every known example of %s',
    (kind) => {
      const missed = more.entries.filter((entry) => entry.class === kind && !flagged(entry.text))
      expect(missed.map(({ id, why }) => `${id} ${why}`)).toEqual([])
    },
  )

  it.each(Object.entries(MORE_HOSTILE))('flags every example of %s', (_, texts) => {
    expect(texts.filter((text) => !flagged(text))).toEqual([])
  })

  it('shows a hidden character as a box with code, name and count', () => {
    expect(inspectText('file\u202etxt\u200b\u200b\u200b.exe').segments).toEqual([
      { text: 'file' },
      {
        text: '\u202e',
        hidden: { code: 'U+202E', name: 'right-to-left override', kind: 'direction', count: 1 },
      },
      { text: 'txt' },
      {
        text: '\u200b\u200b\u200b',
        hidden: { code: 'U+200B', name: 'zero-width space', kind: 'invisible', count: 3 },
      },
      { text: '.exe' },
    ])
    const [, tag] = inspectText('ok\u{e0061}').segments
    expect(tag?.hidden).toMatchObject({ code: 'U+E0061', name: 'tag a' })
  })

  it('gives hidden characters names that contain no hidden characters', () => {
    const points = Array.from({ length: 0x3100 + 0x1000 }, (_, i) => (i < 0x3100 ? i : i - 0x3100 + 0xe0000))
    const names = points.flatMap((point) =>
      inspectText(`a${String.fromCodePoint(point)}b`).segments.flatMap(({ hidden }) => hidden?.name ?? []),
    )
    expect(names.length).toBeGreaterThan(4_000)
    expect(names.filter((name) => !/^[!-~]+(?: [!-~]+)*$/.test(name))).toEqual([])
  })

  it('names the words that look like others, and spells them out', () => {
    expect(deceptiveWords('run tеst for the отчёт, then tеst')).toEqual(['tеst'])
    expect(spelled('tеst')).toBe('t[U+0435]st')
  })

  it('names each word once, up to the given number of words', () => {
    expect(deceptiveWords('run tеst, tеst, pаy and sеnd')).toEqual(['tеst', 'pаy', 'sеnd'])
    expect(deceptiveWords('run tеst, tеst, pаy and sеnd', 2)).toEqual(['tеst', 'pаy'])
  })

  /**
   * сор is a Russian word, and reads as `cop`. Where its sentence is in its own alphabet, only the text that joins it
   * makes it suspicious.
   */
  it.each([
    ['сор и отчёт', []],
    ['отчёт: сор.', []],
    ['отчёт, api сор', []],
    ['отчёт, api. сор', []],
    ['отчёт, -сор', []],
    ['api.сор и отчёт', ['сор']],
    ['a-сор и отчёт', ['сор']],
    ['отчёт, 1/сор', ['сор']],
    ['отчёт, сор:8', ['сор']],
    ['отчёт, сор_X', ['сор']],
    ['отчёт, сор-api', ['сор']],
    ['отчёт, PDF-ро', []],
    ['отчёт, ро-PDF', []],
    ['отчёт, PDF-рос', ['рос']],
    ['отчёт, PDF.ро', ['ро']],
    ['отчёт, a-ро-b', ['ро']],
    ['plan А or В', []],
  ])('finds in %j the Latin look-alikes %j', (text, words) => {
    expect(deceptiveWords(text)).toEqual(words)
  })

  it('never changes a text: its segments join to the original', () => {
    const pieces = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom('\u202e', '\u200d', '\ufe0f', '👨', 'क', '्', '\ud800', 'а', ' ', '\u{e0061}', '🏴'),
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join('')
        const { segments } = inspectText(text)
        expect(segments.map((segment) => segment.text).join('')).toBe(text)
        const shown = segments.filter(({ hidden }) => hidden === undefined).map((segment) => segment.text)
        expect(shown.join('')).not.toMatch(/\p{Bidi_Control}|(?![\n\t])\p{Cc}|\p{Cs}/u)
      }),
      { numRuns: runs(3_000) },
    )
  })

  it.each(['a', 'а', '\u200b', ' \u200d', '1٢', 'क\u200d', '\n', 'é '])(
    'inspects %j in time proportional to its length',
    (piece) => {
      expect(growth((length) => inspectText(piece.repeat(length)), 4_096)).toBeLessThan(LINEAR)
    },
  )
})
