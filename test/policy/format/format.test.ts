import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Document, isMap, visit } from 'yaml'
import type { JsonValue } from '../../../src/contract/json.ts'
import { formatFile } from '../../../src/policy/format/format.ts'
import type { BundleIr } from '../../../src/policy/language/rule.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { parseSource, toJson } from '../../../src/policy/yaml/parse.ts'
import { createFindings, createSource } from '../../../src/policy/yaml/source.ts'
import { languageBundles } from '../random-language.ts'
import { bundle, CONTRACT, DIRECTORY, ROUTING, type Files } from '../support.ts'
import { runs } from '../../runs.ts'

const POLICIES = fileURLToPath(new URL('../../../policies', import.meta.url))
const STARTER: Files = Object.fromEntries(
  readdirSync(POLICIES, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yaml'))
    .map((path) => [path, readFileSync(`${POLICIES}/${path}`, 'utf8')]),
)

function format(path: string, text: string): string {
  const result = formatFile({ path, text })
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics))
  return result.text
}
const rules = (text: string): string => format('rules/a.yaml', text)

/** A bundle as the gateway would run it, without the parts that depend on the place of a word. */
async function irOf(files: Files): Promise<unknown> {
  const prepared = await prepareBundle(Object.entries(files).map(([path, text]) => ({ path, text })))
  if (!prepared.ok) throw new Error(JSON.stringify(prepared.diagnostics))
  return JSON.parse(
    JSON.stringify(withoutPlaces(prepared.ir), (key, value: unknown) => (key === 'line' ? 0 : value)),
  )
}
const withoutPlaces = ({ head, tools, ruleFiles }: BundleIr) => ({
  head: {
    ...head,
    revision: '',
    files: [],
    diagnostics: [],
    directory: [...head.directory.tenants].map(String),
  },
  tools: tools.map((tool) => ({ ...tool, contract: { ...tool.contract, revision: '' } })),
  ruleFiles: ruleFiles.map((file) => ({
    ...file,
    rules: file.rules.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  })),
})

/** The same data with keys in any order, in block and flow style, with comments above and behind its parts. */
function disorder(
  value: JsonValue,
  choices: readonly number[],
): { text: string; comments: readonly string[] } {
  let turn = 0
  const choose = (n: number): number => (choices[turn++ % choices.length] ?? 0) % n
  const comments: string[] = []
  const comment = (): string => ` comment ${comments.push(`comment ${comments.length};`) - 1};`
  const document = new Document(value)
  visit(document, {
    Map(_, node) {
      node.items.sort(() => choose(3) - 1)
      if (choose(4) === 0) node.flow = true
    },
  })
  visit(document, {
    Pair(_, pair, path) {
      if (path.some((parent) => isMap(parent) && parent.flow === true)) return
      const key = pair.key as { commentBefore?: string }
      if (choose(3) === 0) key.commentBefore = comment()
      const scalar = pair.value as { comment?: string; value?: unknown } | null
      if (choose(4) === 0 && scalar !== null && typeof scalar.value === 'string') scalar.comment = comment()
    },
  })
  return { text: document.toString({ lineWidth: 0 }), comments }
}

describe('formatting', () => {
  it('puts the keys of a rule file in the order of the grammar, in any style', () => {
    const text =
      'tests:\n  - { payload: {}, allow: x }\nlimits:\n  - per: agent\n    within: 1h\n    review: L.\n    at_most: 5\n    count: calls\n    id: l\nrules:\n  - when: { payload.b: 1, payload.a: 2 }\n    risk: low\n    allow: A.\n    id: a\ntool: pay\n'
    expect(rules(text)).toBe(
      'tool: pay\nrules:\n  - id: a\n    allow: A.\n    when: { payload.b: 1, payload.a: 2 }\n    risk: low\nlimits:\n  - id: l\n    review: L.\n    count: calls\n    at_most: 5\n    within: 1h\n    per: agent\ntests:\n  - { allow: x, payload: {} }\n',
    )
  })

  it('moves comments with their entries, and keeps comments at the top and at the end', () => {
    const text =
      '# file\nrules:\n  # about a\n  - allow: A. # why\n    # the id\n    id: a\n  # no more\n# about the tool\ntool: pay\n# end\n'
    expect(rules(text)).toBe(
      '# file\n# about the tool\ntool: pay\nrules:\n  # about a\n  - # the id\n    id: a\n    allow: A. # why\n  # no more\n# end\n',
    )
  })

  it('leaves alignment, quotes, long texts and blank lines as they are', () => {
    const text =
      "tool: pay\n\nrules:\n  - id: a\n    review: >\n      long   \n      text\n\n    when:\n      payload.a:   { like: 'x  y' }   # aligned\n"
    expect(rules(text)).toBe(text)
    expect(format('routing.yaml', ROUTING)).toBe(ROUTING)
    expect(format('directory.yaml', DIRECTORY)).toBe(DIRECTORY)
    expect(format('tools/pay.yaml', CONTRACT)).toBe(CONTRACT)
  })

  it('removes spaces at the end of lines and ends with one line feed, except in texts', () => {
    expect(rules('tool: pay   \r\nrules:\r\n  - { id: a, allow: A. }  \n\n\n')).toBe(
      'tool: pay\nrules:\n  - { id: a, allow: A. }\n',
    )
    const literal = 'tool: pay\nrules:\n  - id: a\n    allow: |\n      a  \n      b\n'
    expect(rules(literal)).toBe(literal)
  })

  it('orders entries with lines of spaces between them', () => {
    expect(rules('rules:\n  - allow: A.\n    when:\n      payload.x: 1\n   \n    id: a\ntool: t\n')).toBe(
      'tool: t\nrules:\n  - id: a\n    allow: A.\n    when:\n      payload.x: 1\n',
    )
  })

  it('does not change a mapping in braces that has a comment inside', () => {
    const text = 'tool: pay\nrules:\n  - { allow: A., # why\n      id: a }\n'
    expect(rules(text)).toBe(text)
  })

  it('refuses text that does not parse, and duplicate keys', () => {
    for (const text of ['tool: [', 'tool: a\ntool: b\n', 'a: &x 1\n', ''])
      expect(formatFile({ path: 'rules/a.yaml', text }).ok).toBe(false)
  })

  it('orders routing, directory and contracts too, in JSON as well', () => {
    expect(
      format('routing.yaml', 'levels: { high: { expires: 1h, group: a }, low: {} }\nunmatched: reject\n'),
    ).toBe('unmatched: reject\nlevels: { low: {}, high: { group: a, expires: 1h } }\n')
    expect(
      format(
        'directory.yaml',
        'tenants:\n  b:\n    reviewers:\n      z: { groups: [], name: Z }\n    agents: {}\n  a: {}\n',
      ),
    ).toBe('tenants:\n  b:\n    agents: {}\n    reviewers:\n      z: { name: Z, groups: [] }\n  a: {}\n')
    expect(format('tools/a.json', '{\n  "risk": "low",\n  "tool": "a"\n}\n')).toBe(
      '{\n  "tool": "a",\n  "risk": "low"\n}\n',
    )
  })

  it('never changes the meaning of a bundle, keeps every comment, and changes nothing the second time', async () => {
    const seeds = fc.array(fc.nat(1_000), { minLength: 20, maxLength: 60 })
    let changed = 0
    await fc.assert(
      fc.asyncProperty(languageBundles, seeds, async (files, choices) => {
        const before = bundle(files)
        for (const path of Object.keys(before).filter((name) => !name.startsWith('rules/')))
          expect(format(path, before[path] ?? '')).toBe(format(path, format(path, before[path] ?? '')))
        const text = before['rules/pay.yaml'] ?? ''
        const { text: mixed, comments } = disorder(JSON.parse(text) as JsonValue, choices)
        const done = rules(mixed)
        for (const comment of comments) expect(done.split(comment)).toHaveLength(2)
        expect(rules(done)).toBe(done)
        expect(await irOf({ ...before, 'rules/pay.yaml': done })).toEqual(
          await irOf({ ...before, 'rules/pay.yaml': mixed }),
        )
        expect(firstKeys(done)).toEqual(firstKeys(done).toSorted((a, b) => TOP.indexOf(a) - TOP.indexOf(b)))
        if (done !== mixed) changed++
      }),
      { numRuns: runs(400) },
    )
    expect(changed).toBeGreaterThan(runs(200))
  })

  it('keeps the meaning of the starter policies, and changes nothing the second time', async () => {
    const formatted = Object.fromEntries(
      Object.entries(STARTER).map(([path, text]) => [path, format(path, text)]),
    )
    expect(await irOf(formatted)).toEqual(await irOf(STARTER))
    for (const [path, text] of Object.entries(formatted)) expect(format(path, text)).toBe(text)
  })
})

const TOP = ['tool', 'tools', 'owner', 'missing_means', 'mode', 'rules', 'limits', 'tests']
function firstKeys(text: string): readonly string[] {
  const doc = parseSource(createSource('rules/a.yaml', text), createFindings())
  return doc === undefined ? [] : Object.keys(toJson(doc) as object)
}
