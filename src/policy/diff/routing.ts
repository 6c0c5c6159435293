import type { Change } from '../check/change.ts'
import { ROUTING_KEYS, type RoutingEntry } from '../check/routing.ts'
import { diffOf } from '../check/spec.ts'
import type { BundleIr } from '../language/rule.ts'

/** Compares the keys of routing.yaml whose change no example of a call shows. */
export function diffRouting(before: BundleIr, after: BundleIr): readonly Change[] {
  const [one, other] = [before, after].map(({ head }): RoutingEntry => {
    const { levels, views, ...rest } = head.routing
    return { ...rest, levels: { levels, views } }
  })
  return one && other ? diffOf(ROUTING_KEYS, [one, other], undefined) : []
}
