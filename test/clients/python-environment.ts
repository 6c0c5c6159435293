import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { IS_LONG, IS_SOAK } from '../runs.ts'

/**
 * Interpreters, virtual environments and the wheel, for the tests of clients/python. An environment has the newest
 * packages of the day on which it was made. It stays for later runs of every checkout, with its byte code, where npm
 * does not delete it. A small environment on top has the wheel of one checkout. The long soak makes all anew.
 */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const PACKAGE = join(ROOT, 'clients/python')
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'countersign-tests/python')
/** Byte code beside no source: the next process reads it, and the tree stays clean. */
export const BYTE_CODE = { PYTHONPYCACHEPREFIX: join(CACHE, 'byte-code'), PYTHONDONTWRITEBYTECODE: '' }

/** The package says 3.10 or newer (clients/python/pyproject.toml). */
const OLDEST_MINOR = 10
export const NEWEST_MINOR = 14
/** A soak shares the machine for hours, so its programs may take three times as long. */
const FACTOR = IS_SOAK ? 3 : 1
/** For one program, ms, on a busy machine: the first run downloads. */
const PATIENCE_MS = 400_000 * FACTOR
/** For a test that makes an environment and runs a suite in it, ms. */
export const SUITE_MS = 800_000 * FACTOR

export interface Interpreter {
  readonly path: string
  readonly minor: number
}

export interface Environment {
  readonly python: string
  readonly bin: (name: string) => string
}

export interface Ran {
  readonly code: number
  readonly out: string
}

interface RunOptions {
  readonly env?: Record<string, string>
  readonly cwd?: string
}

function environmentAt(directory: string): Environment {
  const bin = (name: string): string => join(directory, 'bin', name)
  return { python: bin('python'), bin }
}

/** The place of uv for all runs. */
const TOOLS_PLACE = join(CACHE, 'tools')
const TOOLS = environmentAt(TOOLS_PLACE)

/** Runs a program to its end; never throws for what it answers. */
export async function run(
  program: string,
  args: readonly string[],
  { env = {}, cwd = PACKAGE }: RunOptions = {},
): Promise<Ran> {
  const options = {
    cwd,
    timeout: PATIENCE_MS,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, ...BYTE_CODE, ...env },
  }
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args, options)
    return { code: 0, out: stdout + stderr }
  } catch (error) {
    const failed = error as Error & { code?: unknown; stdout?: string; stderr?: string }
    const out = `${failed.stdout ?? ''}${failed.stderr ?? ''}`
    return { code: typeof failed.code === 'number' ? failed.code : 1, out: out || failed.message }
  }
}

/** Every supported interpreter of this machine, the oldest first: on the path, and of pyenv. */
export async function interpreters(): Promise<readonly Interpreter[]> {
  const pyenv = join(process.env['PYENV_ROOT'] ?? join(homedir(), '.pyenv'), 'versions')
  const minors = [...Array(NEWEST_MINOR - OLDEST_MINOR + 1).keys()].map((n) => n + OLDEST_MINOR)
  const candidates = [
    'python3',
    ...minors.map((minor) => `python3.${minor}`),
    ...listed(pyenv).map((name) => join(pyenv, name, 'bin/python3')),
  ]
  const found = await Promise.all(candidates.map(interpreterAt))
  const byMinor = new Map(found.filter((one) => one !== undefined).map((one) => [one.minor, one]))
  return [...byMinor.values()].sort((a, b) => a.minor - b.minor)
}

function listed(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** The program itself, not the shim of a version manager that chooses another one elsewhere. */
async function interpreterAt(program: string): Promise<Interpreter | undefined> {
  const script = 'import sys, venv, ensurepip; print(sys.executable, *sys.version_info[:2])'
  const { code, out } = await run(program, ['-c', script], { cwd: ROOT })
  const [path = '', major, minor] = out.trim().split(' ')
  const supported =
    code === 0 && major === '3' && Number(minor) >= OLDEST_MINOR && Number(minor) <= NEWEST_MINOR
  return supported ? { path, minor: Number(minor) } : undefined
}

export interface Workshop {
  readonly newest: Interpreter
  readonly oldest: Interpreter
  /** One that every framework has packages for: not the newest, where there is another. */
  readonly usual: Interpreter
  /** The wheel that was built from this checkout. */
  readonly wheel: string
  /** The environment of this name, with the newest of these packages and no others. @throws Error of the installer */
  environment(name: string, interpreter: Interpreter, packages: readonly string[]): Promise<Environment>
  /** The interpreter of this minor version, from this machine or by uv. @returns why not, in a line */
  interpreter(minor: number): Promise<Interpreter | string>
  dispose(): void
}

/** Builds wheel and sdist. @returns why not, where a part of it cannot be had on this machine */
export async function openWorkshop(): Promise<Workshop | string> {
  const known = await interpreters()
  const [oldest, newest] = [known[0], known.at(-1)]
  if (oldest === undefined || newest === undefined)
    return `no Python 3.${OLDEST_MINOR} to 3.${NEWEST_MINOR} with venv and ensurepip on this machine`
  mkdirSync(CACHE, { recursive: true })
  const directory = mkdtempSync(join(CACHE, 'run-'))
  const dispose = (): void => rmSync(directory, { recursive: true, force: true })
  const failed =
    (await ensureTools(newest, directory)) ??
    (await fault(TOOLS.bin('uv'), [
      'build',
      '--quiet',
      '--python',
      newest.path,
      '--out-dir',
      join(directory, 'dist'),
    ]))
  if (failed !== undefined) {
    dispose()
    return failed
  }
  const wheel = readdirSync(join(directory, 'dist')).find((name) => name.endsWith('.whl')) ?? ''
  return {
    newest,
    oldest,
    usual: known.findLast(({ minor }) => minor < newest.minor) ?? newest,
    wheel: join(directory, 'dist', wheel),
    dispose,
    environment: (name, interpreter, packages) =>
      environmentOf(IS_LONG ? directory : CACHE, name, { interpreter, packages }),
    interpreter: async (minor) => known.find((one) => one.minor === minor) ?? byUv(minor),
  }
}

/** Installs uv. Two files of one run may do that at once: each makes its own, and the first that is whole stays. */
async function ensureTools(newest: Interpreter, directory: string): Promise<string | undefined> {
  if (existsSync(TOOLS.bin('uv'))) return undefined
  const own = join(directory, 'tools')
  const failed =
    (await fault(newest.path, ['-m', 'venv', own])) ??
    (await fault(environmentAt(own).python, ['-m', 'pip', 'install', '--quiet', '--no-compile', 'uv']))
  if (failed === undefined) move(own, TOOLS_PLACE)
  return failed
}

/** Puts a whole directory into its place. Another run that was first stays. */
function move(own: string, place: string): void {
  try {
    renameSync(own, place)
  } catch (error) {
    if (!existsSync(place)) throw error
    rmSync(own, { recursive: true, force: true })
  }
}

/** Why a program failed, in a few lines. */
async function fault(program: string, args: readonly string[]): Promise<string | undefined> {
  const { code, out } = await run(program, args)
  if (code === 0) return undefined
  return `\`${program} ${args.join(' ')}\` failed:\n${out.split('\n').slice(-8).join('\n')}`
}

/** Makes an environment with nothing but pip: in a fifth of the time where an earlier run has installed uv. */
export async function bareEnvironment(python: Interpreter, directory: string): Promise<void> {
  const args = ['venv', '--quiet', '--seed', '--python', python.path, directory]
  if ((await fault(TOOLS.bin('uv'), args)) === undefined) return
  await promisify(execFile)(python.path, ['-m', 'venv', '--clear', directory])
}

/** Fetches an interpreter by uv, in CI only: it comes from no package registry. */
async function byUv(minor: number): Promise<Interpreter | string> {
  const version = `3.${minor}`
  if (process.env['CI'] === undefined)
    return `Python ${version} is not on this machine, and only CI fetches it`
  const env = { UV_PYTHON_INSTALL_DIR: join(CACHE, 'interpreters'), UV_HTTP_RETRIES: '0' }
  const fetched = await run(TOOLS.bin('uv'), ['python', 'install', '--no-bin', version], { env })
  if (fetched.code !== 0) return `uv cannot fetch Python ${version}: ${fetched.out.trim().split('\n').at(-1)}`
  const { out } = await run(TOOLS.bin('uv'), ['python', 'find', '--managed-python', version], { env })
  return (await interpreterAt(out.trim())) ?? `uv fetched a Python ${version} that does not start`
}

interface Wanted {
  readonly interpreter: Interpreter
  readonly packages: readonly string[]
}

const isBuilt = (name: string): boolean => /\.(whl|tar\.gz)$/.test(name)

const digestOf = (parts: readonly (string | Buffer)[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part).update('\n')
  return hash.digest('hex').slice(0, 12)
}

/** Packages without what was built, in an environment for all checkouts; what was built, in one above it. */
async function environmentOf(folder: string, name: string, wanted: Wanted): Promise<Environment> {
  const { interpreter, packages } = wanted
  const [built, others] = [packages.filter(isBuilt), packages.filter((one) => !isBuilt(one))]
  const dependencies =
    /\ndependencies = .*/.exec(readFileSync(join(PACKAGE, 'pyproject.toml'), 'utf8'))?.[0] ?? ''
  const minor = `3.${interpreter.minor}`
  const base = join(folder, `${name}-${minor}-${digestOf([interpreter.path, dependencies, ...others])}`)
  await made(base, interpreter, (python) => [
    ['install', '--python', python, '--upgrade', ...packages],
    ['uninstall', '--python', python, 'countersign-sdk'],
  ])
  const place = join(
    folder,
    `built-${name}-${minor}-${digestOf([base, ...built.map((path) => readFileSync(path))])}`,
  )
  const packagesOf = (directory: string): string => join(directory, `lib/python${minor}/site-packages`)
  await made(
    place,
    interpreter,
    (python) => [['install', '--python', python, '--no-deps', ...built]],
    (own) =>
      writeFileSync(
        join(packagesOf(own), 'base.pth'),
        `import site; site.addsitedir(${JSON.stringify(packagesOf(base))})\n`,
      ),
  )
  return { python: environmentAt(place).python, bin: environmentAt(base).bin }
}

/** Makes an environment in a place of its own first, because another run may make the same one. */
async function made(
  place: string,
  interpreter: Interpreter,
  steps: (python: string) => readonly (readonly string[])[],
  end: (own: string) => void = () => undefined,
): Promise<void> {
  if (existsSync(place)) return
  const own = `${place}.${process.pid}`
  const commands = [
    ['venv', '--quiet', '--clear', '--relocatable', '--python', interpreter.path, own],
    ...steps(environmentAt(own).python).map((args) => ['pip', '--quiet', ...args]),
  ]
  for (const args of commands) {
    const failed = await fault(TOOLS.bin('uv'), args)
    if (failed === undefined) continue
    rmSync(own, { recursive: true, force: true })
    throw new Error(failed)
  }
  end(own)
  move(own, place)
}

/** The last lines of a long output, for a message. */
export const lastOf = ({ out }: Ran): string => out.split('\n').slice(-60).join('\n')

/** The place where mypy keeps its cache for a framework. */
export const mypyCache = (name: string): string => join(CACHE, `mypy-${name}`)
