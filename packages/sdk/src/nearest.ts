/** The longest name that is compared. */
const LONGEST = 64

/** Returns the name that the caller most likely meant, or undefined. Up to a third of its letters may differ. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(word.length / 3))
  const near = names
    .map((name) => ({ name, distance: distance(word.slice(0, LONGEST), name.slice(0, LONGEST)) }))
    .filter((one) => one.distance <= most)
    .sort((a, b) => a.distance - b.distance)
  return near[0]?.name
}

/** The number of letters to insert, delete or replace. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
