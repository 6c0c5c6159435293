// @first
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { beforeAll, describe, expect, it } from 'vitest'
import { until } from '../until.ts'
import { healthCommand, isSentToBuilder, type Instruction, stages } from './dockerfile.ts'
import { at, lines, read, ROOT, temporaryDirectory } from './files.ts'
import { freePort } from '../ports.ts'
import { execFileSync, spawnSync } from '../sync-child.ts'

/*
 * Runs the Dockerfile without an engine. Its COPY and RUN instructions run in its order, in two directories that stand
 * for the file systems of its two stages. The tree of the second is then made read-only and run as the image's user.
 */
const [build, runtime] = stages()
const USER = 10_001
/** The instructions install and build everything, ms. */
const IMAGE_MS = 10 * 60_000
const isRoot = process.getuid?.() === 0
const asUser = isRoot ? { uid: USER, gid: USER } : {}

let place: string
let program: string
/** Flags of Node. */
let flags: readonly string[]
let data: string

/** The files that are sent to the builder: current files of the repository that .dockerignore lets through. */
function contextFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
  })
  return lines(listed).filter((path) => isSentToBuilder(path.split('/')[0] ?? '') && existsSync(at(path)))
}

function perform(
  instructions: readonly Instruction[],
  roots: { own: string; build: string; context: string },
): void {
  let directory = '/'
  for (const { keyword, args, from } of instructions) {
    if (keyword === 'WORKDIR') directory = resolve(directory, args[0] ?? '')
    else if (keyword === 'COPY')
      copy(args, join(roots.own, directory), from === undefined ? roots.context : roots.build)
    else if (keyword === 'RUN' && roots.own === roots.build)
      inShell(args.join(' '), join(roots.own, directory))
  }
}

function copy(args: readonly string[], directory: string, root: string): void {
  const to = args.at(-1) ?? ''
  for (const source of args.slice(0, -1)) {
    const target = join(directory, to.endsWith('/') ? join(to, basename(source)) : to)
    mkdirSync(dirname(target), { recursive: true })
    cpSync(join(root, source), target, { recursive: true, verbatimSymlinks: true })
  }
}

/**
 * The same packages were installed here a moment ago: npm prefers its cache, and gives up early on a registry that
 * does not answer.
 */
const FROM_CACHE = { npm_config_prefer_offline: 'true', npm_config_fetch_timeout: '60000' }
/** Time limit of one instruction. */
const BUILD_MS = 240_000

function inShell(command: string, cwd: string): void {
  const { PATH = '', HOME = '/' } = process.env
  const { status, stdout, stderr, error } = spawnSync('sh', ['-c', command], {
    cwd,
    env: { PATH, HOME, ...FROM_CACHE },
    timeout: BUILD_MS,
  })
  if (status !== 0) throw new Error(`\`${command}\` failed: ${error?.message ?? ''}\n${stdout}${stderr}`)
}

beforeAll(async () => {
  place = await temporaryDirectory()
  chmodSync(place, 0o755)
  const roots = {
    context: join(place, 'context'),
    build: join(place, 'build'),
    runtime: join(place, 'runtime'),
  }
  for (const path of contextFiles()) {
    mkdirSync(join(roots.context, dirname(path)), { recursive: true })
    cpSync(at(path), join(roots.context, path))
  }
  // the compiler starts from what it has made of the same sources here, and bundles are made anew
  for (const folder of ['dist', 'packages/sdk/dist'])
    cpSync(at(folder), join(roots.build, 'src', folder), {
      recursive: true,
      filter: (path) => ![at('dist/bin'), at('dist/console')].includes(path),
    })
  perform(build.instructions, { ...roots, own: roots.build })
  perform(runtime.instructions, { ...roots, own: roots.runtime })
  data = join(place, 'data')
  mkdirSync(data, { mode: 0o700 })
  if (isRoot) chownSync(data, USER, USER)
  execFileSync('chmod', ['-R', 'a-w,a+rX', roots.runtime])
  const [, ...entry] = runtime.json('ENTRYPOINT')
  flags = entry.slice(0, -1)
  program = join(roots.runtime, entry.at(-1) ?? '')
}, IMAGE_MS)

/** Runs the command of the image, as its user, in a tree that no user can write to. */
function start(args: readonly string[], env: Record<string, string> = {}) {
  return spawn(process.execPath, [...flags, program, ...args], {
    cwd: dirname(program),
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...asUser,
  })
}

describe('the tree of the image', () => {
  it('runs with its production dependencies alone', async () => {
    const child = start(['--version'])
    const [version] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
    expect(version).toBe((JSON.parse(read('package.json')) as { version: string }).version)
  })

  it('contains no sources, no tests and no file that only development needs', () => {
    const top = readdirSync(join(place, 'runtime/opt/countersign'))
    expect(top.filter((name) => ['src', 'test', 'bench', 'deploy', '.git'].includes(name))).toEqual([])
    const { devDependencies } = JSON.parse(read('package.json')) as {
      devDependencies: Record<string, string>
    }
    const modules = join(place, 'runtime/opt/countersign/node_modules')
    expect(Object.keys(devDependencies).filter((name) => existsSync(join(modules, name)))).toEqual([])
  })

  it("contains exactly the lock file's production packages for this platform", () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { version: string; dev?: boolean; optional?: boolean; link?: boolean }>
    }
    const modules = join(place, 'runtime/opt/countersign')
    for (const [path, { version, dev = false, optional = false, link = false }] of Object.entries(packages)) {
      if (path === '') continue
      const manifest = join(modules, path, 'package.json')
      // a workspace is compiled in: neither its folder nor a link to it is in the image
      const isWorkspace = link || path.startsWith('packages/')
      if (dev || isWorkspace)
        expect(lstatSync(join(modules, path), { throwIfNoEntry: false }), path).toBe(undefined)
      else if (existsSync(manifest)) {
        expect((JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version, path).toBe(
          version,
        )
      } else expect(optional, path).toBe(true)
    }
  })

  it('serves as a user that may write only to the data directory, is healthy, and ends at SIGTERM', async () => {
    const [port, metricsPort] = [await freePort(), await freePort()]
    const env = {
      ...runtime.env,
      COUNTERSIGN_STORE: `file:${data}`,
      COUNTERSIGN_POLICIES: join(place, 'runtime/opt/countersign/policies'),
      COUNTERSIGN_METRICS_PORT: String(metricsPort),
      COUNTERSIGN_ADMIN_KEY: 'an-admin-key-for-tests-on-the-loopback-only',
    }
    const [command = '', ...args] = healthCommand()
    expect(command).toBe('node')
    const flags = ['--port', String(port)]
    const child = start([...runtime.json('CMD'), ...flags], env)
    // process 1 of the container, and the program where its tree is here
    const there = args.map((arg) => (arg === '1' ? String(child.pid) : arg.startsWith('/') ? program : arg))
    const healthy = (): boolean => spawnSync(process.execPath, there, { env, ...asUser }).status === 0
    expect(healthy()).toBe(false)
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok)
    expect(healthy()).toBe(true)
    expect((await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).status).toBe(200)
    expect(readdirSync(data)).toContain('store.mdb')
    const signal = runtime.instructions.find(({ keyword }) => keyword === 'STOPSIGNAL')?.args[0]
    child.kill(signal as NodeJS.Signals)
    const [code] = (await once(child, 'close')) as [number | null]
    expect({ code, said }).toEqual({ code: 0, said: '' })
    expect(healthy()).toBe(false)
  })

  it('rejects everything until policies are mounted, because the image loads none', async () => {
    const port = await freePort()
    const child = start(runtime.json('CMD'), {
      ...runtime.env,
      COUNTERSIGN_STORE: `file:${data}`,
      COUNTERSIGN_POLICIES: join(place, 'runtime/etc/countersign/policies'),
      COUNTERSIGN_PORT: String(port),
      COUNTERSIGN_METRICS_PORT: '0',
      COUNTERSIGN_ADMIN_KEY: 'an-admin-key-for-tests-on-the-loopback-only',
    })
    await until(async () => (await fetch(`http://127.0.0.1:${port}/livez`)).ok)
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`)
    expect([ready.status, ((await ready.json()) as { policies: string }).policies]).toEqual([
      503,
      'no valid bundle was loaded yet',
    ])
    child.kill('SIGTERM')
    await once(child, 'close')
  })
})
