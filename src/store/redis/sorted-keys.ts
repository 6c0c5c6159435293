import { compareText } from '../archive.ts'

/** The parts of a key for comparison, because the escaped key does not keep the order. */
export type PartsOf = (key: string) => readonly string[]

interface Sortable {
  readonly key: string
  readonly parts: readonly string[]
}

/**
 * Returns the keys in order, without repetitions. SCAN yields keys unordered, and may repeat a key. All keys are in
 * memory, at about 200 bytes each.
 */
export async function sortedKeys(
  pages: AsyncIterable<readonly string[]>,
  partsOf: PartsOf,
): Promise<readonly string[]> {
  const keys = new Set<string>()
  for await (const page of pages) for (const key of page) keys.add(key)
  return Array.from(keys, (key): Sortable => ({ key, parts: partsOf(key) }))
    .sort(compare)
    .map(({ key }) => key)
}

function compare(a: Sortable, b: Sortable): number {
  for (let i = 0; i < a.parts.length && i < b.parts.length; i++) {
    const order = compareText(a.parts[i] ?? '', b.parts[i] ?? '')
    if (order !== 0) return order
  }
  return a.parts.length - b.parts.length
}
