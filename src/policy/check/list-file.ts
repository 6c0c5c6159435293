import { MAX_LIST_ENTRIES } from '../text/bounds.ts'
import type { Scalar } from '../language/compiled-test.ts'
import { toNfc } from '../../domain/normal-form.ts'
import { findHidden, nameOf } from '../text/text.ts'
import { WORD, type Reader } from '../yaml/shape.ts'

const LIST_FILE = /^lists\/(.+)\.txt$/

/** Returns true for a list in its own file, which is not YAML. */
export function isListFile(path: string): boolean {
  return LIST_FILE.test(path)
}

/** Returns the name of a list, such as `our_domains` for `lists/our_domains.txt`. */
export const listNameOf = (path: string): string => LIST_FILE.exec(path)?.[1] ?? ''

export interface ListFile {
  readonly path: string
  readonly reader: Reader
}

/** Joins the lists of routing.yaml and of files, by name. Reports a name that occurs in both. */
export function withListFiles(
  inRouting: ReadonlyMap<string, readonly Scalar[]>,
  files: readonly ListFile[],
): ReadonlyMap<string, readonly Scalar[]> {
  const lists = new Map(inRouting)
  for (const { path, reader } of files) {
    const name = listNameOf(path)
    const entries = readEntries(reader)
    if (!WORD.pattern.test(name))
      reader.report('bad-value', FIRST, `\`${name}\` is no name of a list`, WORD.hint)
    else if (lists.has(name))
      reader.report(
        'bad-value',
        FIRST,
        `the list \`${name}\` is in routing.yaml as well`,
        'keep one of the two',
      )
    else lists.set(name, entries)
  }
  return lists
}

const FIRST = { mark: { start: 0, end: 1 } }

/** Reads one entry per line, verbatim, in one pass. Empty lines and lines that begin with `#` are skipped. */
function readEntries(reader: Reader): readonly string[] {
  const { text } = reader.source
  const entries: string[] = []
  for (let start = 0; start < text.length;) {
    const found = text.indexOf('\n', start)
    const end = found < 0 ? text.length : found
    const entry = text.slice(start, text[end - 1] === '\r' ? end - 1 : end)
    if (entry.trim() !== '' && !entry.startsWith('#') && isSound(reader, entry, start)) entries.push(entry)
    start = end + 1
  }
  if (entries.length === 0) reader.report('empty-file', FIRST, 'the list has no entry')
  if (entries.length > MAX_LIST_ENTRIES)
    reader.report('bad-value', FIRST, `the list has ${entries.length} entries, more than ${MAX_LIST_ENTRIES}`)
  return entries
}

function isSound(reader: Reader, entry: string, start: number): boolean {
  const hidden = findHidden(entry)
  const at = (from: number, length: number) => ({ mark: { start: start + from, end: start + from + length } })
  if (hidden >= 0) {
    reader.report('hidden-character', at(hidden, 1), `hidden character ${nameOf(entry, hidden)}`)
  } else if (entry !== entry.trim()) {
    reader.report('bad-value', at(0, entry.length), 'the entry begins or ends with a space', 'remove it')
  } else if (toNfc(entry) !== entry) {
    reader.report('not-nfc', at(0, entry.length), 'the entry is not in Unicode normal form NFC')
  } else return true
  return false
}
