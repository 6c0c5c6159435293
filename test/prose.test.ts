import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { execFileSync } from './sync-child.ts'

interface Text {
  readonly kind: string
  readonly line: number
  readonly text: string
}
interface Rule {
  readonly id: string
  readonly term?: string
  readonly in?: readonly string[]
  readonly bad: readonly string[]
  readonly good: readonly string[]
}
interface Rules {
  readonly RULES: readonly Rule[]
  readonly LINE_RULES: readonly (Rule & { readonly find: RegExp })[]
  readonly problemsIn: (text: Pick<Text, 'kind' | 'text'>) => readonly { id: string; found: string }[]
}
interface Texts {
  readonly textsOf: (path: string, source: string) => readonly Text[]
}

const load = async (name: string): Promise<unknown> =>
  import(new URL(`../prose/${name}`, import.meta.url).href)
const { LINE_RULES, RULES, problemsIn } = (await load('rules.mjs')) as Rules
const { textsOf } = (await load('texts.mjs')) as Texts

const root = fileURLToPath(new URL('..', import.meta.url))
const ids = (kind: string, text: string): string[] => problemsIn({ kind, text }).map(({ id }) => id)
const words = (count: number): string =>
  `${Array.from({ length: count }, (_, i) => (i === 0 ? 'the' : `word${i}`)).join(' ')}.`

describe('rules of prose', () => {
  it.each(RULES)('rules of prose find the bad examples of $id, and accept the good ones', (rule) => {
    const kind = rule.in?.[0] ?? 'paragraph'
    for (const text of rule.bad) expect(ids(kind, text), text).toContain(rule.id)
    for (const text of rule.good) expect(ids(kind, text), text).not.toContain(rule.id)
  })

  it.each(LINE_RULES)('rules of lines find the bad examples of $id, and accept the good ones', (rule) => {
    expect(rule.bad.filter((text) => !rule.find.test(text))).toEqual([])
    expect(rule.good.filter((text) => rule.find.test(text))).toEqual([])
  })

  it('rules of prose replace words by terms that docs/contributing/words.md defines', () => {
    const page = readFileSync(`${root}/docs/contributing/words.md`, 'utf8')
    const terms = RULES.flatMap(({ term }) => term?.split(' or ') ?? [])
    expect(terms.length).toBeGreaterThan(10)
    expect(terms.filter((term) => !page.includes(`| ${term} |`))).toEqual([])
  })

  it('rules of prose count at most 25 words in a sentence, and skip headings', () => {
    expect(ids('paragraph', words(25))).toEqual([])
    expect(ids('paragraph', words(26))).toEqual(['sentence-length'])
    expect(ids('paragraph', `${words(20)} ${words(20)}`)).toEqual([])
    expect(ids('heading', words(26))).toEqual([])
    expect(ids('string', 'AED AFN ALL '.repeat(10))).toEqual([])
    expect(ids('string', words(30).replace('word15', 'word15;'))).toEqual([])
    expect(ids('item', `${words(24).slice(0, -1)} ${'§, '.repeat(30)}§ and §.`)).toEqual([])
    expect(ids('item', `${words(25).slice(0, -1)} §, §.`)).toEqual(['sentence-length'])
  })
})

describe('texts', () => {
  it('finds paragraphs, items, headings and cells in Markdown, without code and quotations', () => {
    const page = [
      '# A page of `code`',
      '',
      'One paragraph,',
      'on two lines with [a link](x.md).',
      '- an item "quoted"',
      '',
      '| left | `a|b` right |',
      '|---|---|',
      '```sh',
      'nobody reads this',
      '```',
    ].join('\n')
    expect(textsOf('x.md', page)).toEqual([
      { kind: 'heading', line: 1, text: 'A page of §' },
      { kind: 'paragraph', line: 3, text: 'One paragraph,\non two lines with a link.' },
      { kind: 'item', line: 5, text: 'an item §' },
      { kind: 'cell', line: 7, text: ' left ' },
      { kind: 'cell', line: 7, text: ' § right ' },
    ])
  })

  it('finds docstrings, comments and strings that read as prose in TypeScript', () => {
    const source = [
      "import { x } from 'not any prose here'",
      '/** Reads the log. */',
      'export function read(a: string): string {',
      '  // why it is so,',
      '  // on two lines',
      '  return `cannot read the ${a}: ` + `it ${x} is // no comment`',
      '}',
      "const pattern = /\\/\\/ no comment/ ; const short = 'two words'",
    ].join('\n')
    expect(textsOf('src/x.ts', source)).toEqual([
      { kind: 'docstring', line: 2, text: ' Reads the log. ' },
      { kind: 'comment', line: 4, text: 'why it is so,\non two lines' },
      { kind: 'string', line: 6, text: 'cannot read the §: it § is // no comment' },
    ])
  })

  it('finds the titles and the comments of a test, but no strings', () => {
    const source =
      "// nobody\ndescribe('a thing', () => { it.each([1])('works %i times', () => log('no title at all')) })"
    expect(textsOf('test/x.test.ts', source)).toEqual([
      { kind: 'comment', line: 1, text: 'nobody' },
      { kind: 'title', line: 2, text: 'a thing' },
      { kind: 'title', line: 2, text: 'works %i times' },
    ])
  })

  it('finds docstrings, comments, messages and reasons in Python and YAML', () => {
    const source = ['"""Waits for people."""', '# a comment', 'raise Error("the call was rejected")'].join(
      '\n',
    )
    expect(textsOf('clients/x.py', source)).toEqual([
      { kind: 'docstring', line: 1, text: 'Waits for people.' },
      { kind: 'comment', line: 2, text: 'a comment' },
      { kind: 'string', line: 3, text: 'the call was rejected' },
    ])
    expect(textsOf('x.yaml', '# a comment\nallow: Small transfers are routine.\nid: two words here')).toEqual(
      [
        { kind: 'comment', line: 1, text: 'a comment' },
        { kind: 'string', line: 2, text: 'Small transfers are routine.' },
      ],
    )
  })
})

describe('prose/sample.mjs', () => {
  it('draws the same sentences for the same seed', () => {
    const run = (seed: string): string =>
      execFileSync(process.execPath, ['prose/sample.mjs', seed, 'docs/contributing', '--count', '3'], {
        cwd: root,
      })
    expect(run('7').split('\n')).toHaveLength(7)
    expect(run('7')).toBe(run('7'))
    expect(run('7')).not.toBe(run('8'))
  })
})
