// @first
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { startRedis } from '../redis/server.ts'
import { IS_LONG } from '../runs.ts'
import {
  type Environment,
  lastOf,
  mypyCache,
  openWorkshop,
  PACKAGE,
  ROOT,
  run,
  SUITE_MS,
  type Workshop,
} from './python-environment.ts'

/**
 * Runs the suite of the Python adapters for each framework in an environment of its own
 * (clients/python/tests/adapters/README.md).
 */
/** Most of a suite is waiting: for a process, a vote, a deadline. */
vi.setConfig({ maxConcurrency: 2 })
const ADAPTERS = join(PACKAGE, 'tests/adapters')
const TABLE = join(ROOT, 'docs/python/frameworks.md')
const names = readdirSync(ADAPTERS)
  .flatMap((name) => /^driver_(\w+)\.py$/.exec(name)?.[1] ?? [])
  .sort()
const workshop = await openWorkshop()
const missing = typeof workshop === 'string' ? workshop : ''
if (missing !== '') console.warn(`the adapters for Python are skipped: ${missing}`)
const directory = mkdtempSync(join(tmpdir(), 'countersign-adapters-'))

afterAll(() => {
  rmSync(directory, { recursive: true, force: true })
  if (typeof workshop !== 'string') workshop.dispose()
})

/** Packages that the driver has pip install: `packages` for the newest, `oldest` for the oldest supported. */
function packagesOf(name: string, which: 'packages' | 'oldest'): string[] {
  const text = readFileSync(join(ADAPTERS, `driver_${name}.py`), 'utf8')
  const list = new RegExp(`^    ${which} = \\[([^\\]]*)\\]`, 'm').exec(text)?.[1] ?? ''
  return [...list.matchAll(/"([^"]+)"/g)].map((match) => match[1] ?? '')
}

/** Undefined, with a clear line, where the framework cannot be installed. */
async function environmentOf(
  made: Workshop,
  name: string,
  which: 'packages' | 'oldest',
): Promise<Environment | undefined> {
  const wanted = [made.wheel, 'pytest', ...(IS_LONG ? ['mypy', 'pyright'] : []), ...packagesOf(name, which)]
  try {
    return await made.environment(`${name}-${which}`, made.usual, wanted)
  } catch (error) {
    console.warn(`${name} is skipped, it cannot be installed: ${(error as Error).message.slice(-500)}`)
    return undefined
  }
}

async function suite(name: string, environment: Environment, redis = ''): Promise<Record<string, string>> {
  const results = join(directory, `${name}.json`)
  const env = {
    COUNTERSIGN_ADAPTER: name,
    COUNTERSIGN_ADAPTER_RESULTS: results,
    COUNTERSIGN_TEST_GATEWAY: ROOT,
    COUNTERSIGN_TEST_STORE: redis,
  }
  const ran = await run(
    environment.python,
    ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-W', 'default', 'tests/adapters'],
    { env },
  )
  expect([ran.code, lastOf(ran)]).toEqual([0, expect.stringContaining(' passed')])
  return JSON.parse(readFileSync(results, 'utf8')) as Record<string, string>
}

/**
 * Checks the types of the adapter and of its driver, in the environment of the framework. Both programs read the whole
 * framework first, so only a long soak runs them.
 */
async function isClean(name: string, environment: Environment): Promise<void> {
  const adapter = `src/countersign_sdk/${name}.py`
  const pyright = await run(environment.bin('pyright'), ['--pythonpath', environment.python, adapter])
  // pyright fetches its program itself from the npm registry
  if (pyright.out.includes('errors'))
    expect([pyright.code, lastOf(pyright)]).toEqual([0, expect.stringContaining('0 errors')])
  const files = [adapter, `tests/adapters/driver_${name}.py`]
  const mypy = await run(environment.bin('mypy'), ['--cache-dir', mypyCache(name), ...files])
  expect([mypy.code, lastOf(mypy)]).toEqual([0, expect.stringContaining('no issues')])
}

describe.skipIf(missing !== '')('the adapters for Python', { timeout: SUITE_MS }, () => {
  if (typeof workshop === 'string') return

  it.concurrent.for(names)('%s, newest', async (name, { expect: own }) => {
    const environment = await environmentOf(workshop, name, 'packages')
    if (environment === undefined) return
    const found = await suite(name, environment)
    const path = join(ADAPTERS, `results/${name}.json`)
    await own(`${JSON.stringify(found, null, 2)}\n`).toMatchFileSnapshot(path)
    if (IS_LONG) await isClean(name, environment)
  })

  it.runIf(IS_LONG).concurrent.for(names)('%s, the oldest supported version, on Redis', async (name) => {
    const environment = await environmentOf(workshop, name, 'oldest')
    if (environment === undefined) return
    const redis = await startRedis({ config: { databases: '100' } })
    try {
      await suite(name, environment, redis.url)
    } finally {
      await redis.dispose()
    }
  })
})

describe('the table of the adapters', () => {
  it('the table of adapters matches the results', async () => {
    await expect(page()).toMatchFileSnapshot(TABLE)
  })
})

/** The page with the table: a row for each case, a column for each framework. */
function page(): string {
  const [head = '', rest = ''] = readFileSync(TABLE, 'utf8').split('<!-- the table -->\n')
  const tail = rest.slice(rest.indexOf('<!-- the end of the table -->'))
  const columns = names.map((name) => {
    const path = join(ADAPTERS, `results/${name}.json`)
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>) : {}
  })
  const cases = /^CASES.*?^}/ms.exec(readFileSync(join(ADAPTERS, 'test_adapter.py'), 'utf8'))?.[0] ?? ''
  const titles = [...cases.matchAll(/^    "(\w+)": "([^"]+)",$/gm)]
  // one line for each reason of an adapter
  const notes = names.flatMap((name, i) => {
    const reasons = new Map<string, string[]>()
    for (const [id, result] of Object.entries(columns[i] ?? {})) {
      if (!result.startsWith('n/a: ')) continue
      const title = titles.find((one) => one[1] === id)?.[2] ?? id
      reasons.set(result.slice(5), [...(reasons.get(result.slice(5)) ?? []), title])
    }
    const about = (cases: string[]): string => (cases.length > 1 ? `${cases.length} cases` : cases.join('; '))
    return [...reasons].map(([reason, cases]) => `- \`${name}\`, ${about(cases)}: ${reason}`)
  })
  const rows = titles.map(([, id = '', title = '']) => {
    const cells = columns.map((column) =>
      column[id]?.startsWith('n/a') ? 'n/a' : (column[id] ?? 'not tested'),
    )
    return `| ${[title, ...cells].join(' | ')} |`
  })
  const header = `| case | ${names.map((name) => `\`${name}\``).join(' | ')} |`
  const line = `|---|${names.map(() => '---|').join('')}`
  const table = [header, line, ...rows, '', ...notes].join('\n').trimEnd()
  return `${head}<!-- the table -->\n${table}\n${tail}`
}
