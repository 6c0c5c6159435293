/** The directions of a change. Loosened decisions come first. */
export const DIRECTIONS = ['loosens', 'changes', 'tightens'] as const
export type Direction = (typeof DIRECTIONS)[number]

/** A change to an entry of a bundle's files, as one line. */
export interface Change {
  readonly direction: Direction
  /** `acme agent billing-bot: may use ledger.*`. */
  readonly text: string
}

export const rank = ({ direction }: Pick<Change, 'direction'>): number => DIRECTIONS.indexOf(direction)

export const loosenedFirst = (a: Pick<Change, 'direction'>, b: Pick<Change, 'direction'>): number =>
  rank(a) - rank(b)

type Diff<T> = (before: T, after: T) => readonly Change[]

export const loosens = (text: string): Change => ({ direction: 'loosens', text })
export const tightens = (text: string): Change => ({ direction: 'tightens', text })

/** The `diff` of a key whose change shows in examples of calls, or in no decision. */
export const SEEN: Diff<unknown> = () => []

export const changed =
  (text: string): Diff<unknown> =>
  (before, after) =>
    before === after ? [] : [{ direction: 'changes', text }]

/** Says both values of a key. */
export const noted =
  <T>(what: string, show: (value: T) => string): Diff<T> =>
  (before, after) => {
    const [one, other] = [show(before), show(after)]
    return one === other ? [] : [{ direction: 'changes', text: `${what}: ${one} -> ${other}` }]
  }

export const gained = (before: readonly string[], after: readonly string[]): readonly string[] =>
  after.filter((one) => !before.includes(one)).toSorted()

/** Compares sets of names. A name more is looser. */
export const members =
  (has: string, lost: string, end = ''): Diff<readonly string[]> =>
  (before, after) => [
    ...gained(before, after).map((one) => loosens(`${has} ${one}`)),
    ...gained(after, before).map((one) => tightens(`${lost} ${one}${end}`)),
  ]

/** Compares a safeguard that is either on or off. */
export const flag =
  (text: string): Diff<boolean> =>
  (before, after) =>
    before === after ? [] : [after ? tightens(`from now on ${text}`) : loosens(`no longer: ${text}`)]

/** Compares an amount. A larger amount is looser. */
export const amount =
  (what: string, show: (value: number) => string): Diff<number> =>
  (before, after) =>
    before === after
      ? []
      : [(after > before ? loosens : tightens)(`${what} ${show(before)} -> ${show(after)}`)]

/** Says the new value before the old one. A higher rank is stricter. */
export const instead =
  <T>(what: string, show: (value: T) => string, rankOf?: (value: T) => number): Diff<T> =>
  (before, after) => {
    const text = `${what} ${show(after)} instead of ${show(before)}`
    if (show(before) === show(after)) return []
    if (!rankOf) return [{ direction: 'changes', text }]
    return [(rankOf(after) > rankOf(before) ? tightens : loosens)(text)]
  }
