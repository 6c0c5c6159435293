import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/
/** The size limit for a git file, such as the `packed-refs` of a large repository. */
const MAX_GIT_FILE_BYTES = 16 * 1024 * 1024

/** Returns the commit of the work tree that contains the bundle, if it is easy to find. The commit is only a label. */
export async function readCommit(root: string): Promise<string | undefined> {
  for (const folder of [root, dirname(root)]) {
    const git = join(folder, '.git')
    const head = await text(join(git, 'HEAD'))
    if (head !== undefined) return resolveHead(git, head)
  }
  return undefined
}

async function resolveHead(git: string, head: string): Promise<string | undefined> {
  if (COMMIT.test(head)) return head
  const ref = /^ref: (refs\/[\w/.-]+)$/.exec(head)?.[1]
  if (ref === undefined || ref.includes('..')) return undefined
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
