interface Range {
  readonly first: number
  last: number
}

/** Numbers as ranges of neighbours, so that a million numbers in a row take no room. */
export class Ranges {
  /** Ascending, without overlap, except while `#isSorted` is false. */
  #ranges: Range[] = []
  #isSorted = true

  /** Adds a number. Numbers that arrive in order join the last range. */
  add(number: number): void {
    this.addRange(number, number)
  }

  addRange(first: number, last: number): void {
    if (!(first <= last)) return
    const end = this.#ranges.at(-1)
    if (end !== undefined && first >= end.first && first <= end.last + 1) end.last = Math.max(end.last, last)
    else {
      this.#ranges.push({ first, last })
      if (end !== undefined && first < end.first) this.#isSorted = false
    }
  }

  get size(): number {
    return this.sizeUpTo(Infinity)
  }

  /** The count of numbers that are at most `most`. */
  sizeUpTo(most: number): number {
    return this.#sorted().reduce(
      (sum, { first, last }) => sum + Math.max(0, Math.min(last, most) - first + 1),
      0,
    )
  }

  /** The first number that the other ranges lack. */
  without(other: Ranges): number | undefined {
    const others = other.#sorted()
    let at = 0
    for (const { first, last } of this.#sorted()) {
      for (let end = others[at]; end !== undefined && end.last < first; end = others[at]) at += 1
      const covered = others[at]
      if (covered === undefined || covered.first > first) return first
      if (covered.last < last) return covered.last + 1
    }
    return undefined
  }

  pairs(): (readonly [first: number, last: number])[] {
    return this.#sorted().map(({ first, last }) => [first, last])
  }

  /** Sorts ranges that arrived out of order, once, when someone reads them. */
  #sorted(): readonly Range[] {
    if (!this.#isSorted) this.#ranges = merged(this.#ranges)
    this.#isSorted = true
    return this.#ranges
  }
}

function merged(ranges: Range[]): Range[] {
  const result: Range[] = []
  for (const range of ranges.sort((a, b) => a.first - b.first)) {
    const end = result.at(-1)
    if (end !== undefined && range.first <= end.last + 1) end.last = Math.max(end.last, range.last)
    else result.push(range)
  }
  return result
}
