import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { findHidden } from '../../src/policy/text/text.ts'
import { bundle, call, CONTRACT, diagnose, rules, snapshotOf, withRules } from './support.ts'

interface Entry {
  readonly id: string
  readonly category: string
  readonly want: string
  readonly why: string
  readonly text?: string
  readonly gen?: string
}

const file = new URL('../data/hostile/hostile-yaml.json', import.meta.url)
const { entries } = JSON.parse(readFileSync(file, 'utf8')) as { readonly entries: readonly Entry[] }
const hostileUnicode = new URL('../data/hostile/hostile-unicode.json', import.meta.url)
const { benign } = JSON.parse(readFileSync(hostileUnicode, 'utf8')) as { readonly benign: readonly string[] }
const texts = entries.filter((entry) => entry.category !== 'filesystem')

function textOf({ text, gen }: Entry): string {
  if (text !== undefined) return text
  if (gen === '20,000 rules') {
    const one = (n: number) =>
      `  - id: r${n}\n    when: {all: [{fact: tool_name, operator: equal, value: x}]}\n    decision: allow\n`
    return `version: 1\ndefault: review\nrules:\n${Array.from({ length: 20_000 }, (_, n) => one(n)).join('')}`
  }
  // The generators of the data set are JavaScript expressions.
  // oxlint-disable-next-line typescript/no-implied-eval
  return new Function(`return ${gen ?? '""'}`)() as string
}

const SYNTAX = new Set(['bomb', 'structure', 'type', 'unicode'])

describe('the hostile YAML data set', () => {
  it('has the stated entries', () => {
    expect(texts.length).toBeGreaterThan(60)
  })

  for (const entry of texts) {
    it(`${entry.id} is refused in under a second: ${entry.why}`, async () => {
      const text = textOf(entry)
      const begun = process.cpuUsage()
      const found = await diagnose(bundle({ 'rules/pay.yaml': text }))
      const { user, system } = process.cpuUsage(begun)
      // of this process: what else the machine does is not in it
      expect((user + system) / 1_000).toBeLessThan(1_000)
      const errors = found.filter((one) => one.severity === 'error')
      expect(errors.length).toBeGreaterThan(0)
      expect(errors.every((one) => one.file === 'rules/pay.yaml')).toBe(true)
      expect(SYNTAX.has(entry.category) || errors.some((one) => one.code === 'unknown-key')).toBe(true)
    })
  }
})

/** The same attacks, written in the real grammar. */
const allow = (when: string) => rules(`  - id: a\n    allow: A.\n    when: ${when}\n`)
const own: readonly (readonly [string, string, string])[] = [
  ['an empty when', allow('{}'), 'empty-match'],
  ['an empty any', allow('{ any: [] }'), 'empty-match'],
  ['an empty all', allow('{ all: [] }'), 'empty-match'],
  ['an empty match inside any', allow('{ any: [{}] }'), 'empty-match'],
  ['an empty not', allow('{ not: {} }'), 'empty-match'],
  ['an empty test', allow('{ payload.amount: {} }'), 'empty-match'],
  ['an empty list of values', allow('{ payload.amount: [] }'), 'empty-match'],
  ['when without a value', allow(''), 'wrong-type'],
  ['rules without a value', 'tool: pay\nrules:\n', 'wrong-type'],
  ['no rules', 'tool: pay\nrules: []\n', 'empty-match'],
  ['an unknown operator', allow('{ payload.amount: { Over: 1 } }'), 'unknown-test'],
  ['two rules with one id', rules('  - { id: a, allow: A. }\n  - { id: a, reject: R. }\n'), 'duplicate-id'],
  ['__proto__ as id', rules('  - { id: __proto__, allow: A. }\n'), 'bad-value'],
  ['__proto__ as key', rules('  - { id: a, allow: A., __proto__: { risk: low } }\n'), 'bad-value'],
  ['__proto__ as path', allow('{ payload.__proto__.x: 1 }'), 'unknown-field'],
  ['NUL', allow('{ payload.note: "a\\0b" }'), 'hidden-character'],
  ['NUL in the raw text', allow('{ payload.note: a\0b }'), 'hidden-character'],
  ['a zero-width space', allow('{ payload.note: a\u200bb }'), 'hidden-character'],
  ['a bidirectional override', allow('{ payload.note: a\u202eb }'), 'hidden-character'],
  ['an escaped bidirectional override', allow('{ payload.note: "a\\u202eb" }'), 'hidden-character'],
  ['a byte order mark', `\ufeff${allow('{ payload.note: a }')}`, 'hidden-character'],
  ['a lone surrogate', allow('{ payload.note: "\\ud800" }'), 'hidden-character'],
  ['more marks than a letter can have', allow(`{ payload.note: a${'\u0301\u0323'.repeat(33)} }`), 'not-nfc'],
  ['such marks in a key', allow(`{ payload.note: { a${'\u0345\u0334'.repeat(9_000)}: x } }`), 'not-nfc'],
  ['a decomposed letter', allow('{ payload.note: re\u0301ad }'), 'not-nfc'],
  ['a Cyrillic letter in a Latin word', allow('{ payload.note: p\u0430ypal }'), 'look-alike'],
  ['the same by an escape', allow('{ payload.note: "p\\u0430ypal" }'), 'look-alike'],
  ['the same in a list', allow('{ payload.note: [a, p\u0430ypal] }'), 'look-alike'],
  [
    'the same as a key',
    allow('{ payload.note: a }').replace('rules:', 'missing_means: { p\u0430yload.note: a }\nrules:'),
    'look-alike',
  ],
  ['the same in a reason', allow('{ payload.note: a }').replace('A.', 'P\u0430id.'), 'look-alike'],
  [
    'a word of Cyrillic letters that reads as Latin',
    allow('{ payload.note: \u0440\u0430\u0443 }'),
    'look-alike',
  ],
  ['full-width letters', allow('{ payload.note: \uff50aypal }'), 'look-alike'],
  ['a space that is none', allow('{ payload.note: "pay\u00a0pal" }'), 'look-alike'],
  ['digits of another script', allow('{ payload.note: "1\u0660" }'), 'look-alike'],
  ['2^53 + 1', allow('{ payload.amount: 9007199254740993 }'), 'unsafe-number'],
  ['.nan', allow('{ payload.amount: .nan }'), 'unsafe-number'],
  ['.inf', allow('{ payload.amount: { over: -.inf } }'), 'unsafe-number'],
  ['1e400', allow('{ payload.amount: 1e400 }'), 'unsafe-number'],
  ['0755', allow('{ payload.amount: 0755 }'), 'unsafe-number'],
  ['0x1F', allow('{ payload.amount: 0x1F }'), 'unsafe-number'],
  ['null', allow('{ payload.amount: ~ }'), 'wrong-type'],
  ['a number as key', rules('  - { id: a, allow: A., 1: x }\n'), 'key-not-text'],
  ['a list as key', rules('  - { id: a, allow: A., [x]: x }\n'), 'key-not-text'],
  ['an anchor', rules('  - &r { id: a, allow: A. }\n'), 'yaml-anchor'],
  ['an alias', rules('  - *r\n'), 'yaml-anchor'],
  ['a tag', allow('!!set { payload.amount: 1 }'), 'yaml-tag'],
  ['a directive', `%YAML 1.2\n---\n${allow('{ payload.amount: 1 }')}`, 'yaml-directive'],
  ['two documents', `${allow('{ payload.amount: 1 }')}---\na: b\n`, 'yaml-documents'],
  ['text after the end', `${allow('{ payload.amount: 1 }')}...\na: b\n`, 'yaml-documents'],
  ['a merge key', rules('  - { id: a, allow: A., <<: { risk: low } }\n'), 'unknown-key'],
  ['a duplicate key', rules('  - { id: a, allow: A., "allow": B. }\n'), 'duplicate-key'],
  ['no verdict, as after a cut', rules('  - id: a\n    when: { payload.amount: 1 }\n'), 'verdict-count'],
  ['a cut in the middle', 'tool: pay\nrules:\n  - { id: a, al', 'yaml-syntax'],
  ['a capital verdict', rules('  - { id: a, Allow: A. }\n'), 'unknown-key'],
  ['true as a reason', rules('  - { id: a, allow: true }\n'), 'wrong-type'],
  ['a recursive path', allow('{ payload..amount: 1 }'), 'unknown-field'],
  ['a script in a path', allow('{ "payload.a[(@.length-1)]": 1 }'), 'unknown-field'],
  ['an empty path', allow('{ "": 1 }'), 'unknown-field'],
  ['a path on a text', allow('{ tool.name.x: 1 }'), 'unknown-field'],
  ['deep nesting', allow(`${'{ not: '.repeat(40)}{ payload.amount: 1 }${' }'.repeat(40)}`), 'yaml-depth'],
  [
    'deep block nesting',
    `a:\n${Array.from({ length: 50 }, (_, n) => `${' '.repeat(n + 1)}a:`).join('\n')}`,
    'yaml-depth',
  ],
  ['too many parts', allow(`{ payload.note: [${'x, '.repeat(100_000)}x] }`), 'yaml-nodes'],
  ['look-around', allow("{ payload.note: { matches: '(?=a)b' } }"), 'bad-pattern'],
  ['a back-reference', allow("{ payload.note: { matches: '(a)\\1' } }"), 'bad-pattern'],
  ['a repetition bomb', allow("{ payload.note: { matches: '(a{1,1000}){1,1000}' } }"), 'bad-pattern'],
  [
    'nested repetitions',
    allow("{ payload.note: { matches: '^(?:(?:a{0,30}){0,30}){0,30}$' } }"),
    'bad-pattern',
  ],
  ['an empty pattern', allow("{ payload.note: { matches: '' } }"), 'bad-value'],
  ['a broken pattern', allow("{ payload.note: { matches: '(' } }"), 'bad-pattern'],
]

const moreYaml = new URL('../data/hostile/more-yaml.json', import.meta.url)
const { entries: more } = JSON.parse(readFileSync(moreYaml, 'utf8')) as { readonly entries: readonly Entry[] }

describe('the same attacks in the real grammar', () => {
  for (const [name, text, code] of [
    ...own,
    ...more.map((entry) => [`${entry.id}, ${entry.why},`, textOf(entry), entry.want] as const),
  ]) {
    it(`${name} is ${code}`, async () => {
      const found = await diagnose(bundle({ 'rules/pay.yaml': text }))
      expect(found.map((one) => one.code)).toContain(code)
    })
  }

  it('hidden characters in a comment are harmless', async () => {
    const text = `# caf\u200be \u202e\n${allow('{ payload.note: a }')}`
    expect(await diagnose(bundle({ 'rules/pay.yaml': text }))).toEqual([])
  })

  it('text of any living script and a range of letters in a pattern are not look-alikes', async () => {
    const texts = benign.filter((text) => findHidden(text) < 0).map((text) => JSON.stringify(text))
    expect(texts.length).toBeGreaterThan(20)
    const found = await diagnose(
      bundle({
        'rules/pay.yaml': allow(
          `{ any: [{ payload.note: [${texts.join(', ')}] }, { payload.note: { matches: '[a-z\u0430-\u044f]x' } }] }`,
        ),
      }),
    )
    expect(found).toEqual([])
  })

  it('a rule after a lone carriage return in a comment is reported', async () => {
    const text = rules('  # note\r  - id: deny-all\r    reject: No.\n  - id: a\n    allow: A.\n')
    const found = await diagnose(bundle({ 'rules/pay.yaml': text }))
    expect(found.map(({ line, column, code }) => `${line}:${column} ${code}`)).toEqual([
      '3:9 hidden-character',
    ])
    expect(found[0]?.message).toBe(
      'a carriage return without a line feed ends the line for some readers only',
    )
    expect(found[0]?.excerpt).toBe('  # note<U+000D>  - id: deny-all<U+000D>    reject: No.')
  })

  for (const [place, text] of [
    ['in the last line', `${allow('{ payload.note: a }')}# end\r`],
    ['in a text', allow('{ payload.note: "a\rb" }')],
    ['between lines', allow('{ payload.note: a }').replaceAll('\n', '\r')],
    ['before a line break', allow('{ payload.note: a }').replace('\n', '\r\r\n')],
  ] as const)
    it(`a lone carriage return ${place} is refused`, async () => {
      const found = await diagnose(bundle({ 'rules/pay.yaml': text }))
      expect(found.map((one) => one.code)).toContain('hidden-character')
    })

  for (const mark of ['\x85', '\u2028', '\u2029']) {
    const name = `U+${mark.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`

    it(`a rule after ${name} in a comment is reported`, async () => {
      const text = rules(`  # note${mark}  - id: deny-all\n  - id: a\n    allow: A.\n`)
      const found = await diagnose(bundle({ 'rules/pay.yaml': text }))
      expect(found.map(({ line, column, code }) => `${line}:${column} ${code}`)).toEqual([
        '3:9 hidden-character',
      ])
      expect(found[0]?.message).toBe(`<${name}> ends the line for some readers only`)
      expect(found[0]?.hint).toBe(
        `end lines with a line feed; a pattern finds the character as \`\\x{${mark.charCodeAt(0).toString(16)}}\``,
      )
      expect(found[0]?.excerpt).toBe(`  # note<${name}>  - id: deny-all`)
    })

    it(`${name} in a text is one finding`, async () => {
      for (const note of [`a${mark}b`, `"a${mark}b"`, `'${mark}'`]) {
        const found = await diagnose(bundle({ 'rules/pay.yaml': allow(`{ payload.note: ${note} }`) }))
        expect(found.map((one) => one.code)).toEqual(['hidden-character'])
      }
    })

    it(`${name} can be matched as the hint says`, async () => {
      const pattern = `\\x{${mark.charCodeAt(0).toString(16)}}`
      const snapshot = await withRules(
        `  - id: a\n    allow: A.\n    when: { payload.note: { matches: '${pattern}' } }\n`,
      )
      expect((await snapshot.decide(call({ note: `a${mark}b` }))).verdict).toBe('allow')
    })
  }

  it('a carriage return before a line feed is fine', async () => {
    const text = `# note\n${allow('{ payload.note: a }')}`.replaceAll('\n', '\r\n')
    expect(await diagnose(bundle({ 'rules/pay.yaml': text }))).toEqual([])
  })

  it.each([
    ['maps without keys', `tool: pay\nrules:\n${': '.repeat(2_000)}${'"?\n'.repeat(2_000)}`, '3:135'],
    ['maps behind folded text', `x: ${'>\n[]: "a": '.repeat(2_000)}a:\n}`, '67:10'],
  ])('text that only the parser nests deeply is refused with its place: %s', async (_, text, place) => {
    const found = await diagnose(bundle({ 'rules/pay.yaml': text }))
    expect(found.map(({ code, line, column }) => `${line}:${column} ${code}`)).toEqual([
      `${place} yaml-depth`,
    ])
  })

  it('lists below their keys count as one level, up to the deepest', async () => {
    const deep = Array.from({ length: 31 }, (_, n) => `${' '.repeat(2 * n)}${n === 0 ? '' : '- '}a:\n`)
    const found = await diagnose(bundle({ 'rules/pay.yaml': `${deep.join('')}` }))
    expect(found.map((one) => one.code)).not.toContain('yaml-depth')
  })

  it('patterns that are small alone can be too large together, in rules and in a contract', async () => {
    const patterns = (count: number): readonly string[] =>
      Array.from({ length: count }, (_, n) => `'^x{900}${n}$'`)
    const inRules = (count: number) => allow(`{ payload.note: { matches: [${patterns(count).join(', ')}] } }`)
    const inContract = (count: number) =>
      CONTRACT.concat(
        patterns(count)
          .map((pattern, n) => `    p${n}: { pattern: ${pattern} }\n`)
          .join(''),
      )
    const found = async (rulesText: string, contract: string) =>
      (await diagnose(bundle({ 'rules/pay.yaml': rulesText, 'tools/pay.yaml': contract }))).map(
        ({ file, line, column, code }) => `${file}:${line}:${column} ${code}`,
      )
    expect(await found(inRules(25), inContract(25))).toEqual([])
    for (const [rulesText, contract] of [
      [inRules(60), CONTRACT],
      [allow('{ payload.note: a }'), inContract(60)],
      [inRules(30), inContract(30)],
    ] as const)
      expect(await found(rulesText, contract)).toEqual(['tools/pay.yaml:1:7 bad-pattern'])
  })

  it('text of a file in a message is legible, on one line and bounded', async () => {
    const escapes = '"\\e[2J\\r\\n\\t::error::"'
    for (const word of [escapes, 'x'.repeat(100_000)])
      for (const text of [
        rules(`  - { id: a, allow: A., until: ${word} }\n`),
        allow(`{ payload.note: { ${word}: 1 } }`),
        rules(
          '  - { id: a, allow: A. }\nlimits:\n  - { id: l, review: R., count: calls, at_most: 1, within: '.concat(
            `${word}, per: agent }\n`,
          ),
        ),
      ]) {
        const found = await diagnose(bundle({ 'rules/pay.yaml': text }))
        expect(found.length).toBeGreaterThan(0)
        for (const { message, hint = '' } of found) {
          expect(findHidden(message + hint)).toBe(-1)
          expect(message + hint).not.toMatch(/[\t\r\n]/)
          expect(message.length + hint.length).toBeLessThan(3_000)
        }
      }
  })

  it('an unclosed bracket is a syntax error, not a hidden character', async () => {
    const text = 'tool: pay\nrules: [ { id: a, allow: A. }\n'
    const found = await diagnose(bundle({ 'rules/pay.yaml': text }))
    expect(found.map((one) => one.code)).not.toContain('hidden-character')
    expect(found.map((one) => one.code)).toContain('yaml-syntax')
  })

  for (const mark of ['\x02', '\x18', '\x1f'])
    it(`a control character that the lexer itself uses is found in the text: ${JSON.stringify(mark)}`, async () => {
      for (const note of [mark, `a${mark}`, `[${mark}, b]`, `"${mark}"`]) {
        const found = await diagnose(bundle({ 'rules/pay.yaml': allow(`{ payload.note: ${note} }`) }))
        expect(found.map((one) => one.code)).toContain('hidden-character')
      }
    })

  it('a pattern with a bare dot is a warning', async () => {
    const found = await diagnose(
      bundle({ 'rules/pay.yaml': allow('{ payload.note: { matches: db.read } }') }),
    )
    expect(found.map((one) => [one.code, one.severity])).toEqual([['loose-pattern', 'warning']])
  })

  it.each(['ls|', '|ls', 'x*', '.*', '()', '^', '(?:)', '(?i)', '^[a-z]*', '(ls)?', 'a{0,5}'])(
    'a pattern that fits every text is a warning: %s',
    async (pattern) => {
      const found = await diagnose(
        bundle({ 'rules/pay.yaml': allow(`{ payload.note: { matches: '${pattern}' } }`) }),
      )
      expect(found.map((one) => [one.code, one.severity, one.message])).toEqual([
        ['loose-pattern', 'warning', 'this pattern fits every text'],
      ])
    },
  )

  it.each([
    '^$',
    '^[a-z]*$',
    '^x*$',
    '(?m)^$',
    '^.*$',
    '^[^a]*$',
    '^[a-z]*$|\\n',
    '^(?:ls|pwd)?$',
    '.+',
    '\\b',
  ])('a pattern that does not fit every text is fine: %s', async (pattern) => {
    const found = await diagnose(
      bundle({ 'rules/pay.yaml': allow(`{ payload.note: { matches: '${pattern}' } }`) }),
    )
    expect(found).toEqual([])
  })
})

describe('text with too many combining marks on a letter', () => {
  const STACK = `a${'\u0345\u0334'.repeat(16_000)}`
  const TESTS = [
    '{ payload.note: b }',
    '{ payload.note: { not: b } }',
    '{ payload.note: { starts_with: a } }',
    '{ payload.note: { ends_with: a } }',
    "{ payload.note: { like: 'a*' } }",
    "{ payload.note: { matches: '^a' } }",
    '{ payload.note: { contains: a } }',
    '{ payload.to: { some: { starts_with: a } } }',
    '{ payload.to: { contains: a } }',
    "{ path(payload.note): '/a' }",
    '{ not: { host(payload.note): a.io } }',
    '{ not: { sql_verbs(payload.note): { some: delete } } }',
  ]

  it.each(TESTS)('allows no call, and fires review and reject rules: %s', async (when) => {
    const snapshot = await withRules(
      `  - id: open\n    allow: Open.\n    when: ${when}\n  - id: guard\n    reject: No.\n    when: ${when}\n`,
    )
    for (const note of [STACK, `/${STACK}`, `https://${STACK}.io/`, `select 1 -- ${STACK}`]) {
      const { verdict, by, message } = await snapshot.decide(call({ note, to: [note] }))
      expect([verdict, by], note.slice(0, 20)).toEqual(['reject', ['guard', 'unmatched']])
      expect(message).toContain('could not check')
    }
  })

  it('has no counter of a limit', async () => {
    const limit =
      'limits:\n  - { id: l, review: Much., count: calls, at_most: 9, within: 1h, per: payload.note }\n'
    const text = rules('  - id: open\n    allow: Open.\n')
    const snapshot = await snapshotOf(bundle({ 'rules/pay.yaml': `${text}${limit}` }))
    expect((await snapshot.decide(call({ note: 'a' }))).verdict).toBe('allow')
    const { verdict, limits, message } = await snapshot.decide(call({ note: STACK }))
    expect([verdict, limits]).toEqual(['review', []])
    expect(message).toBe('Much. (could not check payload.note: unreadable)')
  })
})
