import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { execFileSync } from './sync-child.ts'

/**
 * The permitted imports of each folder or file (CONTRIBUTING.md, "Folders").
 * Two rules explain them: domain never awaits; gateway never speaks HTTP.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  contract: [],
  system: [],
  domain: ['contract'],
  events: ['contract', 'domain', 'metrics'],
  policy: ['contract', 'domain', 'system'],
  'store/store.ts': [],
  'store/archive.ts': ['store/store.ts'],
  'store/archive-laws.ts': ['store/store.ts', 'store/archive.ts'],
  // what both adapters need
  store: ['store/store.ts'],
  'store/embedded': ['domain', 'system', 'store', 'store/store.ts', 'store/archive.ts'],
  'store/redis/address.ts': [],
  'store/redis/settings.ts': ['store/store.ts'],
  'store/redis': [
    'domain',
    'store',
    'store/store.ts',
    'store/archive.ts',
    'store/redis/address.ts',
    'store/redis/settings.ts',
  ],
  backup: ['domain', 'system', 'store/archive.ts', 'store/archive-laws.ts'],
  gateway: [
    'contract',
    'domain',
    'events',
    'evidence',
    'policy',
    'store/store.ts',
    'store/archive.ts',
    'store/archive-laws.ts',
    'tiles',
    'tiles/stops.ts',
  ],
  http: ['contract', 'domain', 'gateway', 'system'],
  'outbound/address.ts': [],
  outbound: ['outbound/address.ts', 'system'],
  webhooks: ['contract', 'domain', 'gateway', 'outbound'],
  slack: ['contract', 'domain', 'gateway', 'outbound'],
  evidence: ['contract', 'domain', 'events', 'system'],
  'tiles/stops.ts': [],
  tiles: ['domain', 'system', 'tiles/stops.ts'],
  'sign-in': ['contract', 'domain', 'gateway', 'outbound'],
  metrics: ['contract', 'domain', 'tiles/stops.ts'],
  telemetry: ['contract', 'domain', 'events', 'gateway', 'metrics', 'store/store.ts'],
  '@countersign/sdk': [],
  mcp: ['contract', 'system', '@countersign/sdk'],
  hook: ['contract', 'domain', 'system', '@countersign/sdk'],
  console: ['contract', 'domain', 'playground'],
  playground: ['contract', 'domain', 'policy'],
  settings: [
    'contract',
    'domain',
    'policy',
    'outbound/address.ts',
    'store/redis/address.ts',
    'store/redis/settings.ts',
  ],
  app: [
    'contract',
    'domain',
    'policy',
    'gateway',
    'store',
    'store/store.ts',
    'store/archive.ts',
    'store/embedded',
    'store/redis',
    'http',
    'evidence',
    'outbound',
    'webhooks',
    'slack',
    'sign-in',
    'telemetry',
    'settings',
    'system',
    'tiles',
    'tiles/stops.ts',
  ],
  'app.ts': [
    'contract',
    'domain',
    'policy',
    'gateway',
    'store',
    'store/store.ts',
    'http',
    'telemetry',
    'settings',
    'evidence',
    'app',
  ],
  cli: [
    'contract',
    'domain',
    'policy',
    'gateway',
    'backup',
    'evidence',
    'store/archive.ts',
    'telemetry',
    '@countersign/sdk',
    'mcp',
    'hook',
    'system',
    'settings',
    'tiles',
    'slack',
    'app',
    'app.ts',
  ],
  'main.ts': ['cli', 'system'],
}
/**
 * The floors inside each folder: a file imports only from its own floor and from those before it. `.` are the files
 * beside the inner folders.
 */
const FLOORS: Record<string, readonly string[]> = {
  contract: ['.', 'operations'],
  events: ['record', 'laws', 'kinds', '.'],
  policy: [
    'report',
    'text',
    'language/sql',
    'language/shell',
    'language',
    'yaml',
    'schema',
    'summary',
    'check',
    'evaluate',
    'tests',
    'lint',
    'bundle',
    'format',
    'diff',
    'backtest',
    'editor',
    'import',
  ],
  store: ['.', 'embedded', 'redis'],
  tiles: ['.', 'directory', 's3'],
  gateway: ['core', 'auth', 'thread', 'webhooks', 'review', 'chat', 'agent', 'jobs', 'integrity', 'admin'],
  http: ['admission', 'wire', 'core', 'access', 'operations', 'server'],
  telemetry: ['count', 'log', 'tracing', '.'],
  console: [
    'style',
    'text',
    'time',
    'wire',
    'risk',
    'route',
    'keyboard',
    'session',
    'shell',
    'sign-in',
    'list',
    'outbox',
    'queue',
    'seen',
    'call',
    'payload',
    'revisions',
    'thread',
    'several',
    'review',
    'history',
    'agents',
    'chats',
    'policies',
    'playground',
    'webhooks',
    '.',
  ],
  cli: ['terminal', 'completion', 'client', 'author', 'operate', 'operate/doctor', 'dev', 'agent'],
}
/** Files beside the folders of src, and of src/gateway. */
const MOST_LOOSE = { src: 2, gateway: 0 }
/**
 * The number of files in the longest import chains. `values` counts imports that exist when the program runs; `all`
 * also counts type imports. A change that lengthens a chain has code in the wrong place: move that code. A change that
 * shortens a chain lowers the number. CONTRIBUTING.md and docs/architecture.md name both numbers.
 */
const LONGEST = { values: 20, all: 31 }
const MAX_LINES = 400
/** A table of rows, which gains a row with each new thing. */
const TABLE = /^(contract|events\/kinds|metrics)\/|\/(operators|functions)\.ts$/
const MAX_TABLE_LINES = 800
/** Rooms of the console: its own README names them. */
const UNDESCRIBED = /^console\//

const root = fileURLToPath(new URL('../src/', import.meta.url))
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => path.replaceAll('\\', '/'))

interface Import {
  /** A path below src/, or the name of the SDK. */
  readonly path: string
  /** Gone when the program runs. */
  readonly isType: boolean
}

/** Relative imports of a source file, and those of the SDK. */
function statementsOf(file: string, text: string): Import[] {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\s+([^'"]*?from\s+)?'(\.[^']+|@countersign\/[^']+)'|import\(\s*'(\.[^']+)'\s*\)/g
  return [...text.matchAll(pattern)].map(([, clause = '', name, loaded = '']) => {
    const path = name ?? loaded
    return {
      path: path.startsWith('.')
        ? relative(root, normalize(join(root, dirname(file), path))).replaceAll('\\', '/')
        : path,
      isType: /^type\b/.test(clause) || /^\{(\s*type \w+( as \w+)?,?)+\s*\}/.test(clause),
    }
  })
}

const importsOf = (file: string, text: string): string[] => statementsOf(file, text).map(({ path }) => path)

/** The longest way down, from file to file; one of them where several are as long. */
function longestChain(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const known = new Map<string, readonly string[]>()
  const below = (file: string): readonly string[] => {
    const ready = known.get(file)
    if (ready !== undefined) return ready
    const ways = (imports.get(file) ?? []).map(below)
    const chain = [file, ...ways.reduce((longest, way) => (way.length > longest.length ? way : longest), [])]
    known.set(file, chain)
    return chain
  }
  return [...imports.keys()]
    .map(below)
    .reduce((longest, way) => (way.length > longest.length ? way : longest), [])
}

/** Imports of a file that the table does not allow. */
function violations(file: string, text: string): string[] {
  const zone = zoneOf(file)
  const allowed = [zone, ...(MAY_IMPORT[zone] ?? [])]
  return importsOf(file, text)
    .filter((path) => !allowed.includes(zoneOf(path)))
    .map((path) => `${file} must not import ${path}`)
}

/** Imports of a file from a floor above its own. */
function upward(file: string, text: string): string[] {
  const [top = ''] = file.split('/')
  const floors = FLOORS[top]
  if (floors === undefined) return []
  const floorOf = (path: string): number => floors.indexOf(dirname(path).slice(top.length + 1) || '.')
  if (floorOf(file) < 0) return [`${file} is on no floor`]
  return importsOf(file, text)
    .filter((path) => path.startsWith(`${top}/`) && floorOf(path) > floorOf(file))
    .map((path) => `${file} is below ${path}`)
}

/** The first import cycle, from a file to itself; empty when no file imports itself. */
function circleIn(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>()
  const follow = (file: string, path: readonly string[]): readonly string[] => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return []
    done.add(file)
    for (const next of imports.get(file) ?? []) {
      const circle = follow(next, [...path, file])
      if (circle.length > 0) return circle
    }
    return []
  }
  for (const file of imports.keys()) {
    const circle = follow(file, [])
    if (circle.length > 0) return circle
  }
  return []
}

/** The entry that says most about a file: its own, else that of the innermost folder. */
function zoneOf(file: string): string {
  const parts = file.split('/')
  const within = parts.map((_, count) => parts.slice(0, parts.length - count).join('/'))
  return within.find((zone) => zone in MAY_IMPORT) ?? file
}

describe('the import table', () => {
  it('knows every folder of src', () => {
    expect(files.map(zoneOf).filter((zone) => !(zone in MAY_IMPORT))).toEqual([])
  })

  it('every file keeps the rules of its folder', () => {
    expect(files.flatMap((file) => violations(file, readFileSync(join(root, file), 'utf8')))).toEqual([])
  })

  it('every file imports from its own floor or from one below, in every folder that has floors', () => {
    const inner = new Set(
      files.filter((file) => file.split('/').length > 2).map((file) => file.split('/')[0]),
    )
    expect(inner).toEqual(new Set(Object.keys(FLOORS)))
    expect(files.flatMap((file) => upward(file, readFileSync(join(root, file), 'utf8')))).toEqual([])
    const up = "import type { Thread } from '../review/vote.ts'"
    expect(upward('gateway/core/transact.ts', up)).toEqual([
      'gateway/core/transact.ts is below gateway/review/vote.ts',
    ])
    expect(upward('gateway/jobs/scheduler.ts', up)).toEqual([])
    expect(upward('gateway/new/file.ts', '')).toEqual(['gateway/new/file.ts is on no floor'])
  })

  it('has no import cycle, not even of types', () => {
    const imports = new Map(
      files.map((file) => [file, importsOf(file, readFileSync(join(root, file), 'utf8'))]),
    )
    expect(circleIn(imports)).toEqual([])
    const circle = new Map(Object.entries({ 'a.ts': ['b.ts'], 'b.ts': ['c.ts'], 'c.ts': ['b.ts'] }))
    expect(circleIn(circle)).toEqual(['b.ts', 'c.ts', 'b.ts'])
  })

  it.each(['values', 'all'] as const)('knows the longest import chain: %s', (kind) => {
    const imports = new Map(
      files.map((file) => {
        const found = statementsOf(file, readFileSync(join(root, file), 'utf8'))
        const counted = found.filter(({ isType }) => kind === 'all' || !isType)
        return [file, counted.map(({ path }) => path).filter((path) => files.includes(path))]
      }),
    )
    const chain = longestChain(imports)
    console.log(`longest import chain (${kind}): ${chain.length} files\n  ${chain.join('\n  ')}`)
    expect(chain.length).toBe(LONGEST[kind])
  })

  it('CONTRIBUTING.md and docs/architecture.md name the limits of import chains', () => {
    const page = (name: string): string =>
      readFileSync(new URL(`../${name}`, import.meta.url), 'utf8').replaceAll(/\s+/g, ' ')
    const { values, all } = LONGEST
    expect(page('CONTRIBUTING.md')).toContain(
      `has ${values} files without type imports, and ${all} with them`,
    )
    expect(page('docs/architecture.md')).toContain(
      `when the program runs has ${values} files. With type imports, the longest chain has ${all}.`,
    )
  })

  it('distinguishes type imports from value imports, and finds the longest chain', () => {
    const kinds = [
      "import type { A } from './a.ts'",
      "import { type A, type B as C } from './a.ts'",
      "import { type A, b } from './a.ts'",
      "import { type } from './a.ts'",
      "import './a.ts'",
      "export type { A } from './a.ts'",
    ].map((text) => statementsOf('domain/x.ts', text)[0]?.isType)
    expect(kinds).toEqual([true, true, false, false, false, true])
    const graph = new Map(Object.entries({ a: ['b', 'c'], b: ['d'], c: ['b'], d: [] }))
    expect(longestChain(graph)).toEqual(['a', 'c', 'b', 'd'])
  })

  it('finds a broken rule (the check itself can fail)', () => {
    const forms = [
      "import { a } from '../store/embedded/embedded.ts'",
      "import type { A } from '../store/embedded/embedded.ts'",
      "import '../store/embedded/embedded.ts'",
      "export * from '../store/embedded/embedded.ts'",
      "const a = await import('../store/embedded/embedded.ts')",
    ]
    const found = forms.map((text) => violations('domain/thread.ts', text))
    expect(found).toEqual(forms.map(() => ['domain/thread.ts must not import store/embedded/embedded.ts']))
    expect(violations('domain/thread.ts', "import { b } from '../contract/limits.ts'")).toEqual([])
    expect(violations('store/redis/keys.ts', "import '../embedded/keys.ts'")).toEqual([
      'store/redis/keys.ts must not import store/embedded/keys.ts',
    ])
  })
})

describe('the house rules', () => {
  it('domain never awaits', () => {
    const awaiting = files.filter(
      (file) => file.startsWith('domain/') && /\b(await|async|Promise)\b/.test(code(file)),
    )
    expect(awaiting).toEqual([])
  })

  it('gateway never speaks HTTP', () => {
    const speaking = files.filter(
      (file) => file.startsWith('gateway/') && /fastify|statusCode|node:http/.test(code(file)),
    )
    expect(speaking).toEqual([])
  })

  it('only settings/config.ts reads the environment', () => {
    const reading = files.filter((file) => /process\.env/.test(code(file)))
    expect(reading.filter((file) => file !== 'settings/config.ts')).toEqual([])
  })

  it('only policy/bundle and the command line access the disk for policy', () => {
    const touching = files.filter((file) => file.startsWith('policy/') && /node:fs/.test(code(file)))
    expect(touching.filter((file) => !file.startsWith('policy/bundle/'))).toEqual([])
  })

  it('no comment cites a document outside this repository', () => {
    const outside =
      /(?:^|[^/\w-])(?:design|agent-api-contract|policy-language|requirements)\.md\b|\bresearch\//m
    expect(files.filter((file) => outside.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
  })

  it('the console imports only types and plain tables of the contract, and nothing from Node.js', () => {
    const values =
      /^import (?!type )[^'\n]*'[./]*contract\/(?!sign-in-problems|page-secret|unattended)[^']*'|^import [^'\n]*'node:/m
    expect(files.filter((file) => file.startsWith('console/') && values.test(code(file)))).toEqual([])
  })

  it('the console never creates markup from text', () => {
    const markup = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function/
    const found = files.filter((file) => file.startsWith('console/') && markup.test(code(file)))
    expect(found).toEqual([])
  })

  it('only src/domain/normal-form.ts normalises text, because it bounds the cost', () => {
    // what node:path calls so is about paths
    const calls = /(?<!\bposix)\s*\??\.\s*normalize\b|\[\s*['"`]normalize/
    expect(files.filter((file) => calls.test(code(file)))).toEqual(['domain/normal-form.ts'])
    expect(calls.test("text.normalize('NFC')") && calls.test('text?.normalize()')).toBe(true)
    expect(calls.test('posix.normalize(path)')).toBe(false)
  })

  it('a test gives each child process that blocks it a time limit', () => {
    const tests = fileURLToPath(new URL('.', import.meta.url))
    const starters = readdirSync(tests, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.startsWith('architecture'))
      .filter((file) => {
        const text = readFileSync(join(tests, file), 'utf8')
        return /Sync\b[^}]*\} from 'node:child_process'|\* as \w+ from 'node:child_process'/.test(text)
      })
    expect(starters).toEqual(['sync-child.ts'])
  })

  it('each folder has a README that says what it holds and where to start', () => {
    const folders = new Set(files.flatMap((file) => (file.includes('/') ? [dirname(file)] : [])))
    const described = [...folders].filter((folder) => !UNDESCRIBED.test(folder))
    for (const folder of described) {
      const path = join(root, folder, 'README.md')
      const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
      expect(text, folder).toMatch(new RegExp(`^# ${folder}\n\n[A-Z\`]`))
      const [, start = ''] = text.split('Start with ')
      const links = [...start.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => join(root, folder, link))
      expect(links.length, folder).toBeGreaterThan(0)
      expect(links.filter((link) => !existsSync(link))).toEqual([])
    }
    expect(described.length).toBeGreaterThan(50)
  })

  it('the structure diagram matches the imports: npm run structure', () => {
    const script = fileURLToPath(new URL('../bench/structure.mjs', import.meta.url))
    const drawn = execFileSync(process.execPath, [script, '--print'])
    expect(drawn).toBe(readFileSync(new URL('../docs/images/structure.svg', import.meta.url), 'utf8'))
  })

  it('few files are directly in src and in src/gateway', () => {
    const loose = (folder: string): number =>
      readdirSync(join(root, folder), { withFileTypes: true }).filter(({ name }) => /\.tsx?$/.test(name))
        .length
    expect(loose('.')).toBeLessThanOrEqual(MOST_LOOSE.src)
    expect(loose('gateway')).toBeLessThanOrEqual(MOST_LOOSE.gateway)
  })

  it('no file is longer than the limit', () => {
    const linesOf = (file: string): number => readFileSync(join(root, file), 'utf8').split('\n').length
    const long = files.filter((file) => linesOf(file) > (TABLE.test(file) ? MAX_TABLE_LINES : MAX_LINES))
    expect(long).toEqual([])
  })
})

it('every property test is part of the soak, the only run that draws new cases each time', () => {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const soaked = execFileSync(process.execPath, ['test/soak.mjs', '--list'], { cwd: root }).split('\n')
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .map((path) => `test/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.ts') && path !== 'test/seed.ts')
  const text = (path: string): string => readFileSync(join(root, path), 'utf8')
  const drawing = files.filter((path) => /^import .* from 'fast-check'/m.test(text(path)))
  expect(drawing.length).toBeGreaterThan(50)
  /** Itself, and the test files that import it, directly or by others. */
  const users = (path: string, seen = new Set<string>()): string[] => {
    if (seen.has(path)) return []
    seen.add(path)
    const name = path.slice(path.lastIndexOf('/'))
    const importers = files.filter((one) => text(one).includes(`${name}'`))
    return [path, ...importers.flatMap((one) => users(one, seen))].filter((one) => one.endsWith('.test.ts'))
  }
  expect(drawing.filter((path) => !users(path).some((user) => soaked.includes(user)))).toEqual([])
  expect(drawing.filter((path) => path.endsWith('.test.ts') && !soaked.includes(path))).toEqual([])
})

/** The file without comments. */
function code(file: string): string {
  return readFileSync(join(root, file), 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '')
}
