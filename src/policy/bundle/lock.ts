import type { Diagnostic } from '../report/diagnostics.ts'
import { fileDiagnostic } from '../yaml/source.ts'

/** The optional manifest of a bundle, in the format of `sha256sum -c`. */
export const LOCK_FILE = 'countersign.lock'

/** One file and the SHA-256 (hex) of its bytes. */
export interface Digest {
  readonly path: string
  readonly sha256: string
}

const HEAD =
  '# SHA-256 of every policy file, checked at every load. `countersign lock` writes it; `sha256sum -c` reads it.'
const LINE = /^([0-9a-f]{64}) {2}([^\0\r]+)$/

/** Prints the manifest of these files, in path order. */
export function printLock(files: readonly Digest[]): string {
  const lines = files
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ path, sha256 }) => `${sha256}  ${path}`)
  return `${[HEAD, ...lines].join('\n')}\n`
}

/**
 * Returns the mismatches between a manifest and the files: missing, extra and changed files. Empty when the bundle
 * equals the locked bundle. A truncated manifest names too few files, so it is also a mismatch.
 */
export function verifyLock(text: string, files: readonly Digest[]): readonly Diagnostic[] {
  const locked = new Map<string, string>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line === '' || line.startsWith('#')) continue
    const match = LINE.exec(line)
    if (!match)
      return [
        {
          ...fileDiagnostic('bad-lock', LOCK_FILE, 'this line is no digest and path', REWRITE),
          line: index + 1,
        },
      ]
    const [, sha256 = '', path = ''] = match
    if (locked.has(path))
      return [
        { ...fileDiagnostic('bad-lock', LOCK_FILE, `\`${path}\` is given twice`, REWRITE), line: index + 1 },
      ]
    locked.set(path, sha256)
  }
  const found = new Set(files.map(({ path }) => path))
  const missing = [...locked.keys()].filter((path) => !found.has(path))
  return [
    ...missing.map((path) => mismatch(path, 'the file is in countersign.lock and not there')),
    ...files.flatMap(({ path, sha256 }) => {
      const wanted = locked.get(path)
      if (wanted === undefined) return mismatch(path, 'the file is not in countersign.lock')
      return wanted === sha256 ? [] : mismatch(path, 'the file does not match countersign.lock')
    }),
  ]
}

const REWRITE = 'write it with `countersign lock`'

function mismatch(path: string, message: string): Diagnostic {
  return fileDiagnostic('lock-mismatch', path, message, 'after an intended change, run `countersign lock`')
}
