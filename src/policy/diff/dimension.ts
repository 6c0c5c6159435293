import type { JsonValue } from '../../contract/json.ts'
import type { MISSING } from '../language/reading.ts'
import type { Truth } from '../language/truth.ts'
import type { Call } from '../evaluate/snapshot.ts'
import type { Leaf } from './side.ts'

/** Something about a call that may be one way or another, independently of its other dimensions. */
export interface Dimension {
  /** The field as the author writes it; `time` and `risk_level` for these two. */
  readonly name: string
  readonly leaves: readonly Leaf[]
  /** Kinds of values: within one, every test of both bundles has the same answer. */
  readonly classes: readonly ValueClass[]
  /** Values that a test or a contract names: they are shown one by one, others as `any other`. */
  readonly named: ReadonlySet<Value>
  /** Why there may be kinds of values that are not among the classes. */
  readonly doubts: readonly string[]
  place(call: Call, value: Value): Call
}

export type Value = JsonValue | typeof MISSING

export interface ValueClass {
  readonly number: number
  /** Examples, the one that is shown first. Never empty. */
  readonly members: readonly Value[]
  /** By leaf key. */
  readonly truths: ReadonlyMap<string, Truth>
  /** Does the old, does the new contract accept it. */
  readonly fits: Fit
}

export type Fit = readonly [old: boolean, current: boolean]

/** Sorts values into classes; those that neither contract accepts are left out. */
export function classify(
  values: readonly Value[],
  {
    leaves,
    callWith,
    fits,
  }: {
    readonly leaves: readonly Leaf[]
    readonly callWith: (value: Value) => Call
    readonly fits: (value: Value) => Fit
  },
): readonly ValueClass[] {
  const groups = new Map<string, { members: Value[]; truths: ReadonlyMap<string, Truth>; fits: Fit }>()
  for (const value of values) {
    const fit = fits(value)
    if (!fit[0] && !fit[1]) continue
    const call = callWith(value)
    const truths = new Map(leaves.map((leaf) => [leaf.key, leaf.truth(call)]))
    const key = `${fit.join()} ${[...truths.values()].join()}`
    const known = groups.get(key)
    if (known) known.members.push(value)
    else groups.set(key, { members: [value], truths, fits: fit })
  }
  return [...groups.values()].map((group, number) => ({ number, ...group }))
}
