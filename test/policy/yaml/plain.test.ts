import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_YAML_NODES } from '../../../src/policy/language/bounds.ts'
import { parsePlain } from '../../../src/policy/yaml/plain.ts'
import { parseWithLibrary, type Doc } from '../../../src/policy/yaml/parse.ts'
import { createFindings, createSource } from '../../../src/policy/yaml/source.ts'
import { CONTRACT, DIRECTORY, ROUTING } from '../support.ts'
import { runs } from '../../runs.ts'

/** What the library makes of a text: the document with its places, and every finding. */
function readByLibrary(text: string): { readonly doc: Doc | undefined; readonly found: readonly unknown[] } {
  const findings = createFindings()
  const doc = parseWithLibrary(createSource('rules/a.yaml', text), findings)
  return { doc, found: findings.sorted() }
}

/** The law: a text is read as the library reads it, or not at all. True when it was read. */
function keepsTheLaw(text: string): boolean {
  const doc = parsePlain(text)
  if (doc) expect({ text, ...readByLibrary(text) }).toEqual({ text, doc, found: [] })
  return doc !== undefined
}

const root = fileURLToPath(new URL('../../../', import.meta.url))
const files = ['policies', 'examples']
  .flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  )
  .filter((path) => /\.ya?ml$/.test(path))
  .map((path) => readFileSync(`${root}${path}`, 'utf8'))
const SEEDS = [...files, ROUTING, DIRECTORY, CONTRACT].map((text) => text.split('\n'))

describe('the plain reader', () => {
  it('reads most policy files of this repository, as the library does', () => {
    const read = files.filter(keepsTheLaw)
    expect(read.length).toBeGreaterThan(files.length * 0.9)
  })

  it('reads what policies are written in', () => {
    const texts = [
      'a: 1',
      'a: 1\n',
      '# head\n\na: b # why\n\n# and\nb:   c d, [e] {f}\n',
      'a:\n  - b\n  - c: 1\n    d: [x, "y z", \'*\', -3, true]\n  - { e: [], f: {} }\n# tail\n',
      'a: # why\n\n  # more\n  b:\n    c: payload.amount\nd: 600/m\n',
      '"a b": 8h\n\'c\': ""\n$ref: "#/$defs/x"\nnot: 2027-01-31\nat: 08:30\n',
      'a: x é ü – ≤ 日本 🙂\n',
      'a: b#c\nd: e:f\ng: h - i\nj: /etc/passwd\nk: .internal\nl: .net\n',
    ]
    expect(texts.filter((text) => !keepsTheLaw(text))).toEqual([])
  })

  it('leaves to the library what can be read in two ways, what is rare and what is wrong', () => {
    const texts = [
      '', '\n', '# nothing\n', 'a', '- a\n', '{ a: 1 }', '--- \na: 1\n', 'a: 1\n...\n', '%YAML 1.2\n---\na: 1\n',
      'a: &b 1\n', 'a: *b\n', 'a: !t 1\n', '? a\n: b\n', '<<: a\n', 'a: |\n  b\n', 'a: >-\n  b\n', 'a: b\n  c\n',
      'a:\n', 'a: # b\n', 'a: ~\n', 'a: null\n', 'a: Null\n', 'a: True\n', 'a: FALSE\n', 'null: a\n', 'true: a\n',
      '1: a\n', 'a: 01\n', 'a: 0o7\n', 'a: 0x1f\n', 'a: 1.5\n', 'a: 1e3\n', 'a: +1\n', 'a: -0\n', 'a: .5\n', 'a: -.5\n',
      'a: .inf\n', 'a: -.inf\n', 'a: .nan\n', 'a: 1234567890123456\n', 'a: 1_000\n', 'a: "b\\n"\n', "a: 'b''c'\n",
      'a: "b\n  c"\n', 'a: "b" c\n', 'a: "b"#c\n', 'a: b: c\n', 'a: b :c\n', 'a : b\n', 'a:b\n', 'a: [b: c]\n',
      'a: [b,]\n', 'a: [,b]\n', 'a: [b\n  , c]\n', 'a: {b}\n', 'a: {b:c}\n', 'a: {"b":c}\n', 'a: [b] c\n', 'a: [b]#c\n',
      'a: [b}\n', 'a: - b\n', 'a:\n- b\n', 'a:\n  - - b\n', 'a:\n  -\n    b\n', 'a:\n  -  b: 1\n     c: 2\n', 'a: 1\na: 2\n',
      'a: { b: 1, b: 2 }\n', '__proto__: 1\n', ' a: 1\nb: 2\n', 'a: 1\n b: 2\n', 'a:\n  b: 1\n c: 2\n', 'a:\n  b: 1\n    # c\nd: 2\n',
      'a: 1\n  # b\n', 'a: 1\n ', 'a:\t1\n', 'a: 1\r\n', '\ufeffa: 1\n', 'a: b\u200bc\n', '# \u202e\na: 1\n', 'a: e\u0301\n',
      `${'k'.repeat(300)}: 1\n`, `a: ${'['.repeat(40)}${']'.repeat(40)}\n`, `a: ${'b'.repeat(MAX_YAML_NODES)}\n`,
    ] // prettier-ignore
    expect(texts.filter((text) => parsePlain(text))).toEqual([])
  })

  it('keeps the law for edited policy files', () => {
    let read = 0
    fc.assert(
      fc.property(piece, fc.array(edit, { maxLength: 3 }), (lines, edits) => {
        const text = edits.reduce((before, change) => change(before), lines.join('\n'))
        if (keepsTheLaw(text)) read++
      }),
      { numRuns: runs(8_000) },
    )
    expect(read).toBeGreaterThan(400)
  })

  it('keeps the law for texts of its own alphabet', () => {
    let read = 0
    const line = fc
      .tuple(fc.constantFrom(0, 0, 2, 2, 4, 1), fc.array(fc.constantFrom(...ALPHABET), { maxLength: 7 }))
      .map(([indent, words]) => ' '.repeat(indent) + words.join(''))
    fc.assert(
      fc.property(fc.array(line, { maxLength: 5 }), (lines) => {
        if (keepsTheLaw(`a: 1\n${lines.join('\n')}`)) read++
      }),
      { numRuns: runs(8_000) },
    )
    expect(read).toBeGreaterThan(200)
  })
})

const ALPHABET = [
  'a', 'b: ', 'c:', ': ', ':', '- ', '-', ' ', '  ', '#', '# x', ' # x', '[', ']', '{', '}', ', ', ',', '"', '"q"', "'s'", '1',
  '0', '1h', '.', '.x', 'true', 'null', '~', '/', '$', '*', '&', '!', '|', '>', '?', '%', '@', '\\', 'é', '\u00a0', '\n', '\t', '_',
] // prettier-ignore

/** Some lines of a policy file, moved to the margin. */
const piece = fc
  .tuple(fc.constantFrom(...SEEDS), fc.nat(), fc.integer({ min: 1, max: 12 }))
  .map(([lines, at, count]) => {
    const from = at % lines.length
    const some = lines.slice(from, from + count)
    const margin = /^ */.exec(some[0] ?? '')?.[0] ?? ''
    return some.map((line) => (line.startsWith(margin) ? line.slice(margin.length) : line))
  })

const edit = fc.oneof(
  fc.tuple(fc.nat(), fc.constantFrom(...ALPHABET)).map(([place, what]) => (text: string) => {
    const at = place % (text.length + 1)
    return text.slice(0, at) + what + text.slice(at)
  }),
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 4 })).map(([place, count]) => (text: string) => {
    const at = place % (text.length + 1)
    return text.slice(0, at) + text.slice(at + count)
  }),
  fc.tuple(fc.nat(), fc.nat({ max: 8 })).map(([place, indent]) => (text: string) => {
    const lines = text.split('\n')
    const at = place % lines.length
    return lines.with(at, ' '.repeat(indent) + (lines[at] ?? '').trimStart()).join('\n')
  }),
)
