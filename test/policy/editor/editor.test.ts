import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type * as server from 'yaml-language-server'
import { readBundle } from '../../../src/policy/bundle/directory.ts'
import { editorSchemas, type EditorSchemas } from '../../../src/policy/editor/editor.ts'
import { rounds } from '../../runs.ts'
import { languageBundles } from '../random-language.ts'
import { bundle, CONTRACT, diagnose, ROUTING } from '../support.ts'

/** The schemas as the YAML language server uses them: what it underlines and what it completes. */
const { getLanguageService, TextDocument } = createRequire(import.meta.url)(
  'yaml-language-server',
) as typeof server
const POLICIES = fileURLToPath(new URL('../../../policies', import.meta.url))
const MATCHES: readonly (readonly [string, string])[] = [
  ['rules.schema.json', 'rules/*.yaml'],
  ['tool.schema.json', 'tools/*.yaml'],
  ['routing.schema.json', 'routing.yaml'],
  ['directory.schema.json', 'directory.yaml'],
]

interface Editor {
  findings(path: string, text: string): Promise<readonly string[]>
  /** The completions at the place of `|`. */
  complete(path: string, text: string): Promise<readonly string[]>
}

type Document = Parameters<ReturnType<typeof getLanguageService>['doValidation']>[0]
let addresses = 0

function openEditor(schemas: EditorSchemas): Editor {
  // The server keeps documents and schemas by their address, for all services of a process. So every editor has a
  // folder, and every text has a file.
  const folder = `editor-${++addresses}`
  const documentOf = (path: string, text: string): Document => {
    const [name = ''] = path.split('/').slice(-1)
    const uri = `file:///${folder}/${path.replace(name, `${path.includes('/') ? ++addresses : ''}${name}`)}`
    return TextDocument.create(uri, 'yaml', ++addresses, text) as Document
  }
  const service = getLanguageService({
    schemaRequestService: () => Promise.reject(new Error('nothing is fetched')),
    workspaceContext: { resolveRelativePath: (path: string) => path },
  } as unknown as Parameters<typeof getLanguageService>[0])
  service.configure({
    validate: true,
    completion: true,
    schemas: MATCHES.map(([name, glob]) => ({
      uri: `file:///${folder}/${name}`,
      fileMatch: [`${folder}/${glob}`],
      // The server changes what it is given.
      schema: JSON.parse(JSON.stringify(schemas[name])) as object,
    })),
  })
  return {
    async findings(path, text) {
      const found = await service.doValidation(documentOf(path, text), false)
      return found.map(({ message, range }) => `${range.start.line + 1}: ${message}`)
    },
    async complete(path, text) {
      const at = text.indexOf('|')
      const document = documentOf(path, text.slice(0, at) + text.slice(at + 1))
      const { items } = await service.doComplete(document, document.positionAt(at), false)
      return items.map(({ label }) => label)
    },
  }
}

const schemasFor = (files: Readonly<Record<string, string>>): EditorSchemas => {
  const result = editorSchemas(Object.entries(files).map(([path, text]) => ({ path, text })))
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics))
  return result.schemas
}

describe('the schemas of the starter policies', () => {
  let schemas: EditorSchemas
  beforeAll(async () => {
    const read = await readBundle(POLICIES)
    if (!read.ok) throw new Error('the starter policies cannot be read')
    const result = editorSchemas(read.texts)
    if (!result.ok) throw new Error('the contracts do not check')
    schemas = result.schemas
  })

  it('the schemas of the starter policies are valid draft-07 schemas', () => {
    const ajv = new Ajv({ strict: false })
    for (const schema of Object.values(schemas)) expect(ajv.validateSchema(schema)).toBe(true)
  })

  it('the schemas of the starter policies report no error in any starter file', async () => {
    const editor = openEditor(schemas)
    const files = readdirSync(POLICIES, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.yaml'),
    )
    expect(files.length).toBeGreaterThan(15)
    for (const path of files)
      expect([path, await editor.findings(path, readFileSync(`${POLICIES}/${path}`, 'utf8'))]).toEqual([
        path,
        [],
      ])
  })

  it('the schemas of the starter policies complete the payload paths of the tool and the tests that fit their types', async () => {
    const editor = openEditor(schemas)
    const head = 'tool: ledger.transfer\nrules:\n  - id: a\n    allow: A.\n    when:\n'
    const fields = await editor.complete('rules/a.yaml', `${head}      pay|\n`)
    expect(fields).toContain('payload.amount_cents')
    expect(fields).not.toContain('payload.url')
    const tests = await editor.complete('rules/a.yaml', `${head}      payload.amount_cents:\n        |\n`)
    expect(tests).toEqual(expect.arrayContaining(['over', 'at_most', 'is', 'not']))
    expect(tests).not.toContain('starts_with')
    const values = await editor.complete('rules/a.yaml', `${head}      payload.currency: |\n`)
    expect(values).toEqual(expect.arrayContaining(['eur', 'missing']))
    // no list has currencies only
    expect(values.filter((value) => value.startsWith('$'))).toEqual([])
  })
})

describe('a contract with names that are not identifiers', () => {
  const files = bundle({
    'tools/pay.yaml': CONTRACT.replace(
      '  properties:\n',
      `  properties:
    'team_ids[]': { type: array, items: { type: string } }
    labels: { type: object, additionalProperties: false, properties: { app.kubernetes.io/name: { enum: [web, db] } } }
`,
    ),
  })

  it('completes its fields in brackets, and the tests and values that fit them', async () => {
    const editor = openEditor(schemasFor(files))
    const head = 'tool: pay\nrules:\n  - id: a\n    allow: A.\n    when:\n'
    const fields = await editor.complete('rules/a.yaml', `${head}      pay|\n`)
    expect(fields).toEqual(
      expect.arrayContaining(['payload["team_ids[]"]', 'payload.labels["app.kubernetes.io/name"]']),
    )
    const named = `'payload.labels["app.kubernetes.io/name"]'`
    const values = await editor.complete('rules/a.yaml', `${head}      ${named}: |\n`)
    expect(values).toEqual(expect.arrayContaining(['web', 'db']))
  })

  it('underlines a value that it lacks, and not a value that it has', async () => {
    const editor = openEditor(schemasFor(files))
    const text = (value: string): string =>
      `tool: pay\nrules:\n  - id: a\n    allow: A.\n    when: { 'payload.labels["app.kubernetes.io/name"]': ${value}, 'payload["team_ids[]"]': { some: { is: t1 } } }\n`
    expect(await editor.findings('rules/a.yaml', text('web'))).toEqual([])
    expect(await editor.findings('rules/a.yaml', text('5'))).not.toEqual([])
  })
})

const LIMIT = '  - { id: l, review: R., count: calls, at_most: 5, within: 24h, per: agent }\n'

describe('a rule file', () => {
  const files = bundle({
    'tools/pay.yaml': CONTRACT.replace(
      '  properties:\n',
      '  properties:\n    lines: { type: array, items: { type: object, additionalProperties: false, properties: { price: { type: number } } } }\n    kind: { enum: [card, cash] }\n',
    ),
    'routing.yaml': `${ROUTING}  means: [card, cash]\n  sizes: [1, 2]\n`,
    'tools/open.yaml':
      'tool: open\ndescription: d\nrisk: low\ninput_schema: { type: object, properties: { known: { type: integer } } }\n',
  })
  const editor = openEditor(schemasFor(files))
  const when = (match: string, tool = 'tool: pay'): Promise<readonly string[]> =>
    editor.findings('rules/a.yaml', `${tool}\nrules:\n  - id: a\n    allow: A.\n    when: { ${match} }\n`)

  it.each([
    'payload.amount: 5',
    'payload.amount: [1, 2]',
    'payload.amount: { over: 5, at_most: 10 }',
    'payload.amount: missing',
    'payload.amount: { not: { over: 5 } }',
    'payload.note: { starts_with: [a, b] }',
    'payload.note: $our_domains',
    'payload.kind: $means',
    'payload.amount: $sizes',
    'payload.note: $$dollar',
    'domain(payload.email): $our_domains',
    'domain(payload.to): { every: $our_domains }',
    'sql_verbs(payload.note): { every: [select] }',
    'sql_tables(payload.note): { every: [orders] }',
    '"sql_has(payload.note, where)": true',
    '"sql_has(payload.meta.query, limit)": false',
    'payload.to: { some: { ends_with: x }, count: { at_most: 3 } }',
    '"payload.to[0]": { like: "*x" }',
    '"payload.lines[3].price": { over: 1.5 }',
    'payload.lines: { every: { .price: { over: 1.5 } } }',
    'payload.lines: { some: { any: [{ .price: 1 }, { not: { .price: missing } }] } }',
    'payload.lines: { count: { where: { .price: { over: 1 } }, at_most: 3 } }',
    'payload.meta.rows: { none: { .x.y: a, domain(.to): b } }',
    'shell_commands(payload.note): { every: { .program: [ls, $our_domains], .options: { none: { not: -l } } } }',
    'payload.flag: true',
    'payload.kind: [card, cash]',
    'payload.kind: { not: card }',
    'payload.meta.anything: { over: 1 }',
    'host(payload.meta.url): example.com',
    'any: [{ payload.amount: 1 }, { not: { payload.note: x } }]',
    'tool.labels: { some: money }',
    'tool.reversibility: irreversible',
    'time.weekday: [sat, sun]',
    'time.hour: { at_least: 18 }',
    'agent.id: { not: bot }',
    'agent.owners: { some: dana }',
    'time.date: { from: 2026-12-20, until: 2027-01-02 }',
    'time.date: [2026-12-24, 2026-12-25]',
    'time.day: { over: 28 }',
  ])('a rule with { %s } is fine', async (match) => {
    expect(await when(match)).toEqual([])
  })

  it.each([
    ['payload.amuont: 5', 'amuont'],
    ['"sql_has(payload.note, wher)": true', 'wher'],
    ['"sql_has(payload.note, where)": { starts_with: a }', 'starts_with'],
    ['payload.amount: { starts_with: a }', 'starts_with'],
    ['payload.amount: { ovr: 5 }', 'ovr'],
    ['payload.amount: { over: x }', 'number'],
    ['payload.amount: {}', 'fewer properties'],
    ['payload.kind: $our_domains', 'not accepted'],
    ['payload.note: $sizes', 'does not match the pattern'],
    ['payload.note: $our_domain', 'does not match the pattern'],
    ['payload.note: { over: 5 }', 'over'],
    ['payload.kind: cheque', 'card'],
    ['payload.flag: { over: 1 }', 'over'],
    ['shell_commands(payload.note): { every: { .progam: ls } }', 'progam'],
    ['payload.lines: { every: { .prize: 1 } }', 'prize'],
    ['payload.lines: { every: { .price: { starts_with: a } } }', 'starts_with'],
    ['payload.lines: { count: { where: { .price: 1 }, ovr: 3 } }', 'ovr'],
    ['domain(payload.amount): x', 'domain'],
    ['dmoain(payload.email): x', 'dmoain'],
    ['payload.to: { some: missing, over: 5 }', 'over'],
    ['tool.reversibility: never', 'irreversible'],
    ['time.weekday: saturday', 'sat'],
    ['time.day: { starts_with: 1 }', 'starts_with'],
    ['time.date: { over: 1 }', 'over'],
    ['agent.owners: { starts_with: d }', 'starts_with'],
    ['any: []', 'too few items|few'],
  ])('a rule with { %s } is underlined', async (match, wanted) => {
    const found = await when(match)
    expect(found.join('\n')).toMatch(new RegExp(wanted))
    expect(found[0]).toMatch(/^5: /)
  })

  it('the schema of an open contract permits any path, and still knows the declared ones', async () => {
    expect(await when('payload.unknown: { like: a }', 'tool: open')).toEqual([])
    expect(await when('payload.known: { over: 5 }', 'tool: open')).toEqual([])
    expect((await when('payload.known: { like: a }', 'tool: open')).join()).toContain('like')
    expect(await when('payload.unknown: present', "tools: ['*']")).toEqual([])
  })

  it.each([
    ['a date that is none', 'tool: pay\nrules:\n  - { id: a, reject: R., from: tomorrow }\n', 'pattern'],
    ['two verdicts', 'tool: pay\nrules:\n  - { id: a, allow: A., reject: R. }\n', 'only one must validate'],
    ['an unknown tool', 'tool: pya\nrules:\n  - { id: a, allow: A. }\n', 'pay'],
    ['an unknown key', 'tool: pay\nrulez: []\nrules:\n  - { id: a, allow: A. }\n', 'rulez'],
    ['an id that is none', 'tool: pay\nrules:\n  - { id: A b, allow: A. }\n', 'pattern'],
    ['an unknown risk', 'tool: pay\nrules:\n  - { id: a, allow: A., risk: hgih }\n', 'high'],
    [
      'an unknown group',
      'tool: pay\nrules:\n  - { id: a, review: A., reviewers: { group: nobody } }\n',
      'fraud-desk',
    ],
    [
      'a payload that does not fit',
      'tool: pay\nrules:\n  - { id: a, allow: A. }\ntests:\n  - { allow: x, payload: { amount: many } }\n',
      'integer',
    ],
    [
      'a missing_means of nothing',
      'tool: pay\nmissing_means: { payload.amuont: 5 }\nrules:\n  - { id: a, allow: A. }\n',
      'amuont',
    ],
    [
      'a condition about no field',
      'tool: pay\nconditions: { small: { payload.amuont: 5 } }\nrules:\n  - { id: a, allow: A., when: { condition: small } }\n',
      'amuont',
    ],
    [
      'a use of several conditions',
      'tool: pay\nconditions: { small: { payload.amount: 5 } }\nrules:\n  - { id: a, allow: A., when: { condition: [small] } }\n',
      'string',
    ],
    [
      'a limit without a count',
      `tool: pay\nrules:\n  - { id: a, allow: A. }\nlimits:\n${LIMIT.replace('count: calls, ', '')}`,
      'count|one schema|oneOf',
    ],
    [
      'a limit that allows',
      `tool: pay\nrules:\n  - { id: a, allow: A. }\nlimits:\n${LIMIT.replace('review: R.', 'allow: A.')}`,
      'allow',
    ],
    [
      'a sum of text',
      `tool: pay\nrules:\n  - { id: a, allow: A. }\nlimits:\n${LIMIT.replace('count: calls', 'sum: payload.note')}`,
      'payload.amount',
    ],
  ])('a file with %s is underlined', async (_, text, wanted) => {
    expect((await editor.findings('rules/a.yaml', text)).join('\n')).toMatch(new RegExp(wanted))
  })

  it('a file with a condition is fine, and its fields complete', async () => {
    const text =
      'tool: pay\nconditions:\n  small: { payload.amount: 5 }\nrules:\n  - { id: a, allow: A., when: { condition: small } }\n'
    expect(await editor.findings('rules/a.yaml', text)).toEqual([])
    const inside = 'tool: pay\nconditions:\n  small:\n    payload.am|\nrules: []\n'
    expect(await editor.complete('rules/a.yaml', inside)).toContain('payload.amount')
  })

  it('a file with a limit is fine', async () => {
    const sum =
      '  - { id: s, reject: R., sum: payload.amount, at_most: 100, within: 1h, per: payload.note, risk: high, mode: shadow }\n'
    const text = `tool: pay\nrules:\n  - { id: a, allow: A. }\nlimits:\n${LIMIT}${sum}`
    expect(await editor.findings('rules/a.yaml', text)).toEqual([])
  })
})

describe('the schema of rule files', () => {
  it('is never stricter than the checker', async () => {
    await fc.assert(
      fc.asyncProperty(languageBundles, async (made) => {
        const files = bundle(made)
        expect((await diagnose(files)).filter(({ severity }) => severity === 'error')).toEqual([])
        const schema = JSON.parse(JSON.stringify(schemasFor(files)['rules.schema.json'])) as object
        const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema)
        for (const path of ['rules/pay.yaml', 'rules/star.yaml']) {
          if (files[path] === undefined) continue
          validate(JSON.parse(files[path]))
          expect(validate.errors ?? []).toEqual([])
        }
      }),
      { numRuns: rounds({ check: 20, short: 60, long: 200 }) },
    )
  })
})

describe('the other files', () => {
  const editor = openEditor(schemasFor(bundle()))
  const good = bundle()
  it.each([
    ['routing.yaml', 'unmatched: reject', 'unmatched: allow', 'review'],
    ['routing.yaml', 'expires: 8h', 'expires: 8x', 'pattern'],
    ['routing.yaml', 'group: security,', 'group: secruity,', 'security'],
    ['routing.yaml', 'levels:', 'levles:', 'levles'],
    ['directory.yaml', 'owners: [dana] }', 'owner: [dana] }', 'owner'],
    ['directory.yaml', 'acme:', 'ACME:', 'ACME|pattern'],
    ['tools/pay.yaml', 'risk: low', 'risk: none', 'low'],
    ['tools/pay.yaml', 'type: object\n', 'type: array\n', 'object'],
    ['tools/pay.yaml', 'note: { type: string }', 'note: { typ: string }', 'typ'],
    ['tools/pay.yaml', 'note: { type: string }', 'note: { type: strnig }', 'string'],
  ])('%s: %j as %j is underlined', async (path, from, to, wanted) => {
    const text = good[path] ?? ''
    expect(await editor.findings(path, text)).toEqual([])
    expect(text).toContain(from)
    expect((await editor.findings(path, text.replace(from, to))).join('\n')).toMatch(new RegExp(wanted))
  })

  it('a contract with errors is reported, and rule files are not read', () => {
    const texts = (files: Readonly<Record<string, string>>) =>
      Object.entries(files).map(([path, text]) => ({ path, text }))
    expect(editorSchemas(texts(bundle({ 'rules/pay.yaml': 'tool: [' }))).ok).toBe(true)
    const broken = editorSchemas(texts(bundle({ 'tools/pay.yaml': 'tool: pay\n' })))
    expect(broken.ok ? [] : broken.diagnostics.map(({ code }) => code)).toContain('missing-key')
  })
})
