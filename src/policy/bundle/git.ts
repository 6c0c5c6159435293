import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { prepareDirectory } from './directory.ts'
import type { PreparedBundle } from './load.ts'

/** The reason why a revision could not be read. */
export type GitProblem = 'no-git' | 'no-revision' | 'no-directory' | 'has-links' | 'unreadable'

export type GitBundle =
  | { readonly ok: true; readonly commit: string; readonly bundle: PreparedBundle }
  /** `said` are the last words of git. */
  | { readonly ok: false; readonly problem: GitProblem; readonly said?: string }

/** The maximum size of one git output, several times the size of the largest bundle. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/**
 * Prepares the bundle of a git revision. The policy directory `dir` is relative to `cwd` when it begins with `./`,
 * otherwise to the root of the repository. The files are copied to a temporary directory and loaded like any other
 * bundle.
 */
export async function prepareRevision(revision: string, dir: string, cwd: string): Promise<GitBundle> {
  // Git could interpret such a revision as an option.
  if (revision === '' || revision.startsWith('-')) return { ok: false, problem: 'no-revision' }
  const place = await mkdtemp(join(tmpdir(), 'countersign-revision-'))
  try {
    const commit = await nameObject(cwd, `${revision}^{commit}`)
    if (commit === undefined) return { ok: false, problem: 'no-revision' }
    const tree = await nameObject(cwd, `${commit}:${dir}`)
    if (tree === undefined) return { ok: false, problem: 'no-directory' }
    const files = await listTree(cwd, tree)
    if (files === undefined) return { ok: false, problem: 'has-links' }
    await layOut(files, { cwd, place })
    return { ok: true, commit, bundle: await prepareDirectory(place) }
  } catch (error) {
    if (isMissingProgram(error)) return { ok: false, problem: 'no-git' }
    const said = lastWordsOf(error)
    return { ok: false, problem: 'unreadable', ...(said === undefined ? {} : { said }) }
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

function isMissingProgram(error: unknown): boolean {
  return (error as { readonly code?: unknown } | null)?.code === 'ENOENT'
}

/** The reason for which git failed, and its advice. */
function lastWordsOf(error: unknown): string | undefined {
  const said = (error as { readonly said?: string } | null)?.said ?? ''
  const lines = said
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const fatal = lines.find((line) => line.startsWith('fatal: '))
  return [...new Set([fatal, lines.at(-1)])].filter((line) => line !== undefined).join('; ') || undefined
}

/** Returns the id of the object, or undefined when it does not exist. */
async function nameObject(cwd: string, name: string): Promise<string | undefined> {
  try {
    const id = await git(cwd, ['rev-parse', '--verify', '--quiet', '--end-of-options', name])
    return /^[0-9a-f]{40,64}$/.exec(id.toString().trim())?.[0]
  } catch (error) {
    // without an object, git ends with 1 and says nothing
    if (isMissingProgram(error) || lastWordsOf(error) !== undefined) throw error
    return undefined
  }
}

interface TreeFile {
  readonly id: string
  readonly path: string
}

/** Lists the files; undefined for a tree with links, whose targets are outside the tree. */
async function listTree(cwd: string, tree: string): Promise<readonly TreeFile[] | undefined> {
  const listing = await git(cwd, ['ls-tree', '-r', '-z', '--full-tree', tree, '--'])
  const entries = listing
    .toString()
    .split('\0')
    .flatMap((line) => {
      const match = /^(\d{6}) \w+ ([0-9a-f]{40,64})\t(.+)$/s.exec(line)
      return match ? [{ mode: match[1] ?? '', id: match[2] ?? '', path: match[3] ?? '' }] : []
    })
  return entries.every(({ mode }) => mode.startsWith('100')) ? entries : undefined
}

async function layOut(
  files: readonly TreeFile[],
  { cwd, place }: { readonly cwd: string; readonly place: string },
): Promise<void> {
  const answer = await git(cwd, ['cat-file', '--batch'], files.map(({ id }) => `${id}\n`).join(''))
  let at = 0
  for (const { path } of files) {
    const headEnd = answer.indexOf(10, at)
    const size = Number(answer.subarray(at, headEnd).toString().split(' ')[2])
    if (headEnd < 0 || !Number.isInteger(size)) throw new Error('git answered with something else')
    const target = join(place, path)
    if (!target.startsWith(place + sep)) throw new Error('a path leads out of the tree')
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, answer.subarray(headEnd + 1, headEnd + 1 + size))
    at = headEnd + 1 + size + 1
  }
}

/** Runs git without a shell. */
function git(cwd: string, args: readonly string[], input?: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const options = { cwd, encoding: 'buffer', maxBuffer: MAX_ANSWER_BYTES } as const
    const child = execFile('git', args, options, (error, out, said) =>
      error ? reject(Object.assign(error, { said: said.toString() })) : resolve(out),
    )
    // Git may exit before it has read all input; its exit status reports why.
    child.stdin?.on('error', () => undefined).end(input ?? '')
  })
}
