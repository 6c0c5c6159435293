import microdiff from 'microdiff'

/** One difference between two values, with everything that is needed to see it whole. */
export type Change = {
  readonly path: Path
  readonly before?: unknown
  readonly after?: unknown
} & ({ readonly kind: 'added' | 'removed' | 'changed' } | { readonly kind: 'moved'; readonly from: Path })
export type Path = readonly (string | number)[]

/**
 * Every difference: applied to `before`, they give `after`. Nothing is left out, whatever keys are called.
 *
 * microdiff looks keys up with `in`, so that it overlooks an added `toString`: it gets copies without prototypes, which are trees of
 * JSON values, too (a Date is its text, a cycle is a word).
 */
export function changesBetween(before: unknown, after: unknown): Change[] {
  const found = microdiff(rooted(before), rooted(after), { cyclesFix: false })
  return withMoves(
    found.map((one): Change => {
      const path = one.path.slice(1)
      if (one.type === 'CREATE') return { kind: 'added', path, after: one.value }
      if (one.type === 'REMOVE') return { kind: 'removed', path, before: one.oldValue }
      return { kind: 'changed', path, before: one.oldValue, after: one.value }
    }),
  )
}

const rooted = (value: unknown): Record<string, unknown> => bare([['root', plain(value, [])]])

function bare(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const object = Object.create(null) as Record<string, unknown>
  for (const [key, value] of entries) object[key] = value
  return object
}

function plain(value: unknown, above: readonly object[]): unknown {
  if (value === null || typeof value !== 'object') return value
  if (above.includes(value)) return '(circular)'
  if (value instanceof Date) return String(value)
  const inside = [...above, value]
  if (Array.isArray(value)) return Array.from(value as unknown[], (one) => plain(one, inside))
  return bare(Object.entries(value).map(([key, one]) => [key, plain(one, inside)]))
}

/** Shorter values are equal by chance. */
const MOVED_CHARS = 12

/** A member that is gone here and stands unchanged under another name of an object is one move, not two changes. */
function withMoves(changes: readonly Change[]): Change[] {
  const gone = changes.filter((one) => isMember(one) && one.kind === 'removed')
  const moves = new Map<Change, Change>()
  for (const change of changes) {
    if (change.kind !== 'added' || !isMember(change)) continue
    const text = JSON.stringify(change.after) ?? ''
    if (text.length < MOVED_CHARS) continue
    const from = gone.find((one) => !moves.has(one) && JSON.stringify(one.before) === text)
    if (from === undefined) continue
    moves.set(from, from)
    moves.set(change, { ...change, kind: 'moved', from: from.path })
  }
  return changes.flatMap((one) => (moves.get(one) === one ? [] : [moves.get(one) ?? one]))
}

const isMember = ({ path }: Change): boolean =>
  path.length > 0 && path.every((part) => typeof part === 'string')

/** Two texts as what both begin with, what differs, and what both end with; whole characters. */
export function splitText(
  before: string,
  after: string,
): { start: string; before: string; after: string; end: string } {
  const old = [...before]
  const fresh = [...after]
  const most = Math.min(old.length, fresh.length)
  let start = 0
  while (start < most && old[start] === fresh[start]) start++
  let end = 0
  while (end < most - start && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end++
  const middle = (text: string[]): string => text.slice(start, text.length - end).join('')
  return {
    start: old.slice(0, start).join(''),
    before: middle(old),
    after: middle(fresh),
    end: end === 0 ? '' : old.slice(-end).join(''),
  }
}
