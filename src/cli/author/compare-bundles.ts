import { readdir, stat } from 'node:fs/promises'
import { isAbsolute, normalize, sep } from 'node:path'
import { type Diagnostic, printDiagnostics } from '../../policy/report/diagnostics.ts'
import { prepareDirectory } from '../../policy/bundle/directory.ts'
import { prepareRevision, type GitProblem } from '../../policy/bundle/git.ts'
import type { PreparedBundle } from '../../policy/bundle/load.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { CliFailure, EXIT, usage } from '../terminal/failure.ts'

type Sound = Extract<PreparedBundle, { ok: true }>

/**
 * The bundles OLD and NEW of `diff` and `backtest`, each a directory or a git revision. If a bundle cannot be loaded,
 * reports it with `say`, sets the exit code, and returns undefined. The change that introduces the policies has no
 * OLD: then only NEW is loaded, and nothing is left to compare.
 */
export async function loadTwo(
  before: string,
  after: string,
  say: (text: string) => void,
): Promise<readonly [Sound, Sound] | undefined> {
  if (await isNew(before, after)) {
    const sound = await load(after, before)
    if (!sound.ok) return refuse(after, sound.diagnostics, say)
    say('the base has no bundle: everything is new')
    return undefined
  }
  const soundOr = async (name: string, other: string): Promise<Sound | undefined> => {
    const bundle = await load(name, other)
    return bundle.ok ? bundle : refuse(name, bundle.diagnostics, say)
  }
  const old = await soundOr(before, after)
  const current = old && (await soundOr(after, before))
  return old && current && [old, current]
}

/**
 * The output for findings that are not part of the answer. Findings are printed for people, but never mixed with JSON.
 */
export const sayBeside = (format: string): ((text: string) => void) =>
  format === 'json' ? (text) => console.error(text) : (text) => console.log(text)

function refuse(name: string, found: readonly Diagnostic[], say: (text: string) => void): undefined {
  say(`\`${name}\` would not load:\n${printDiagnostics(found)}`)
  process.exitCode = EXIT.doesNotCheck
  return undefined
}

async function load(name: string, other: string): Promise<PreparedBundle> {
  if (await isDirectory(name)) return prepareDirectory(name)
  const { revision, dir } = await revisionOf(name, other)
  const read = await prepareRevision(revision, dir, process.cwd())
  if (!read.ok) throw describe(read, { name, revision, dir })
  return read.bundle.ok ? withCommit(read.bundle, read.commit) : read.bundle
}

function withCommit(bundle: Extract<PreparedBundle, { ok: true }>, commit: string): PreparedBundle {
  const { ir } = bundle
  return { ...bundle, ir: { ...ir, head: { ...ir.head, commit } } }
}

const PARTS = ['routing.yaml', 'directory.yaml', 'rules', 'tools']

/**
 * True when OLD is the place of NEW in another checkout or revision, and has no bundle there. A misspelt place is not:
 * a comparison must not be skipped by mistake.
 */
async function isNew(before: string, after: string): Promise<boolean> {
  const place = normalize(after.slice(after.indexOf(':') + 1))
  if (before.includes(':'))
    return normalize(before.slice(before.indexOf(':') + 1)) === place && isAbsent(before, after)
  if (!(await isDirectory(after))) return false
  const old = normalize(before)
  if (!isAbsolute(place) && !place.startsWith('..') && old.endsWith(`${sep}${place}`)) {
    const base = old.slice(0, -place.length)
    return (await isDirectory(base)) && !(await hasBundle(old))
  }
  if (await isDirectory(before)) return false
  return isAbsent(before, after)
}

async function isAbsent(before: string, after: string): Promise<boolean> {
  const { revision, dir } = await revisionOf(before, after)
  const read = await prepareRevision(revision, dir, process.cwd())
  return !read.ok && read.problem === 'no-directory'
}

async function hasBundle(directory: string): Promise<boolean> {
  const names: readonly string[] = await readdir(directory).catch(() => [])
  return PARTS.some((part) => names.includes(part))
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

/** `REVISION:PATH` in git's sense; for a bare revision, the directory in the other argument. */
async function revisionOf(
  name: string,
  other: string,
): Promise<{ readonly revision: string; readonly dir: string }> {
  const colon = name.indexOf(':')
  if (colon >= 0) return { revision: name.slice(0, colon), dir: name.slice(colon + 1) }
  const dir = (await isDirectory(other)) ? other : DEFAULT_POLICIES
  return { revision: name, dir: dir.startsWith('../') || dir.startsWith('../../') ? dir : `./${dir}` }
}

function describe(
  { problem, said }: { readonly problem: GitProblem; readonly said?: string },
  { name, revision, dir }: { readonly name: string; readonly revision: string; readonly dir: string },
): CliFailure {
  if (problem === 'no-git')
    return new CliFailure(`\`${name}\` is not a directory, and git is not installed to read it as a revision`)
  if (problem === 'no-revision') return usage(`\`${name}\` is neither a directory nor a git revision`)
  if (problem === 'no-directory') return usage(`revision \`${revision}\` has no directory \`${dir}\``)
  if (problem === 'has-links')
    return new CliFailure(`\`${name}\` holds links, which are followed only in a directory`)
  return usage(
    `\`${name}\` is not a directory, and git could not read it as a revision: ${said ?? 'it gave no reason'}`,
  )
}
