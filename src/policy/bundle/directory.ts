import { createHash } from 'node:crypto'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BundleText } from './check.ts'
import type { Diagnostic } from '../report/diagnostics.ts'
import { readDirectoryAlone } from './directory-alone.ts'
import { readCommit } from './commit.ts'
import { fingerprint, listBundle, readListed, type ListedFile, type Listing } from './files.ts'
import { decodeText } from './text.ts'
import { prepareBundle, type LoadResult, type PreparedBundle } from './load.ts'
import { verifyLock } from './lock.ts'
import type { PayloadChecks } from '../schema/payload.ts'
import { fileDiagnostic } from '../yaml/source.ts'

/** The maximum number of attempts to read the bundle without a change during the read. */
const READ_ATTEMPTS = 8
const FIRST_PAUSE_MS = 5
/**
 * The minimum age of a file when it is read, more than one tick of the file system's clock. Two changes within one tick
 * have the same timestamp, so the second would be invisible.
 */
const REST_MS = 20

/** Files that take the place of those of the directory. */
export type Texts = readonly BundleText[] | undefined

/** Loads a bundle in this thread, for the CLI and for tests. The gateway uses loadBundleInChild. */
export async function loadBundle(
  dir: string,
  { texts, ...options }: { readonly checks?: PayloadChecks; readonly texts?: Texts } = {},
): Promise<LoadResult> {
  const prepared = await (texts
    ? prepareBundle(texts, { ...options, now: Date.now() })
    : prepareDirectory(dir, options))
  if (prepared.ok) return { ok: true, snapshot: prepared.snapshot }
  return { ...prepared, newer: await readDirectoryAlone(dir) }
}

/**
 * Loads a bundle like loadBundle, and also returns the checked data and the results of the inline tests. `now` is in ms
 * since 1970.
 */
export async function prepareDirectory(
  dir: string,
  { now = Date.now(), ...options }: { readonly checks?: PayloadChecks; readonly now?: number } = {},
): Promise<PreparedBundle> {
  const read = await readBundle(dir)
  if (!read.ok) return { ...read, revision: '' }
  return prepareBundle(read.texts, { ...options, now, commit: read.commit })
}

export type ReadResult =
  | { readonly ok: true; readonly texts: readonly BundleText[]; readonly commit: string | undefined }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

export interface ReadOptions {
  /** True to skip the manifest check, for callers that write the files and their manifest. */
  readonly ignoreLock?: boolean
}

/**
 * Reads the files of a bundle as they are at one moment, and compares them with the manifest. Checks nothing else
 * except that the files are UTF-8.
 */
export async function readBundle(dir: string, options: ReadOptions = {}): Promise<ReadResult> {
  try {
    for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      if (attempt > 0) await sleep(FIRST_PAUSE_MS * 2 ** attempt)
      const result = await readOnce(dir, options)
      if (result) return result
    }
  } catch (error) {
    return failed('bundle-unreadable', `the bundle cannot be read: ${describeBundle(error, dir)}`)
  }
  return failed('bundle-changing', 'the files keep changing while they are read')
}

/** Reads the bundle once; undefined when anything changed during the read. */
async function readOnce(dir: string, { ignoreLock = false }: ReadOptions): Promise<ReadResult | undefined> {
  const before = await listAtRest(dir)
  if (before.problems.length > 0) return { ok: false, diagnostics: before.problems }
  const contents = await readAll(before.files)
  const lock = before.lock && !ignoreLock ? await readListed(before.lock).catch(asProblem) : undefined
  const commit = await readCommit(before.root)
  const after = await listBundle(dir)
  if (fingerprint(before) !== fingerprint(after)) return undefined
  const wrong = before.lock && !ignoreLock ? checkLock(before.lock, lock, contents) : []
  return wrong && (wrong.length > 0 ? { ok: false, diagnostics: wrong } : decode(contents, commit))
}

/** Returns the mismatches with the manifest; undefined when the manifest changed during the read. */
function checkLock(
  { path }: ListedFile,
  lock: Content['bytes'],
  contents: readonly Content[],
): readonly Diagnostic[] | undefined {
  if (lock === undefined) return undefined
  if (lock instanceof Error)
    return [fileDiagnostic('file-unreadable', path, `the file cannot be read: ${describe(lock)}`)]
  const digests = contents.flatMap(({ file, bytes }) =>
    // An unreadable file has its own diagnostic.
    bytes instanceof Buffer
      ? [{ path: file.path, sha256: createHash('sha256').update(bytes).digest('hex') }]
      : [],
  )
  return digests.length < contents.length ? [] : verifyLock(lock.toString('utf8'), digests)
}

/** The number of files to read in parallel. A sequential load of thousands of files would mostly wait for the disk. */
const READ_AT_ONCE = 32

async function readAll(files: readonly ListedFile[]): Promise<readonly Content[]> {
  const contents: Content[] = []
  for (let first = 0; first < files.length; first += READ_AT_ONCE) {
    const some = files.slice(first, first + READ_AT_ONCE)
    contents.push(
      ...(await Promise.all(
        some.map(async (file) => ({ file, bytes: await readListed(file).catch(asProblem) })),
      )),
    )
  }
  return contents
}

interface Content {
  readonly file: ListedFile
  readonly bytes: Buffer | Error | undefined
}

async function listAtRest(dir: string): Promise<Listing> {
  const listing = await listBundle(dir)
  const newest = Math.max(listing.lock?.changedMs ?? 0, ...listing.files.map((file) => file.changedMs))
  const age = Date.now() - newest
  if (age < 0 || age >= REST_MS) return listing
  await sleep(REST_MS)
  return listBundle(dir)
}

function decode(contents: readonly Content[], commit: string | undefined): ReadResult | undefined {
  const texts: BundleText[] = []
  const diagnostics: Diagnostic[] = []
  for (const { file, bytes } of contents) {
    if (bytes === undefined) return undefined
    if (bytes instanceof Error)
      diagnostics.push(
        fileDiagnostic('file-unreadable', file.path, `the file cannot be read: ${describe(bytes)}`),
      )
    else {
      const decoded = decodeText(file.path, bytes)
      if (decoded.ok) texts.push({ path: file.path, text: decoded.text })
      else diagnostics.push(decoded.diagnostic)
    }
  }
  return diagnostics.length > 0 ? { ok: false, diagnostics } : { ok: true, texts, commit }
}

function failed(code: 'bundle-unreadable' | 'bundle-changing', message: string): ReadResult {
  return { ok: false, diagnostics: [fileDiagnostic(code, '.', message)] }
}

function asProblem(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

/** Returns a message that names the directory, because the finding's path is relative to the directory. */
function describeBundle(error: unknown, dir: string): string {
  const code = describe(error)
  if (code === 'ENOENT') return `there is no directory \`${dir}\``
  if (code === 'ENOTDIR') return `\`${dir}\` is a file; name the directory that holds routing.yaml`
  return `\`${placeOf(error, dir)}\`: ${code}`
}

/** Returns the unreadable path: a directory of the bundle, or the bundle. */
function placeOf(error: unknown, dir: string): string {
  const { path } = error as { readonly path?: unknown }
  const below = typeof path === 'string' ? relative(dir, path) : ''
  return below === '' || below.startsWith('..') ? dir : join(dir, below)
}

/** Returns the system's error code, because the system's message would contain a path on this machine. */
function describe(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null)?.code
  return typeof code === 'string' ? code : 'unexpected error'
}
