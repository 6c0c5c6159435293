// @first
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { canonicalJson as ofGateway, sha256 } from '../../src/domain/digest.ts'
import { createGate, type Handle } from '@countersign/sdk'
import { actionHash } from '../../packages/sdk/src/canonical-json.ts'
import { runCli, runProcess } from '../cli/run.ts'
import { openWorld } from '../gateway-fixture.ts'
import { startRedis } from '../redis/server.ts'
import { IS_LONG } from '../runs.ts'
import {
  BYTE_CODE,
  type Environment,
  interpreters,
  lastOf,
  mypyCache,
  NEWEST_MINOR,
  openWorkshop,
  PACKAGE,
  ROOT,
  run,
  SUITE_MS,
} from './python-environment.ts'

/** Tests the package as its wheel installs it: its own tests, its types, and whether its hashes equal JavaScript's. */
const workshop = await openWorkshop()
const missing = typeof workshop === 'string' ? workshop : ''
if (missing !== '') console.warn(`the tests of clients/python are skipped: ${missing}`)

const BESIDE = [
  'pytest',
  'pydantic',
  'attrs',
  'werkzeug',
  'starlette',
  'multidict',
  'hypothesis',
  'rfc8785',
  'smolagents',
  'twine',
  'opentelemetry-sdk',
  'ruff',
  'mypy',
  'pyright',
]
const GATEWAY = { COUNTERSIGN_TEST_GATEWAY: ROOT }
/** Tests that need only pytest beside the package. */
const CORE = ['tests/test_values.py', 'tests/test_guard.py']
const SHOP = `
from __future__ import annotations
from decimal import Decimal
from countersign_sdk import Countersign

gate = Countersign()

@gate.tool("orders.refund")
def refund(order: int, amount: Decimal, note: str | None = None) -> None:
    """Refunds an order."""
`
/** Proposes a call and prints its handle, or resumes a handle and prints the payload with which the call ran. */
const CONTINUES = `
import json, sys
from countersign_sdk import Countersign

url, key, *handles = sys.argv[1:]
with Countersign(url, key, on_held=lambda _: None) as gate:
    if not handles:
        print(json.dumps(gate.propose("hold", {"cents": 7}, task_id="other", call_id="of-python")))
    for handle in handles:
        gate.resume(json.loads(handle), lambda approved: print(json.dumps(approved)), max_wait=0)
`
const CLEAN = [0, expect.stringContaining(' passed')]

describe.skipIf(missing !== '')('the package for Python', { timeout: SUITE_MS }, () => {
  if (typeof workshop === 'string') return
  const { newest, oldest, usual, wheel } = workshop
  let environment: Environment

  beforeAll(async () => {
    environment = await workshop.environment('package', newest, [wheel, ...BESIDE])
  }, SUITE_MS)
  afterAll(() => workshop.dispose())

  const pytest = (args: readonly string[], env: Record<string, string> = {}, where = environment) =>
    run(where.python, ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', ...args], {
      env: { ...GATEWAY, ...env },
    })

  it("has the gateway's version, one dependency and its types", () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    const project = readFileSync(join(PACKAGE, 'pyproject.toml'), 'utf8')
    expect(project).toContain(`\nversion = "${version}"\n`)
    expect(/\ndependencies = \[([^\]]*)\]/.exec(project)?.[1]).toMatch(/^"httpx[^"]*"$/)
    expect(
      readdirSync(dirname(wheel))
        .filter((name) => !name.startsWith('.') && !name.endsWith('.tgz'))
        .sort(),
    ).toEqual([`countersign_sdk-${version}-py3-none-any.whl`, `countersign_sdk-${version}.tar.gz`])
  })

  it(`works on Python 3.${newest.minor}`, async () => {
    const ran = await pytest([
      'tests',
      ...['adapters', 'examples', 'test_testing.py'].map((name) => `--ignore=tests/${name}`),
    ])
    expect([ran.code, lastOf(ran)]).toEqual(CLEAN)
  })

  it(`works on Python 3.${oldest.minor} with only its dependency installed`, async () => {
    const clean = await workshop.environment('clean', oldest, [wheel, 'pytest'])
    const ran = await pytest(CORE, {}, clean)
    expect([ran.code, lastOf(ran)]).toEqual(CLEAN)
  })

  it('builds and installs from its sdist on every Python of this machine, and is fit for the index', async () => {
    const sdist = wheel.replace(/-py3-none-any\.whl$/, '.tar.gz')
    const files = (await run('tar', ['tzf', sdist])).out
      .split('\n')
      .map((path) => path.replace(/^[^/]*\//, ''))
    expect(files).toEqual(expect.arrayContaining(['CHANGELOG.md', 'tests/fake.py', 'tests/test_guard.py']))
    const known =
      /^(src\/countersign_sdk|tests)\/|^(CHANGELOG|README)\.md$|^(LICENSE|PKG-INFO|pyproject\.toml|\.gitignore)?$/
    expect(files.filter((path) => !known.test(path))).toEqual([])
    const fit = await run(environment.bin('twine'), ['check', '--strict', wheel, sdist])
    expect([fit.code, lastOf(fit)]).toEqual([0, expect.not.stringContaining('warning')])
    for (const interpreter of await interpreters()) {
      const made = await workshop.environment('clean', interpreter, [sdist, 'pytest'])
      const ran = await pytest(['tests/test_values.py'], {}, made)
      expect([interpreter.minor, ran.code, lastOf(ran)]).toEqual([interpreter.minor, ...CLEAN])
    }
  })

  it.runIf(newest.minor < NEWEST_MINOR)(`works on Python 3.${NEWEST_MINOR} if it is installed`, async () => {
    const interpreter = await workshop.interpreter(NEWEST_MINOR)
    if (typeof interpreter === 'string') return console.warn(`skipped: ${interpreter}`)
    const clean = await workshop.environment('clean', interpreter, [wheel, 'pytest'])
    const ran = await pytest(CORE, {}, clean)
    expect([ran.code, lastOf(ran)]).toEqual(CLEAN)
  })

  it('runs the examples exactly as the docs print them', async () => {
    const beside = ['pytest', 'langchain', 'langgraph-checkpoint-sqlite', 'fastapi', 'uvicorn']
    const ran = await pytest(
      ['tests/examples'],
      {},
      await workshop.environment('examples', usual, [wheel, ...beside]),
    )
    expect([ran.code, lastOf(ran)]).toEqual(CLEAN)
  })

  it('adds the contract of a function to a bundle, which tests it and fits the function', async () => {
    const cwd = mkdtempSync(join(dirname(wheel), 'add-'))
    const python = dirname(environment.python)
    const env = { PATH: `${python}:${process.env['PATH'] ?? ''}` }
    expect((await runCli(['init', '.', '--empty'], { cwd })).code).toBe(0)
    writeFileSync(join(cwd, 'shop.py'), SHOP)
    const added = await runProcess(['add', 'tool', 'orders.refund', '--python', 'shop:refund'], { cwd, env })
    expect([added.code, added.err]).toEqual([0, ''])
    const rules = readFileSync(join(cwd, 'policies/rules/orders.refund.yaml'), 'utf8')
    expect(rules).toContain('missing_means:\n  "payload.note": nothing\n')
    expect(rules).toContain('payload: {"order":0,"amount":"12.50"}')
    expect((await runCli(['test', 'policies'], { cwd })).code).toBe(0)
    const missing = await runProcess(['add', 'tool', 'orders.other', '--python', 'shop:other'], { cwd, env })
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining("no attribute 'other'")])
    const none = await runProcess(['add', 'tool', 'orders.other', '--python', 'shop:other'], { cwd })
    expect([none.code, none.err]).toEqual([1, expect.stringContaining('activate the environment')])
  })

  it('starts the gateway of the packed npm package, and uses a gateway that already runs', async () => {
    const packed = await run(
      'npm',
      ['pack', '--ignore-scripts', '--json', '--pack-destination', dirname(wheel)],
      {
        cwd: ROOT,
      },
    )
    const [{ filename = '' } = {}] = JSON.parse(packed.out) as { filename?: string }[]
    const ran = await pytest(['tests/test_testing.py'], {
      COUNTERSIGN_TEST_PACKED: join(dirname(wheel), filename),
    })
    expect([ran.code, lastOf(ran)]).toEqual(CLEAN)
    expect(lastOf(ran)).not.toContain('skipped')
  })

  it('makes handles that resume in JavaScript, and resumes those of JavaScript', async () => {
    const world = await openWorld()
    try {
      const [{ key }, ann] = [await world.agent(), await world.reviewer('ann')]
      const python = (...handles: string[]) =>
        run(environment.python, ['-c', CONTINUES, world.url, key, ...handles])
      const gate = createGate({ url: world.url, key, onPending: () => undefined })
      const made = JSON.parse((await python()).out) as Handle
      await ann.approve(made.thread_id ?? '')
      expect(await gate.resume(made, (approved) => approved, { maxWaitMs: 0 })).toEqual({ cents: 7 })
      const own = await gate.propose('hold', { cents: 8 }, { taskId: 'other', callId: 'of-javascript' })
      await ann.approve(own.thread_id ?? '')
      expect(await python(JSON.stringify(own))).toEqual({ code: 0, out: '{"cents": 8}\n' })
      await gate.settled()
    } finally {
      await world.close()
    }
  })

  it('works with a gateway on Redis', async () => {
    const redis = await startRedis({ config: { databases: '100' } })
    try {
      const ran = await pytest(['tests/test_guard.py'], { COUNTERSIGN_TEST_STORE: redis.url })
      expect([ran.code, lastOf(ran)]).toEqual(CLEAN)
    } finally {
      await redis.dispose()
    }
  })

  it.each([
    ['ruff', ['check', '--no-cache', '.']],
    ['ruff', ['format', '--no-cache', '--check', '.']],
    ['mypy', ['--cache-dir', mypyCache('package'), '--exclude', 'tests/adapters', 'src', 'tests']],
    ['pyright', ['src']],
  ])('passes %s %s', async (program, args) => {
    const known = await run(environment.bin(program), ['--version'])
    // the pyright of PyPI fetches the program itself from the npm registry
    if (known.code !== 0) return console.warn(`${program} cannot be had: ${lastOf(known)}`)
    const more = program === 'pyright' ? ['--pythonpath', environment.python] : []
    const ran = await run(environment.bin(program), [...args, ...more])
    expect([ran.code, lastOf(ran)]).toEqual([0, expect.anything()])
  })

  it('computes the same action hash as the SDK and the gateway for 50,000 random payloads', async () => {
    const seed = IS_LONG ? Date.now() % 2 ** 31 : 8785
    const child = spawn(environment.python, ['hashes.py', '50000', String(seed)], {
      cwd: join(PACKAGE, 'tests'),
      env: { ...process.env, ...BYTE_CODE },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let count = 0
    for await (const line of createInterface({ input: child.stdout })) {
      const { payload, hash } = JSON.parse(line) as { payload: Record<string, never>; hash: string }
      const which = { nonce: `nonce-${count}`, ...(count % 3 === 0 ? {} : { again: count % 3 }) }
      const action = { task_id: 'task', tool_name: 'tool', payload, ...which }
      const hashes = [hash, await actionHash(action), sha256(ofGateway({ v: 1, ...action }))]
      if (new Set(hashes).size > 1) expect({ seed, count, line, hashes }).toBeUndefined()
      count++
    }
    expect(count).toBe(50_000)
  })
})
