import { describe, expect, it } from 'vitest'
import { type Change, changesBetween, type Path, splitText } from '../../src/console/revisions/changes.ts'
import { seeded } from '../random.ts'

/** The act of a reader who trusts the list: applies its changes to the old value. */
function apply(before: unknown, changes: readonly Change[]): unknown {
  const root = { root: copy(before) }
  const inOrder = [...changes].sort((a, b) => rank(a) - rank(b))
  // from the end, so that taking from a list does not move what is still to be taken
  for (const change of inOrder.filter(({ kind }) => kind === 'removed').reverse()) remove(root, change.path)
  for (const change of inOrder) {
    if (change.kind === 'moved') remove(root, change.from)
    if (change.kind !== 'removed') put(root, change.path, copy(change.after))
  }
  return root.root
}

const rank = ({ kind }: Change): number => (kind === 'removed' ? 0 : 1)

function parentOf(root: object, path: Path): Record<string, unknown> {
  return ['root', ...path].slice(0, -1).reduce<unknown>((at, key) => own(at, key), root) as Record<
    string,
    unknown
  >
}
const own = (at: unknown, key: string | number): unknown =>
  Object.getOwnPropertyDescriptor(at as object, key)?.value as unknown
const lastOf = (path: Path): string => String(path.at(-1) ?? 'root')

function put(root: object, path: Path, value: unknown): void {
  const descriptor = { value, writable: true, enumerable: true, configurable: true }
  Object.defineProperty(parentOf(root, path), lastOf(path), descriptor)
}
function remove(root: object, path: Path): void {
  const parent = parentOf(root, path)
  if (Array.isArray(parent)) parent.splice(Number(lastOf(path)), 1)
  else delete parent[lastOf(path)]
}

function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy)
  if (typeof value !== 'object' || value === null) return value
  const twin = {}
  for (const [key, one] of Object.entries(value)) put({ root: twin }, [key], copy(one))
  return twin
}

const KEYS = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', '', '0', 'a', 'b', 'ключ']
const LEAVES = [
  null,
  undefined,
  true,
  false,
  0,
  -0,
  1,
  1.5,
  '',
  'a',
  '0',
  'x'.repeat(2_000),
  'a longer text that may move',
  '\u202e',
]

function value(random: () => number, depth: number): unknown {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const kind = random()
  if (depth === 0 || kind < 0.4) return pick(LEAVES)
  const count = Math.floor(random() * 4)
  if (kind < 0.6) return Array.from({ length: count }, () => value(random, depth - 1))
  const object = {}
  for (let i = 0; i < count; i++) put({ root: object }, [pick(KEYS)], value(random, depth - 1))
  return object
}

/** The old value with a few changes, so that most of the two is alike. */
function mutated(random: () => number, before: unknown): unknown {
  if (random() < 0.25) return value(random, 2)
  if (Array.isArray(before)) return before.flatMap((one) => (random() < 0.15 ? [] : [mutated(random, one)]))
  if (typeof before !== 'object' || before === null) return before
  const object = {}
  for (const [key, one] of Object.entries(before)) {
    if (random() < 0.1) continue
    const name = random() < 0.1 ? (KEYS[Math.floor(random() * KEYS.length)] as string) : key
    put({ root: object }, [name], mutated(random, one))
  }
  return object
}

describe('changesBetween', () => {
  it('hides nothing in 40,000 random pairs: the changes turn the old value into the new one', () => {
    const random = seeded(2026)
    for (let i = 0; i < 40_000; i++) {
      const before = value(random, 4)
      const after = random() < 0.5 ? value(random, 4) : mutated(random, before)
      const changes = changesBetween(before, after)
      const made = apply(before, changes)
      if (!alike(made, after)) expect({ before, after, changes, made }).toBe('made the new value')
    }
  })

  it('finds members whose names every object inherits', () => {
    for (const key of ['__proto__', 'constructor', 'toString']) {
      const after = JSON.parse(`{"${key}": 1}`) as object
      expect(changesBetween({}, after)).toEqual([{ kind: 'added', path: [key], after: 1 }])
      expect(changesBetween(after, {})).toEqual([{ kind: 'removed', path: [key], before: 1 }])
    }
  })

  it('shows a renamed member as one move, and short values as two changes', () => {
    expect(changesBetween({ from: 'acct_reserve_1' }, { source: 'acct_reserve_1' })).toEqual([
      { kind: 'moved', path: ['source'], from: ['from'], after: 'acct_reserve_1' },
    ])
    expect(changesBetween({ a: 1 }, { b: 1 }).map(({ kind }) => kind)).toEqual(['removed', 'added'])
  })

  it('distinguishes 0 from -0, a list from an object, and null from a missing value', () => {
    expect(changesBetween({ a: 0 }, { a: -0 })).toHaveLength(1)
    expect(changesBetween({ a: [] }, { a: {} })).toHaveLength(1)
    expect(changesBetween({ a: null }, {})).toHaveLength(1)
    expect(changesBetween({ a: new Date(1) }, { a: new Date(2) })).toHaveLength(1)
    const ring: Record<string, unknown> = {}
    ring['self'] = ring
    const other: Record<string, unknown> = {}
    other['self'] = other
    expect(changesBetween(ring, other)).toHaveLength(1)
  })
})

/** Equal as JSON values, in any order of members; -0 differs from 0. */
function alike(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b)
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && alike(own(a, key), own(b, key)))
  )
}

describe('splitText', () => {
  it('keeps the common parts in whole characters', () => {
    expect(splitText('9,200 EUR', '7,200 EUR')).toEqual({
      start: '',
      before: '9',
      after: '7',
      end: ',200 EUR',
    })
    expect(splitText('aa', 'aaa')).toEqual({ start: 'aa', before: '', after: 'a', end: '' })
    expect(splitText('👍🏽', '👍🏿')).toEqual({ start: '👍', before: '🏽', after: '🏿', end: '' })
  })

  it('contains both texts when it is put together', () => {
    const random = seeded(7)
    for (let i = 0; i < 2_000; i++) {
      const text = (): string =>
        Array.from({ length: Math.floor(random() * 9) }, () => 'ab👍'.charAt(Math.floor(random() * 4))).join(
          '',
        )
      const [before, after] = [text(), text()]
      const split = splitText(before, after)
      expect([split.start + split.before + split.end, split.start + split.after + split.end]).toEqual([
        before,
        after,
      ])
    }
  })
})
