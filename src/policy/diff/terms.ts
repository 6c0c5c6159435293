import { and, FALSE, not, or, TRUE, UNKNOWN, type Truth } from '../language/truth.ts'
import { remember } from '../language/remember.ts'

/** The number of a condition for which some answers are known. The numbers 0, 1 and 2 are the truths themselves. */
export type Term = number

/**
 * The conditions that remain when the answers about some dimensions of a call are known. Equal remainders have equal
 * numbers, regardless of how they arose. Shared numbers keep the analysis small.
 */
export interface Terms {
  leaf(leaf: number, dimension: number): Term
  not(term: Term): Term
  join(kind: 'all' | 'any', terms: readonly Term[]): Term
  /** Returns true when the term depends on the dimension. */
  asks(term: Term, dimension: number): boolean
  /** Returns the term that remains when the dimension has this class. */
  given(term: Term, dimension: number, cell: ClassAnswers): Term
}

/** A class of a dimension, with the class's answers by leaf number. */
export interface ClassAnswers {
  readonly number: number
  readonly truths: ReadonlyMap<number, Truth>
}

type Shape =
  | { readonly kind: 'leaf'; readonly leaf: number; readonly asks: bigint }
  | { readonly kind: 'not'; readonly item: Term; readonly asks: bigint }
  | { readonly kind: 'all' | 'any'; readonly items: readonly Term[]; readonly asks: bigint }

export function createTerms(): Terms {
  const shapes: (Shape | undefined)[] = [undefined, undefined, undefined]
  const numbers = new Map<string, Term>()
  const settled = new Map<string, Term>()

  const asksOf = (term: Term): bigint => shapes[term]?.asks ?? 0n
  const intern = (key: string, shape: Shape): Term => remember(numbers, key, () => shapes.push(shape) - 1)
  const negate = (item: Term): Term => {
    if (item <= UNKNOWN) return not(item as Truth)
    return intern(`! ${item}`, { kind: 'not', item, asks: asksOf(item) })
  }
  const join = (kind: 'all' | 'any', terms: readonly Term[]): Term => {
    const [fold, neutral, final] =
      kind === 'all' ? ([and, TRUE, FALSE] as const) : ([or, FALSE, TRUE] as const)
    const known = terms
      .filter((term) => term <= UNKNOWN)
      .reduce<Truth>((a, b) => fold(a, b as Truth), neutral)
    if (known === final) return final
    const open = [...new Set(terms.filter((term) => term > UNKNOWN))].sort((a, b) => a - b)
    const items = known === neutral ? open : [known, ...open]
    if (items.length <= 1) return items[0] ?? neutral
    const asks = items.reduce((all, item) => all | asksOf(item), 0n)
    return intern(`${kind} ${items.join()}`, { kind, items, asks })
  }
  const asks = (term: Term, dimension: number): boolean => (asksOf(term) & (1n << BigInt(dimension))) !== 0n

  function given(term: Term, dimension: number, cell: ClassAnswers): Term {
    if (!asks(term, dimension)) return term
    return remember(settled, `${term} ${dimension} ${cell.number}`, () =>
      settle(shapes[term] as Shape, (item) => given(item, dimension, cell), cell),
    )
  }

  function settle(shape: Shape, inner: (item: Term) => Term, { truths }: ClassAnswers): Term {
    if (shape.kind === 'leaf') return truths.get(shape.leaf) ?? UNKNOWN
    return shape.kind === 'not' ? negate(inner(shape.item)) : join(shape.kind, shape.items.map(inner))
  }

  return {
    leaf: (leaf, dimension) => intern(`leaf ${leaf}`, { kind: 'leaf', leaf, asks: 1n << BigInt(dimension) }),
    not: negate,
    join,
    asks,
    given,
  }
}
