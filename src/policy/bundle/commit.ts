import { constants } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/
/** The size limit for a git file, such as the `packed-refs` of a large repository. */
const MAX_GIT_FILE_BYTES = 16 * 1024 * 1024

/**
 * Returns the commit of the work tree that contains the bundle, found as git finds it: in the nearest folder above with
 * a `.git`. In a linked work tree or a submodule, `.git` is a file that names the git directory. The commit is only a
 * label, so a repository in another form has none.
 *
 * @param root without links
 */
export async function readCommit(root: string): Promise<string | undefined> {
  for (let folder = root; ; folder = dirname(folder)) {
    const git = await gitDirectory(folder)
    const head = git === undefined ? undefined : await text(join(git, 'HEAD'))
    if (git !== undefined && head !== undefined) return resolveHead(git, head)
    if (dirname(folder) === folder) return undefined
  }
}

async function gitDirectory(folder: string): Promise<string | undefined> {
  const git = join(folder, '.git')
  const found = await stat(git).catch(() => undefined)
  if (found === undefined || found.isDirectory()) return found && git
  const named = /^gitdir: (.+)$/.exec((await text(git)) ?? '')?.[1]
  return named === undefined ? undefined : resolve(folder, named)
}

/** The branch of a linked work tree is in the directory that all work trees share. */
async function resolveHead(git: string, head: string): Promise<string | undefined> {
  if (COMMIT.test(head)) return head
  const ref = /^ref: (refs\/[^\0\s]+)$/.exec(head)?.[1]
  if (ref === undefined || ref.split('/').includes('..')) return undefined
  const common = await text(join(git, 'commondir'))
  const own = await resolveRef(git, ref)
  return own ?? (common === undefined ? undefined : resolveRef(resolve(git, common), ref))
}

async function resolveRef(git: string, ref: string): Promise<string | undefined> {
  const loose = await text(join(git, ref))
  if (loose !== undefined) return COMMIT.test(loose) ? loose : undefined
  const packed = (await text(join(git, 'packed-refs')))?.split('\n') ?? []
  const commit = packed.find((line) => line.endsWith(` ${ref}`))?.split(' ')[0]
  return commit !== undefined && COMMIT.test(commit) ? commit : undefined
}

function text(path: string): Promise<string | undefined> {
  return readBounded(path).then(
    (content) => content?.trim(),
    () => undefined,
  )
}

/** Reads a regular file of bounded size, so that a load never waits for a FIFO or reads a device. */
async function readBounded(path: string): Promise<string | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await handle.stat()
    return found.isFile() && found.size <= MAX_GIT_FILE_BYTES ? await handle.readFile('utf8') : undefined
  } finally {
    await handle.close()
  }
}
