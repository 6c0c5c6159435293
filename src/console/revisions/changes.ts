/** One complete difference between two JSON values. */
export type Change = {
  readonly path: Path
  readonly before?: unknown
  readonly after?: unknown
} & ({ readonly kind: 'added' | 'removed' | 'changed' } | { readonly kind: 'moved'; readonly from: Path })
export type Path = readonly (string | number)[]

/**
 * Returns all differences between `before` and `after`. Compares only own members, so that an added `toString` or
 * `__proto__` is found. Libraries that use `in` miss such members. At depths that no payload reaches, values are
 * compared as a whole.
 */
export function changesBetween(before: unknown, after: unknown): Change[] {
  return withMoves([...differences(before, after, [])])
}

/** Payloads end at a depth of 64 (LIMITS.JSON_DEPTH). */
const DEEPEST = 100

function* differences(before: unknown, after: unknown, path: Path): Generator<Change> {
  if (Object.is(before, after)) return
  if (
    path.length > DEEPEST ||
    !isContainer(before) ||
    !isContainer(after) ||
    kindOf(before) !== kindOf(after)
  ) {
    yield { kind: 'changed', path, before, after }
    return
  }
  for (const key of Object.keys(before)) {
    const place = [...path, Array.isArray(before) ? Number(key) : key]
    if (Object.hasOwn(after, key)) yield* differences(before[key], after[key], place)
    else yield { kind: 'removed', path: place, before: before[key] }
  }
  for (const key of Object.keys(after)) {
    const place = [...path, Array.isArray(after) ? Number(key) : key]
    if (!Object.hasOwn(before, key)) yield { kind: 'added', path: place, after: after[key] }
  }
}

const isContainer = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** The kind of a value. Values other than lists and objects are compared as a whole. */
const kindOf = (value: object): unknown => {
  const kind = Object.prototype.toString.call(value)
  return kind === '[object Object]' || kind === '[object Array]' ? kind : value
}

/** Minimum length at which equal values count as moved. Shorter values may be equal by chance. */
const MOVED_CHARS = 12

/** Joins a removed member and an equal member that was added under another name into one move. */
function withMoves(changes: readonly Change[]): Change[] {
  const gone = changes.filter((one) => one.kind === 'removed' && isMember(one))
  const moved = new Set<Change>()
  const result = changes.map((change): Change => {
    const text = change.kind === 'added' && isMember(change) ? textOf(change.after) : ''
    if (text.length < MOVED_CHARS) return change
    const from = gone.find((one) => !moved.has(one) && textOf(one.before) === text)
    if (from === undefined) return change
    moved.add(from)
    return { ...change, kind: 'moved', from: from.path }
  })
  return result.filter((one) => !moved.has(one))
}

const isMember = ({ path }: Change): boolean =>
  path.length > 0 && path.every((part) => typeof part === 'string')

/** JSON text; empty for values without a JSON form. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return ''
  }
}

/** Splits two texts into the common beginning, the two middles and the common end, at whole characters. */
export function splitText(
  before: string,
  after: string,
): { start: string; before: string; after: string; end: string } {
  const old = Array.from(before)
  const fresh = Array.from(after)
  const most = Math.min(old.length, fresh.length)
  let start = 0
  while (start < most && old[start] === fresh[start]) start++
  let end = 0
  while (end < most - start && old.at(-1 - end) === fresh.at(-1 - end)) end++
  const middle = (text: string[]): string => text.slice(start, text.length - end).join('')
  return {
    start: old.slice(0, start).join(''),
    before: middle(old),
    after: middle(fresh),
    end: old.slice(old.length - end).join(''),
  }
}
