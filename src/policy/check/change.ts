/** A change to an agent or a reviewer, as one line. */
export interface Change {
  readonly direction: 'loosens' | 'tightens' | 'changes'
  /** `acme agent billing-bot: may use ledger.*`. */
  readonly text: string
}

export const loosens = (text: string): Change => ({ direction: 'loosens', text })
export const tightens = (text: string): Change => ({ direction: 'tightens', text })

export const changed = (text: string, before: unknown, after: unknown): readonly Change[] =>
  before === after ? [] : [{ direction: 'changes', text }]

export const gained = (before: readonly string[], after: readonly string[]): readonly string[] =>
  after.filter((one) => !before.includes(one)).toSorted()

export const lost = (before: readonly string[], after: readonly string[]): readonly string[] =>
  gained(after, before)

/** Compares a safeguard that is either on or off. */
export function flag(text: string, before: boolean, after: boolean): readonly Change[] {
  if (before === after) return []
  return [after ? tightens(`from now on ${text}`) : loosens(`no longer: ${text}`)]
}

/** Compares an amount. A larger amount is looser. */
export function amount(
  what: string,
  [before, after]: readonly [number, number],
  show: (value: number) => string,
): readonly Change[] {
  if (before === after) return []
  return [(after > before ? loosens : tightens)(`${what} ${show(before)} -> ${show(after)}`)]
}
