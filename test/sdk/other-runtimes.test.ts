import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../ports.ts'
import { openWorld, type World } from '../gateway-fixture.ts'
import { until } from '../until.ts'

/* The SDK against a real gateway in other runtimes than Node. The npm registry has their programs. */

const run = promisify(execFile)
const SDK = fileURLToPath(new URL('../../packages/sdk/src/index.ts', import.meta.url))
const PACKAGES = [
  '@oven/bun-linux-x64@1.4.5',
  '@deno/linux-x64-glibc@2.9.6',
  '@cloudflare/workerd-linux-64@1.20261117.1',
]
const INSTALL = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', ...PACKAGES]

let directory: string
let world: World
let missing: string | undefined

const program = (path: string): string => join(directory, 'node_modules', path)

/** Writes one module that contains the SDK. */
async function write(name: string, source: string): Promise<string> {
  const from = join(directory, `${name}.source.mjs`)
  writeFileSync(from, source)
  const bundle = await rolldown({ input: from, logLevel: 'silent' })
  await bundle.write({ file: join(directory, `${name}.mjs`), format: 'esm' })
  return join(directory, `${name}.mjs`)
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cs-runtimes-'))
  world = await openWorld()
  const { key } = await world.agent()
  const gate = `import { createGate } from ${JSON.stringify(SDK)}
    const gate = createGate(${JSON.stringify({ url: world.url, key, taskId: 'runtimes' })})
    const call = () => gate.guard('t', { n: 1 }, (approved) => 'ran ' + JSON.stringify(approved))`
  await write('script', `${gate}\nconsole.log(await call())`)
  await write('worker', `${gate}\nexport default { fetch: async () => new Response(await call()) }`)
  writeFileSync(join(directory, 'package.json'), '{"private":true}')
  await run('npm', INSTALL, { cwd: directory }).catch((error: Error) => (missing = error.message))
}, 120_000)

afterAll(async () => {
  await world.close()
  rmSync(directory, { recursive: true, force: true })
})

describe('the SDK', () => {
  it.each([
    ['Bun', '@oven/bun-linux-x64/bin/bun', []],
    ['Deno', '@deno/linux-x64-glibc/deno', ['run', '--no-remote', '--allow-net=127.0.0.1']],
  ])('the SDK guards a call in %s', { timeout: 60_000 }, async (_, path, args) => {
    if (missing !== undefined)
      return console.warn(`skipped, because npm cannot install the runtime: ${missing}`)
    const { stdout } = await run(program(path), [...args, join(directory, 'script.mjs')], { cwd: directory })
    expect(stdout).toBe('ran {"n":1}\n')
  })

  it('the SDK guards a call in Workers', { timeout: 60_000 }, async () => {
    if (missing !== undefined)
      return console.warn(`skipped, because npm cannot install the runtime: ${missing}`)
    const port = await freePort()
    writeFileSync(
      join(directory, 'worker.capnp'),
      `using Workerd = import "/workerd/workerd.capnp";
      const config :Workerd.Config = (
        services = [(name = "main", worker = .worker), (name = "internet", network = (allow = ["local"]))],
        sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]);
      const worker :Workerd.Worker = (
        modules = [(name = "worker", esModule = embed "worker.mjs")], compatibilityDate = "2025-06-01");`,
    )
    const workerd = spawn(program('@cloudflare/workerd-linux-64/bin/workerd'), ['serve', 'worker.capnp'], {
      cwd: directory,
      stdio: 'ignore',
    })
    try {
      const ask = (): Promise<string | undefined> =>
        fetch(`http://127.0.0.1:${port}/`).then(
          (answer) => answer.text(),
          () => undefined,
        )
      let answer: string | undefined
      await until(async () => (answer = await ask()) !== undefined)
      expect(answer).toBe('ran {"n":1}')
    } finally {
      workerd.kill()
      await once(workerd, 'exit')
    }
  })
})
