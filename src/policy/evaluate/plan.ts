import { truthOfLeaf, type ConditionNode, type LeafNode } from './conditions.ts'
import type { Verdict } from '../../domain/decision.ts'
import { and, FALSE, not, or, TRUE, type Truth } from '../language/truth.ts'
import type { Facts } from '../language/facts.ts'
import type { RuleIr } from '../language/rule.ts'
import type { CompiledRule, Hit } from './run.ts'

/**
 * The rules of one tool for one verdict, as one flat list of numbers. A bundle of ten thousand rules exceeds a
 * processor's cache, so memory access dominates the cost of a decision. A rule that does not fire costs about twenty
 * bytes of the list, not counting its tests, which rules share.
 *
 *   rule      := UNDATED | DATED, position after the rule, node
 *   node      := number of a leaf | NOT node | (ALL | ANY), position after the node, node*
 */
export interface Plan {
  readonly words: Int32Array
  readonly verdict: Verdict
  readonly rules: readonly CompiledRule[]
  /** All leaves of the bundle, by number. */
  readonly leaves: readonly LeafNode[]
}

const NOT = -1
const ALL = -2
const ANY = -3
const UNDATED = 0
const DATED = 1

export function createPlan(
  rules: readonly CompiledRule[],
  { verdict, leaves }: Pick<Plan, 'verdict' | 'leaves'>,
): Plan {
  const words: number[] = []
  for (const rule of rules) {
    words.push(isDated(rule) ? DATED : UNDATED)
    closed(words, () => writeNode(words, rule.condition))
  }
  return { words: Int32Array.from(words), verdict, rules, leaves }
}

function writeNode(words: number[], node: ConditionNode): void {
  if (node.kind === 'leaf') {
    words.push(node.number)
  } else if (node.kind === 'not') {
    words.push(NOT)
    writeNode(words, node.item)
  } else {
    words.push(node.kind === 'all' ? ALL : ANY)
    closed(words, () => node.items.forEach((item) => writeNode(words, item)))
  }
}

/** Writes the words that `write` produces, preceded by their end position. */
function closed(words: number[], write: () => void): void {
  const at = words.push(0) - 1
  write()
  words[at] = words.length
}

/**
 * Records every rule that fires with the verdict of the plan, including shadow rules. Returns true when an enforced
 * rule fired. Allow rules fire on TRUE; review and reject rules also fire on UNKNOWN, perhaps with another verdict.
 */
export function recordHits(plan: Plan, run: Facts & { readonly hits: Hit[] }): boolean {
  const { words, rules } = plan
  let hit = false
  let number = 0
  for (let at = 0; at < words.length; number++) {
    const next = words[at + 1] as number
    const isDue = words[at] === UNDATED || isInForce(rules[number] as CompiledRule, run.call.at)
    const truth = isDue ? truthAt(plan, at + 2, run) : FALSE
    at = next
    if (truth === FALSE) continue
    const rule = rules[number] as CompiledRule
    if (truth !== TRUE && rule.verdict === 'allow') continue
    const found = truth === TRUE ? rule.onTrue : rule.onUnknown
    if (found.rule.verdict !== plan.verdict) continue
    run.hits.push(found)
    if (rule.enforced) hit = true
  }
  return hit
}

/** Returns true for a rule with `from` or `until`. */
export function isDated({ fromMs, untilMs }: Pick<RuleIr, 'fromMs' | 'untilMs'>): boolean {
  return fromMs !== undefined || untilMs !== undefined
}

/**
 * Returns true from `from` until `until`. At a time that is not a number, no dated allow rule is in force, and every
 * other rule is.
 */
export function isInForce({ verdict, fromMs, untilMs }: Dated, at: number): boolean {
  if (Number.isNaN(at)) return verdict !== 'allow' || (fromMs === undefined && untilMs === undefined)
  return (fromMs === undefined || at >= fromMs) && (untilMs === undefined || at < untilMs)
}

type Dated = Pick<CompiledRule, 'verdict' | 'fromMs' | 'untilMs'>

function truthAt(plan: Plan, at: number, facts: Facts): Truth {
  const word = plan.words[at] as number
  if (word >= 0) return truthOfLeaf(plan.leaves[word] as LeafNode, facts)
  if (word === NOT) return not(truthAt(plan, at + 1, facts))
  return joined(plan, at, facts)
}

/** Joins the inner nodes with `and` or `or`, up to the first node that decides the result. */
function joined(plan: Plan, start: number, facts: Facts): Truth {
  const isAll = plan.words[start] === ALL
  const end = plan.words[start + 1] as number
  const settled = isAll ? FALSE : TRUE
  let truth: Truth = isAll ? TRUE : FALSE
  for (let at = start + 2; at < end; at = behindNode(plan, at)) {
    const next = truthAt(plan, at, facts)
    truth = isAll ? and(truth, next) : or(truth, next)
    if (truth === settled) break
  }
  return truth
}

function behindNode({ words }: Plan, start: number): number {
  let at = start
  while (words[at] === NOT) at++
  return (words[at] as number) >= 0 ? at + 1 : (words[at + 1] as number)
}
