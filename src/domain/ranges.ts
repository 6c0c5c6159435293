/** Numbers as ranges of neighbours, so that a million numbers in a row take no room. */
export class Ranges {
  /** Ascending, without overlap. */
  #ranges: { first: number; last: number }[] = []

  /** Adds a number. Numbers that arrive in order join the last range. */
  add(number: number): void {
    this.addRange(number, number)
  }

  addRange(first: number, last: number): void {
    if (!(first <= last)) return
    const end = this.#ranges.at(-1)
    if (end === undefined || first > end.last + 1) return void this.#ranges.push({ first, last })
    if (first >= end.first) end.last = Math.max(end.last, last)
    else this.#ranges = merged([...this.#ranges, { first, last }])
  }

  get size(): number {
    return this.sizeUpTo(Infinity)
  }

  /** The count of numbers that are at most `most`. */
  sizeUpTo(most: number): number {
    return this.#ranges.reduce(
      (sum, { first, last }) => sum + Math.max(0, Math.min(last, most) - first + 1),
      0,
    )
  }

  /** The first number that the other ranges lack. */
  without(other: Ranges): number | undefined {
    for (const { first, last } of this.#ranges) {
      let next = first
      for (const covered of other.#ranges) if (covered.first <= next) next = Math.max(next, covered.last + 1)
      if (next <= last) return next
    }
    return undefined
  }

  pairs(): (readonly [first: number, last: number])[] {
    return this.#ranges.map(({ first, last }) => [first, last])
  }
}

function merged(ranges: { first: number; last: number }[]): { first: number; last: number }[] {
  const result: { first: number; last: number }[] = []
  for (const range of ranges.sort((a, b) => a.first - b.first)) {
    const end = result.at(-1)
    if (end !== undefined && range.first <= end.last + 1) end.last = Math.max(end.last, range.last)
    else result.push({ ...range })
  }
  return result
}
