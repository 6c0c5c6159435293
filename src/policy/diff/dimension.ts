import type { JsonValue } from '../../contract/json.ts'
import type { MISSING } from '../language/reading.ts'
import type { Truth } from '../language/truth.ts'
import type { Call } from '../language/snapshot.ts'
import type { Leaf } from './side.ts'

/** A property of a call that varies independently of its other dimensions. */
export interface Dimension {
  /** The field as the author writes it; otherwise `time` or `risk_level`. */
  readonly name: string
  readonly leaves: readonly Leaf[]
  /** Classes of values. Within one class, every test of both bundles has the same answer. */
  readonly classes: readonly ValueClass[]
  /** Values that a test or a contract names. `diff` lists these values, and prints other values as `any other`. */
  readonly named: ReadonlySet<Value>
  /** Reasons why the classes may be incomplete. */
  readonly doubts: readonly string[]
  place(call: Call, value: Value): Call
}

export type Value = JsonValue | typeof MISSING

export interface ValueClass {
  readonly number: number
  /** Example values, at least one. The first example is printed. */
  readonly members: readonly Value[]
  /** Truths by leaf key. */
  readonly truths: ReadonlyMap<string, Truth>
  /** The contracts (old, new) that accept the class. */
  readonly fits: Fit
}

export type Fit = readonly [old: boolean, current: boolean]

/** Sorts values into classes. Omits values that neither contract accepts. */
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
