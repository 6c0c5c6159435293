const LONGEST_COMPARED = 64

/** Returns the candidate that the author most likely meant, or undefined. The cost is word length times candidates. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const rows = createRows()
  const limit = Math.max(1, Math.min(3, Math.floor(word.length / 3)))
  let best: string | undefined
  let bestDistance = limit + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue
    const [a, b] = [word.slice(0, LONGEST_COMPARED), candidate.slice(0, LONGEST_COMPARED)]
    const distance = editDistance(a, b, { most: bestDistance - 1, rows })
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Returns `did you mean ...?`, or undefined. */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  const near = nearest(word, candidates)
  return near === undefined ? undefined : `did you mean \`${near}\`?`
}

/** Three rows of a table of distances, which are reused in turn. */
type Rows = readonly [Uint16Array, Uint16Array, Uint16Array]

const createRows = (length: number = LONGEST_COMPARED): Rows => [
  new Uint16Array(length + 1),
  new Uint16Array(length + 1),
  new Uint16Array(length + 1),
]

interface Bound {
  readonly most: number
  readonly rows: Rows
}

const FAR = 0xffff - 2

/**
 * Counts the insertions, deletions, replacements and swaps of adjacent characters that turn `a` into `b`. Returns a
 * number above `most` when more changes are necessary. Computes only cells within `most` of the diagonal, which is fast
 * enough for thousands of names.
 */
export function editDistance(a: string, b: string, bound?: Bound): number {
  const { most, rows } = bound ?? { most: Math.max(a.length, b.length), rows: createRows(b.length) }
  let [older, previous, row] = rows
  for (let j = 0; j <= b.length; j++) previous[j] = j
  for (let i = 1; i <= a.length; i++) {
    row.fill(FAR, 0, b.length + 1)
    row[0] = i
    if (fillRow({ older, previous, row }, { a, b, i, most }) > most) return most + 1
    ;[older, previous, row] = [previous, row, older]
  }
  return at(previous, b.length)
}

/** Fills the row for the first `i` characters of `a` around the diagonal, and returns the row's smallest distance. */
function fillRow(
  { older, previous, row }: Readonly<Record<'older' | 'previous' | 'row', Uint16Array>>,
  { a, b, i, most }: { readonly a: string; readonly b: string; readonly i: number; readonly most: number },
): number {
  let least = i
  const last = Math.min(b.length, i + most)
  for (let j = Math.max(1, i - most); j <= last; j++) {
    const same = a[i - 1] === b[j - 1]
    let cost = Math.min(at(row, j - 1) + 1, at(previous, j) + 1, at(previous, j - 1) + (same ? 0 : 1))
    const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
    if (swapped) cost = Math.min(cost, at(older, j - 2) + 1)
    row[j] = Math.min(cost, FAR)
    if (cost < least) least = cost
  }
  return least
}

function at(row: Uint16Array, index: number): number {
  return row[index] ?? FAR
}
