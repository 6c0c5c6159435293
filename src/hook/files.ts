import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { JsonObject } from '../contract/json.ts'
import { shellWords } from '../domain/shell-words.ts'

/** A file that a word of a command names. */
export type NamedFile = JsonObject & {
  /** As the command writes it. */
  readonly path: string
  readonly real: string
  /** Lowercase hex, or `not read`. */
  readonly sha256: string
  readonly size: number
}

export const NOT_READ = 'not read'

/** Files that are listed, and files that are read. */
const MOST_LISTED = 100
const MOST_READ = 20
const MOST_BYTES = 16 * 1024 * 1024
const MOST_WORDS = 1_000
const CHUNK_BYTES = 256 * 1024
/** Time for all files before the gateway is asked, ms. */
export const READING_MS = 200

/**
 * The regular files that the words of a command name in a folder. Beyond the bounds, a file is listed, but its bytes
 * are not read.
 *
 * @param withinMs time in which files are read
 * @throws when there are more words or files than can be listed
 */
export async function filesOf(command: string, cwd: string, withinMs: number): Promise<NamedFile[]> {
  const until = performance.now() + withinMs
  const words = shellWords(command, MOST_WORDS)
  if (words.length >= MOST_WORDS) throw new RangeError(`the command has ${MOST_WORDS} words or more`)
  const found: NamedFile[] = []
  const known = new Set<string>()
  let room = MOST_BYTES
  for (const path of new Set(words.flatMap(namesIn))) {
    const file = await regularFile(path, cwd)
    if (file === undefined || known.has(path)) continue
    known.add(path)
    if (found.length === MOST_LISTED) throw new RangeError(`the command names more than ${MOST_LISTED} files`)
    const bounds = { bytes: found.length < MOST_READ ? room : 0, until }
    const read =
      file.size > bounds.bytes || bounds.bytes === 0 ? undefined : await digestOf(file.real, bounds)
    room -= read?.size ?? 0
    found.push({ path, ...file, sha256: NOT_READ, ...read })
  }
  return found
}

/** The first file whose name, place, size or bytes differ. Files without a digest are compared by place and size. */
export function changedFile(before: readonly NamedFile[], now: readonly NamedFile[]): string | undefined {
  const names = new Set([...before, ...now].map(({ path }) => path))
  return [...names].find((path) => {
    const [old, current] = [before, now].map((files) => files.find((one) => one.path === path))
    return old === undefined || current === undefined || !isSame(old, current)
  })
}

function isSame(old: NamedFile, current: NamedFile): boolean {
  if (old.real !== current.real || old.size !== current.size) return false
  return old.sha256 === NOT_READ || old.sha256 === current.sha256
}

/** The possible names in a word: the word, the text behind `=` or a leading `@`, and the text behind `-f`. */
function namesIn(word: string): string[] {
  const behind = [...word.matchAll(/=/g)].map(({ index }) => word.slice(index + 1))
  const short = /^-[A-Za-z](.+)$/s.exec(word)?.[1]
  const names = [word, ...behind, ...(short === undefined ? [] : [short])]
  return names
    .flatMap((name) => (name.startsWith('@') ? [name, name.slice(1)] : [name]))
    .filter((name) => name !== '' && !name.includes('\0'))
}

const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'])

/** The place and size of a regular file; undefined for everything else. */
async function regularFile(path: string, cwd: string): Promise<{ real: string; size: number } | undefined> {
  const place = resolve(cwd, path)
  try {
    const real = await realpath(place)
    const found = await stat(real)
    return found.isFile() ? { real, size: found.size } : undefined
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    // a place that this account may not look at can be a file of the command
    return ABSENT.has(code) ? undefined : { real: place, size: 0 }
  }
}

interface Bounds {
  readonly bytes: number
  readonly until: number
}

/** The bytes of a regular file, read in pieces; undefined for a file that cannot be read within the bounds. */
async function digestOf(
  real: string,
  { bytes, until }: Bounds,
): Promise<Pick<NamedFile, 'sha256' | 'size'> | undefined> {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants
  const file = await open(real, O_RDONLY | O_NONBLOCK | O_NOFOLLOW).catch(() => undefined)
  try {
    // the file may have been replaced since it was looked at
    if (file === undefined || !(await file.stat()).isFile()) return undefined
    const hash = createHash('sha256')
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
    for (let size = 0; performance.now() < until;) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, size)
      if (bytesRead === 0) return { sha256: hash.digest('hex'), size }
      size += bytesRead
      if (size > bytes) return undefined
      hash.update(buffer.subarray(0, bytesRead))
    }
    return undefined
  } catch {
    return undefined
  } finally {
    await file?.close().catch(() => undefined)
  }
}
