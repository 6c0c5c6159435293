import { constants, type BigIntStats, type Dirent } from 'node:fs'
import { lstat, open, readdir, readlink, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { normalForm } from '../../domain/normal-form.ts'
import { MAX_BUNDLE_BYTES, MAX_FILES, MAX_FOLDER_DEPTH, MAX_LOCK_BYTES } from '../text/bounds.ts'
import type { Diagnostic, DiagnosticCode } from '../report/diagnostics.ts'
import { fileBounds } from '../text/file-bounds.ts'
import { LOCK_FILE } from './lock.ts'
import { fileDiagnostic } from '../yaml/source.ts'

/** A file of the bundle on disk. */
export interface ListedFile {
  /** The path relative to the bundle, with forward slashes. */
  readonly path: string
  readonly real: string
  readonly bytes: number
  /** Size, times in ns and inode, so the stamp changes whenever the file may have changed. */
  readonly stamp: string
  /** The time of the file's last change, in ms since 1970 by the file system's clock. */
  readonly changedMs: number
}

export interface Listing {
  readonly root: string
  readonly files: readonly ListedFile[]
  /** The manifest, if the bundle has one. */
  readonly lock?: ListedFile
  readonly problems: readonly Diagnostic[]
}

const TOP_FILES = ['routing.yaml', 'directory.yaml']
const FOLDERS = ['tools', 'rules', 'lists']
/**
 * The top-level files with a wrong extension. Other top-level JSON files (package.json) do not belong to the bundle.
 */
const MISNAMED = /^(routing|directory)\.(?:ya?ml|json)$/i
/** Names similar to those of the bundle's folders. */
const MISNAMED_FOLDER = /^(tool|rule|list)s?$/i
const FILE_NAME = /^[A-Za-z0-9_][A-Za-z0-9._ -]{0,199}$/
const POLICY_FILE = /\.(?:ya?ml|json)$/
const LIST_FILE = /^lists\/[^/]+\.txt$/
/** Includes YAML, because authors expect YAML files to be loaded. */
const LIKE_LIST_FILE = /\.(?:txt|ya?ml|json)$/i
const LIKE_POLICY_FILE = /\.(?:ya?ml|json)$/i

/**
 * Lists the files of a bundle: routing.yaml, directory.yaml, lists/, and tools/ and rules/ with their subfolders.
 * Resolves the root once (a git-sync link, a ConfigMap's `..data`), and opens no file outside the root.
 */
export async function listBundle(dir: string): Promise<Listing> {
  const root = await resolveRoot(dir)
  const listing: MutableListing = { root, files: [], problems: [], entries: 0 }
  for (const entry of await readdir(root, { withFileTypes: true })) await listTop(listing, entry)
  listing.files.sort((a, b) => (a.path < b.path ? -1 : 1))
  checkTotals(listing)
  return listing
}

/** Returns one line per file. Two listings have equal fingerprints only when nothing changed between them. */
export function fingerprint({ root, files, lock, problems }: Listing): string {
  const lines = [...files, ...(lock ? [lock] : [])].map((file) => `${file.path}\0${file.real}\0${file.stamp}`)
  return [root, ...lines, ...problems.map((problem) => `${problem.file}\0${problem.code}`)].join('\n')
}

interface MutableListing {
  readonly root: string
  readonly files: ListedFile[]
  lock?: ListedFile
  readonly problems: Diagnostic[]
  entries: number
}

async function resolveRoot(dir: string): Promise<string> {
  const root = await realpath(dir)
  // Kubernetes swaps this link. Resolving the link once ensures that all files are from the same version.
  const data = await realpath(join(root, '..data')).catch(() => root)
  return data.startsWith(root + sep) ? data : root
}

async function listTop(listing: MutableListing, entry: Dirent): Promise<void> {
  const { name } = entry
  if (name.startsWith('.')) return
  if (name === LOCK_FILE) return listLock(listing, entry)
  if (TOP_FILES.includes(name) || FOLDERS.includes(name)) {
    return listEntry(listing, { path: name, real: join(listing.root, name), entry, depth: 0 })
  }
  const inner = entry.isFile() ? undefined : await readdir(join(listing.root, name)).catch(() => undefined)
  const hint = hintForName(name, inner)
  if (hint === undefined && !(inner ?? [name]).some((file) => /\.ya?ml$/i.test(file))) return
  problem(listing, 'unexpected-file', {
    path: name,
    message: 'a bundle has routing.yaml, directory.yaml, tools/, rules/ and lists/ only',
    hint,
  })
}

/** Suggests the name that a file, or a folder with content, should have. */
function hintForName(name: string, inner: readonly string[] | undefined): string | undefined {
  const file = MISNAMED.exec(name)?.[1]
  if (file !== undefined) return `name it \`${file.toLowerCase()}.yaml\`, which may hold JSON`
  const folder = inner && inner.length > 0 ? MISNAMED_FOLDER.exec(name)?.[1] : undefined
  return folder && `name it \`${folder.toLowerCase()}s\``
}

interface Entry {
  readonly path: string
  readonly real: string
  readonly entry: Dirent
  /** Levels below the top of the bundle. */
  readonly depth: number
}

/**
 * Lists a file or a folder. Ignores README, backups and editor files, but reports files that look like policy files and
 * would be ignored. Reports a broken link under any name, because it may have been a folder of rules. Reports a folder
 * named like a file, and a file named like a folder.
 */
async function listEntry(
  listing: MutableListing,
  { path, real: written, entry, depth }: Entry,
): Promise<void> {
  if (++listing.entries > MAX_FILES * 2) return
  const isInLists = path.startsWith('lists/')
  const looksLikePolicy = (isInLists ? LIKE_LIST_FILE : LIKE_POLICY_FILE).test(visibleName(entry.name))
  const kind = await kindOf(written, entry)
  if (kind === 'other' && !looksLikePolicy && depth > 0) return
  const real = entry.isSymbolicLink() ? await inside(listing, path) : written
  if (real === undefined) return
  const isFolder = kind === 'folder'
  if (isFolder !== looksLikePolicy)
    return isFolder
      ? listFolder(listing, { path, real, depth })
      : listNamed(listing, { path, real, name: entry.name })
  const [found, meant] = isFolder ? ['folder', 'file'] : ['file', 'folder']
  problem(listing, 'file-unreadable', { path, message: `this is a ${found}, where a ${meant} belongs` })
}

async function kindOf(path: string, entry: Dirent): Promise<'folder' | 'other' | 'nothing'> {
  const target = entry.isSymbolicLink() ? await stat(path).catch(() => undefined) : entry
  if (target === undefined) return 'nothing'
  return target.isDirectory() ? 'folder' : 'other'
}

async function listNamed(
  listing: MutableListing,
  { path, real, name }: { readonly path: string; readonly real: string; readonly name: string },
): Promise<void> {
  const isList = path.startsWith('lists/')
  const fits = isList ? LIST_FILE.test(path) : POLICY_FILE.test(name)
  if (fits && FILE_NAME.test(name)) return listFile(listing, path, real)
  problem(listing, 'unexpected-file', {
    path,
    message: isList
      ? 'a list is a file in lists/ itself, with a plain name that ends in .txt in lower case'
      : 'a policy file has a plain name that ends in .yaml, .yml or .json in lower case',
  })
}

/** Returns a name as people read it: without trailing blanks, and with plain dots in place of look-alike dots. */
function visibleName(name: string): string {
  return (normalForm(name, 'NFKC') ?? name).replace(/[\s\p{C}]+$/u, '')
}

async function listFolder(listing: MutableListing, folder: Omit<Entry, 'entry'>): Promise<void> {
  const { path, real, depth } = folder
  if (depth > MAX_FOLDER_DEPTH) {
    return problem(listing, 'unexpected-file', {
      path,
      message: `folders are nested deeper than ${MAX_FOLDER_DEPTH}`,
    })
  }
  const entries = (await readdir(real, { withFileTypes: true })).filter(({ name }) => !name.startsWith('.'))
  for (let from = 0; from < entries.length; from += AT_ONCE) {
    const some = entries.slice(from, from + AT_ONCE)
    await Promise.all(
      some.map((entry) =>
        listEntry(listing, {
          path: `${path}/${entry.name}`,
          real: join(real, entry.name),
          entry,
          depth: depth + 1,
        }),
      ),
    )
  }
}

/** The number of entries to list in parallel. */
const AT_ONCE = 32

async function listFile(listing: MutableListing, path: string, real: string): Promise<void> {
  const file = await statFile(listing, { path, real, maxBytes: fileBounds(path).bytes })
  if (file) listing.files.push(file)
}

/** Lists the manifest. An unreadable manifest is an error, because it guards the bundle. */
async function listLock(listing: MutableListing, entry: Dirent): Promise<void> {
  const real = entry.isSymbolicLink() ? await inside(listing, LOCK_FILE) : join(listing.root, LOCK_FILE)
  if (real === undefined) return
  const file = await statFile(listing, { path: LOCK_FILE, real, maxBytes: MAX_LOCK_BYTES })
  if (file) listing.lock = file
}

/** Returns a regular file within the size limit. Reports any other entry, and returns undefined. */
async function statFile(
  listing: MutableListing,
  { path, real, maxBytes }: { readonly path: string; readonly real: string; readonly maxBytes: number },
): Promise<ListedFile | undefined> {
  const found = await lstat(real, { bigint: true }).catch(() => undefined)
  const bytes = Number(found?.size)
  if (!found?.isFile())
    problem(listing, 'file-unreadable', { path, message: 'not a regular file that can be read' })
  else if (bytes > maxBytes)
    problem(listing, 'file-too-large', {
      path,
      message: `the file has ${bytes} bytes, more than ${maxBytes}`,
    })
  else return { path, real, bytes, stamp: stampOf(found), changedMs: Number(found.ctimeMs) }
  return undefined
}

/** Returns the real path of an entry. Reports a broken link or a path outside the bundle, and returns undefined. */
async function inside(listing: MutableListing, path: string): Promise<string | undefined> {
  const written = join(listing.root, path)
  try {
    const real = await realpath(written)
    if (real.startsWith(listing.root + sep)) return real
    problem(listing, 'file-unreadable', { path, message: 'the link leads out of the bundle' })
  } catch {
    const link = await readlink(written).catch(() => undefined)
    problem(listing, 'file-unreadable', {
      path,
      message: link === undefined ? 'the file cannot be read' : 'the link leads nowhere',
    })
  }
  return undefined
}

function stampOf(found: BigIntStats): string {
  return [found.size, found.mtimeNs, found.ctimeNs, found.ino, found.dev].join(' ')
}

function checkTotals(listing: MutableListing): void {
  const bytes = listing.files.reduce((sum, file) => sum + file.bytes, 0)
  if (listing.files.length > MAX_FILES || listing.entries > MAX_FILES * 2) {
    problem(listing, 'too-many-files', { path: '.', message: `the bundle has more than ${MAX_FILES} files` })
  }
  if (bytes > MAX_BUNDLE_BYTES) {
    problem(listing, 'bundle-too-large', {
      path: '.',
      message: `the bundle has ${bytes} bytes, more than ${MAX_BUNDLE_BYTES}`,
    })
  }
}

function problem(
  listing: MutableListing,
  code: DiagnosticCode,
  {
    path,
    message,
    hint,
  }: { readonly path: string; readonly message: string; readonly hint?: string | undefined },
): void {
  listing.problems.push(fileDiagnostic(code, path, message, hint))
}

/**
 * Returns the content of a listed file; undefined when it is no longer the listed regular file. Never blocks on a FIFO
 * and never follows a link that replaced the file.
 */
export async function readListed(file: ListedFile): Promise<Buffer | undefined> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
  const handle = await open(file.real, flags)
  try {
    const before = await handle.stat({ bigint: true })
    if (!before.isFile() || stampOf(before) !== file.stamp) return undefined
    const buffer = Buffer.alloc(file.bytes + 1)
    let length = 0
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length)
      length += bytesRead
      if (bytesRead === 0 || length === buffer.length) break
    }
    return length === file.bytes ? buffer.subarray(0, length) : undefined
  } finally {
    await handle.close()
  }
}
