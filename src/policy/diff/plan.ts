import type { ConditionNode } from '../evaluate/conditions.ts'
import { TRUE, type Truth } from '../language/truth.ts'
import type { Call } from '../language/snapshot.ts'
import type { Plan, PlanClass, SideState } from './diagram.ts'
import type { Dimensions } from './dimensions.ts'
import type { Leaf, Side, SideRule } from './side.ts'
import { createTerms, type Term, type Terms } from './terms.ts'
import { remember } from '../language/remember.ts'

/** Builds the rules of both sides over the same terms, for the diagram. */
export function planOf(sides: readonly [Side, Side], { all, constants }: Dimensions, base: Call): Plan {
  const terms = createTerms()
  const numbers = new Map<string, Term>(constants.map((leaf) => [leaf.key, leaf.truth(base)]))
  const leafNumbers = new Map<string, number>()
  for (const [dimension, { leaves }] of all.entries()) {
    for (const { key } of leaves) {
      leafNumbers.set(key, leafNumbers.size)
      numbers.set(key, terms.leaf(leafNumbers.size - 1, dimension))
    }
  }
  const termOf = (leaf: Leaf): Term => numbers.get(leaf.key) ?? TRUE
  const effects = new Map<string, string>()
  const state = (side: Side): SideState =>
    [...side.rules, ...side.limits].map((rule) => pendingOf(rule, { terms, termOf, effects }))
  const classes = all.map(({ classes: own }) =>
    own.map(({ number, truths, fits }): PlanClass => {
      const known = [...truths].map(([key, truth]): [number, Truth] => [leafNumbers.get(key) ?? -1, truth])
      return { number, truths: new Map(known), fits }
    }),
  )
  return {
    terms,
    classes,
    start: [state(sides[0]), state(sides[1])],
    alike: routesOf(sides[0]) === routesOf(sides[1]),
  }
}

/** Returns, as text, the routing and tool risk, on which a decision depends in addition to the rules. */
function routesOf({ bundle, contract }: Side): string {
  const { unmatched, allowUpTo, levels } = bundle.ir.head.routing
  return JSON.stringify([unmatched, allowUpTo, levels, contract?.risk])
}

interface Making {
  readonly terms: Terms
  readonly termOf: (leaf: Leaf) => Term
  readonly effects: Map<string, string>
}

function pendingOf({ rule, condition, leafOf, from, until }: SideRule, making: Making): SideState[number] {
  const { verdict, risk, reviewers, covers, onUnknown } = rule
  const { terms, termOf, effects } = making
  const key = JSON.stringify([verdict, onUnknown.rule.verdict, risk, reviewers, covers])
  const effect = remember(effects, key, () => String(effects.size))
  const toTerm = (node: ConditionNode): Term => {
    if (node.kind === 'leaf') return termOf(leafOf(node))
    return node.kind === 'not' ? terms.not(toTerm(node.item)) : terms.join(node.kind, node.items.map(toTerm))
  }
  const held = toTerm(condition)
  const dates = [...(from ? [termOf(from)] : []), ...(until ? [terms.not(termOf(until))] : [])]
  const term = dates.length > 0 ? terms.join('all', [...dates, held]) : held
  return { effect, allows: verdict === 'allow', term }
}
