import type { Fit } from './dimension.ts'
import type { Term, Terms } from './terms.ts'
import { remember } from '../language/remember.ts'

/**
 * A decision diagram over the dimensions of a call, which maps combinations of classes to endings. Combinations that
 * leave the same rules with the same conditions share a node. So the diagram stays small even when the product of the
 * classes is huge.
 */
export type Node = Ending | Branch

export interface Ending {
  readonly kind: 'same' | 'impossible' | 'judged'
  /** The class of each dimension, for one call that leads to this ending. */
  readonly path: readonly number[]
  readonly number: number
}

export interface Branch {
  readonly kind: 'branch'
  readonly number: number
  readonly dimension: number
  /** The next node for each class. */
  readonly next: readonly Node[]
}

export interface Plan {
  readonly terms: Terms
  /** The classes of each dimension, with their answers to the terms and the contracts that accept them. */
  readonly classes: readonly (readonly PlanClass[])[]
  readonly start: SidesState
  /** True when both sides have the same routing and tool risk, so that equal rules mean equal decisions. */
  readonly alike: boolean
}

export interface PlanClass {
  readonly number: number
  readonly truths: ReadonlyMap<number, 0 | 1 | 2>
  readonly fits: Fit
}

/** The rules of each side that fire or may still fire; undefined when the side's contract refuses the payload. */
export type SidesState = readonly [SideState | undefined, SideState | undefined]
export type SideState = readonly Pending[]

export interface Pending {
  /** The verdict, risk and reviewers of the rule. Rules with equal effects lead to the same decision. */
  readonly effect: string
  readonly allows: boolean
  readonly term: Term
}

export interface Diagram {
  readonly root: Node
  readonly endings: readonly Ending[]
  /** True when both sides have the same rules, regardless of the answers to their tests. */
  readonly sameRules: boolean
}

/** The maximum number of steps. With more, calls of the tool are sampled instead. */
const MAX_STEPS = 50_000
const FALSE_TERM = 0
const UNKNOWN_TERM = 2

/** Builds the diagram. Returns undefined when the diagram would become too large. */
export function buildDiagram(plan: Plan): Diagram | undefined {
  const { classes } = plan
  const same: Ending = { kind: 'same', path: [], number: 0 }
  const impossible: Ending = { kind: 'impossible', path: [], number: 1 }
  const known = new Map<string, Node>()
  const branches = new Map<string, Branch>()
  const endings: Ending[] = []
  const path: number[] = []
  // From this depth, both contracts accept the same values.
  const acceptedAlike = 1 + classes.findLastIndex((own) => own.some(({ fits }) => fits[0] !== fits[1]))
  let numbers = 2
  let steps = 0

  function build(depth: number, state: SidesState): Node | undefined {
    const [before, after] = state
    if (!before && !after) return impossible
    if (depth === classes.length) return end()
    const key = `${depth} ${keyOf(before)} | ${keyOf(after)}`
    const found = known.get(key)
    if (found) return found
    const settled = plan.alike && depth >= acceptedAlike && before && after && keyOf(before) === keyOf(after)
    const node = settled ? same : expand(depth, state)
    if (node) known.set(key, node)
    return node
  }

  function expand(depth: number, state: SidesState): Node | undefined {
    const own = classes[depth] ?? []
    const next: Node[] = []
    // The last dimension is the agent's risk_level. No rule reads risk_level, but it may affect any decision.
    const isLast = depth === classes.length - 1
    for (const one of isLast || matters(plan, depth, state) ? own : own.slice(0, 1)) {
      if (++steps > MAX_STEPS) return undefined
      path[depth] = one.number
      const node = build(depth + 1, isLast ? state : given(plan.terms, state, { depth, one }))
      if (!node) return undefined
      next.push(node)
    }
    return next.every((node) => node === next[0]) ? next[0] : branch(depth, next)
  }

  function end(): Ending {
    const ending: Ending = { kind: 'judged', path: [...path], number: numbers++ }
    endings.push(ending)
    return ending
  }

  function branch(dimension: number, next: readonly Node[]): Branch {
    const key = `${dimension} ${next.map((node) => node.number).join()}`
    return remember(branches, key, () => ({ kind: 'branch', number: numbers++, dimension, next }))
  }

  const [before, after] = [plan.start[0] && settle(plan.start[0]), plan.start[1] && settle(plan.start[1])]
  const root = build(0, [before, after])
  return root && { root, endings, sameRules: plan.alike && keyOf(before) === keyOf(after) }
}

/** Returns true when a rule of the state depends on the dimension, or a contract refuses one of its classes. */
function matters({ terms, classes }: Plan, depth: number, state: SidesState): boolean {
  return (
    (classes[depth] ?? []).some(({ fits }) => !fits[0] || !fits[1]) ||
    state.some((side) => side?.some(({ term }) => terms.asks(term, depth)))
  )
}

/** Returns the state after the dimension has the class. */
function given(
  terms: Terms,
  state: SidesState,
  { depth, one }: { readonly depth: number; readonly one: PlanClass },
): SidesState {
  const side = (pending: SideState | undefined, fits: boolean): SideState | undefined => {
    if (!pending || !fits) return undefined
    return settle(pending.map((rule) => ({ ...rule, term: terms.given(rule.term, depth, one) })))
  }
  return [side(state[0], one.fits[0]), side(state[1], one.fits[1])]
}

/** Sorts the rules. Removes rules that can no longer fire, and duplicates with equal effect and condition. */
function settle(rules: SideState): SideState {
  const open = rules.filter(({ term, allows }) => term !== FALSE_TERM && !(allows && term === UNKNOWN_TERM))
  const unique = new Map(open.map((rule) => [`${rule.effect}:${rule.term}`, rule]))
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rule]) => rule)
}

function keyOf(side: SideState | undefined): string {
  return side ? side.map(({ effect, term }) => `${effect}:${term}`).join(' ') : 'refused'
}
