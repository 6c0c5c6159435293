import { type Checked, joined } from '../language/tree.ts'
import type { Doc, DocEntry, DocMap } from '../yaml/parse.ts'
import { readList, type Reader } from '../yaml/shape.ts'

/** The lines of a match, besides `any`, `all` and `not`. */
interface Lines<Leaf extends { readonly kind: 'leaf' }> {
  /** The message and the hint about a match without lines. */
  readonly empty: readonly [message: string, hint?: string]
  /** Checks a match inside `any`, `all` or `not`. */
  readonly inside: (doc: Doc) => Checked<Leaf>
  readonly line: (entry: DocEntry) => Checked<Leaf>
}

/** Checks the lines of a match, which must all be true. */
export function checkLines<Leaf extends { readonly kind: 'leaf' }>(
  reader: Reader,
  map: DocMap,
  { empty, inside, line }: Lines<Leaf>,
): Checked<Leaf> {
  if (map.entries.length === 0) return reader.report('empty-match', map, ...empty)
  const lines = map.entries.map((entry): Checked<Leaf> => {
    const { key, value } = entry
    if (key === 'not') {
      const item = inside(value)
      return item && { kind: 'not', item }
    }
    if (key !== 'any' && key !== 'all') return line(entry)
    const items = readList(reader, value, `\`${key}\``)
    if (items?.length === 0) return reader.report('empty-match', value, `\`${key}\` needs at least one match`)
    return items && joined(key, items.map(inside))
  })
  return joined('all', lines)
}
