/** The example numbers of a field, inside and outside the described set. */
export interface TriedNumbers {
  readonly inside: readonly number[]
  readonly outside: readonly number[]
  /** True for a number that a test or a contract names. Between two such numbers, all numbers behave alike. */
  readonly isThreshold: (number: number) => boolean
}

/** Returns numbers as ranges: `1..5000`, `5001..`. With fractions, an excluded end is `over 5` or `under 5`. */
export function numberRanges({ inside, outside, isThreshold }: TriedNumbers): readonly string[] {
  const chosen = new Set(inside)
  const all = [...inside, ...outside].sort((a, b) => a - b)
  const whole = all.every(Number.isInteger)
  const ranges: string[] = []
  for (let from = 0; from < all.length; from++) {
    if (!chosen.has(all[from] ?? 0)) continue
    let to = from
    while (to + 1 < all.length && chosen.has(all[to + 1] ?? 0)) to++
    const included = (number: number): boolean => whole || isThreshold(number)
    const [low, high] = [all[from] ?? 0, all[to] ?? 0]
    const lower = lowerEnd({ number: low, neighbour: all[from - 1], included, isThreshold })
    const upper = upperEnd({ number: high, neighbour: all[to + 1], included, isThreshold })
    ranges.push(rangeOf(lower, upper))
    from = to
  }
  return ranges
}

interface End {
  readonly number: number
  /** The nearest number outside the range, if any. */
  readonly neighbour: number | undefined
  readonly included: (number: number) => boolean
  readonly isThreshold: (number: number) => boolean
}

/** Returns the lower end of a range as text; '' when the range has no lower end. */
function lowerEnd({ number, neighbour, included, isThreshold }: End): string {
  if (neighbour === undefined) return isThreshold(number) ? `${number}` : ''
  return included(number) ? `${number}` : `over ${neighbour}`
}

function upperEnd({ number, neighbour, included, isThreshold }: End): string {
  if (neighbour === undefined) return isThreshold(number) ? `${number}` : ''
  return included(number) ? `${number}` : `under ${neighbour}`
}

function rangeOf(lower: string, upper: string): string {
  if (lower === '' && upper === '') return 'any number'
  if (lower === upper) return lower
  if (lower === '' && upper.startsWith('under')) return upper
  if (upper === '' && lower.startsWith('over')) return lower
  return `${lower}..${upper}`
}
