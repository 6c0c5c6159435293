import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Interpreters, virtual environments and the wheel, for the tests of clients/python. Only the caches of uv and pip stay behind. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const PACKAGE = join(ROOT, 'clients/python')

/** The package says 3.10 or newer (clients/python/pyproject.toml). */
const OLDEST_MINOR = 10
const NEWEST_MINOR = 14
/** For one program, ms, on a busy machine: the first run downloads. */
const PATIENCE_MS = 400_000
/** For a test that makes an environment and runs a suite in it, ms. */
export const SUITE_MS = 800_000

export interface Interpreter {
  readonly path: string
  readonly minor: number
}

export interface Environment {
  readonly python: string
  bin(name: string): string
}

export interface Ran {
  readonly code: number
  readonly out: string
}

interface RunOptions {
  readonly env?: Record<string, string>
  readonly cwd?: string
}

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
    env: { ...process.env, ...env },
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
  /** A new environment of the interpreter with these packages. @throws Error with what the installer said */
  environment(interpreter: Interpreter, packages: readonly string[]): Promise<Environment>
  dispose(): void
}

/** Builds wheel and sdist. @returns why not, where a part of it cannot be had on this machine */
export async function openWorkshop(): Promise<Workshop | string> {
  const known = await interpreters()
  const [oldest, newest] = [known[0], known.at(-1)]
  if (oldest === undefined || newest === undefined)
    return `no Python 3.${OLDEST_MINOR} to 3.${NEWEST_MINOR} with venv and ensurepip on this machine`
  const parent = join(ROOT, 'node_modules/.cache/countersign-python')
  mkdirSync(parent, { recursive: true })
  const directory = mkdtempSync(join(parent, 'run-'))
  const dispose = (): void => rmSync(directory, { recursive: true, force: true })
  const tools = environmentAt(join(directory, 'tools'))
  const steps: [string, string[]][] = [
    [newest.path, ['-m', 'venv', join(directory, 'tools')]],
    [tools.python, ['-m', 'pip', 'install', '--quiet', 'uv', 'build', 'hatchling']],
    [tools.python, ['-m', 'build', '--no-isolation', '--outdir', join(directory, 'dist')]],
  ]
  for (const [program, args] of steps) {
    const { code, out } = await run(program, args)
    if (code === 0) continue
    dispose()
    return `\`python ${args.join(' ')}\` failed:\n${out.split('\n').slice(-8).join('\n')}`
  }
  const wheel = readdirSync(join(directory, 'dist')).find((name) => name.endsWith('.whl')) ?? ''
  return {
    newest,
    oldest,
    usual: known.findLast(({ minor }) => minor < newest.minor) ?? newest,
    wheel: join(directory, 'dist', wheel),
    dispose,
    environment: (interpreter, packages) =>
      environmentOf(tools, mkdtempSync(join(directory, 'env-')), { interpreter, packages }),
  }
}

interface Wanted {
  readonly interpreter: Interpreter
  readonly packages: readonly string[]
}

async function environmentOf(
  tools: Environment,
  directory: string,
  { interpreter, packages }: Wanted,
): Promise<Environment> {
  const made = environmentAt(directory)
  for (const args of [
    ['venv', '--quiet', '--clear', '--python', interpreter.path, directory],
    ['pip', 'install', '--quiet', '--python', made.python, ...packages],
  ]) {
    const { code, out } = await run(tools.bin('uv'), args)
    if (code !== 0) throw new Error(`\`uv ${args.join(' ')}\` failed:\n${out}`)
  }
  return made
}

function environmentAt(directory: string): Environment {
  const bin = (name: string): string => join(directory, 'bin', name)
  return { python: bin('python'), bin }
}

/** The last lines of a long output, for a message. */
export const lastOf = ({ out }: Ran): string => out.split('\n').slice(-60).join('\n')
