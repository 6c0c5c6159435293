import { type Change, type Direction, DIRECTIONS, loosenedFirst } from '../check/change.ts'
import { leavesOf, type ConditionNode } from '../evaluate/conditions.ts'
import type { FieldRoot } from '../language/facts.ts'
import type { RoutingIr, ToolIr } from '../language/rule.ts'
import { FALSE, not, TRUE, UNKNOWN, type Truth } from '../language/truth.ts'
import { type Call, NO_HISTORY } from '../language/snapshot.ts'
import { createSide, type Bundle, type Leaf, type SideRule } from './side.ts'

/**
 * Compares the labels that tools add to the history, because one tool's contract can change decisions about another
 * tool. The direction comes from the rules that test labels. With the label, a rule may fire on more calls, on fewer
 * calls, or both.
 */
export function diffHistory(before: Bundle, after: Bundle): readonly Change[] {
  const askers = after.ir.tools.flatMap((tool) => createSide(after, tool.contract.name).rules.filter(asks))
  if (askers.length === 0) return []
  const pool = [...new Set([before, after].flatMap(({ ir }) => ir.tools.flatMap(labelsOf)))].sort()
  const changes = after.ir.tools.flatMap((tool) => {
    const old = before.ir.tools.find(({ contract }) => contract.name === tool.contract.name)
    if (old === undefined) return []
    const say = (label: string, gained: boolean): readonly Change[] => {
      const found = changeOf(label, { gained, askers, pool, routing: after.ir.head.routing })
      const verb = gained ? 'gains' : 'loses'
      const text = `history: ${tool.contract.name} ${verb} the label ${label}, which ${found.ids.join(', ')} asks about`
      return found.direction === undefined ? [] : [{ direction: found.direction, text }]
    }
    return [
      ...missingIn(old, tool).map((label) => say(label, false)),
      ...missingIn(tool, old).map((label) => say(label, true)),
    ].flat()
  })
  return changes.sort(loosenedFirst)
}

const labelsOf = ({ contract }: ToolIr): readonly string[] => contract.labels
const missingIn = (one: ToolIr, other: ToolIr): readonly string[] =>
  labelsOf(one).filter((label) => !labelsOf(other).includes(label))

const LABELS: readonly (FieldRoot | 'date')[] = ['task.labels', 'agent.labels']

const rootOf = ({ field }: Leaf): FieldRoot | 'date' => (field === 'date' ? field : field.root)

function asks({ condition, leafOf }: SideRule): boolean {
  return leavesOf(condition).some((node) => LABELS.includes(rootOf(leafOf(node))))
}

interface Label {
  readonly gained: boolean
  readonly askers: readonly SideRule[]
  /** The labels of all tools of both bundles. */
  readonly pool: readonly string[]
  readonly routing: RoutingIr
}

function changeOf(
  label: string,
  { gained, askers, pool, routing }: Label,
): { readonly direction?: Direction; readonly ids: readonly string[] } {
  const ids = new Set<string>()
  const directions = new Set<Direction>()
  for (const asker of askers) {
    const sway = swayOf(asker.condition, asker, { label, pool })
    if (typeof sway !== 'object' || !(sway.up || sway.down)) continue
    ids.add(asker.rule.onTrue.fired.id)
    if (gained ? sway.up : sway.down) directions.add(whenMore(asker, routing))
    if (gained ? sway.down : sway.up) directions.add(whenFewer(asker))
  }
  const direction = DIRECTIONS.find((one) => directions.has(one))
  return { ...(direction && { direction }), ids: [...ids].sort() }
}

/** Returns the direction of a change by which the rule fires on more calls than before. */
function whenMore({ rule: { verdict, covers } }: SideRule, { unmatched }: RoutingIr): Direction {
  if (verdict === 'allow') return 'loosens'
  // A call that no rule covered was rejected. Now, reviewers decide the call.
  return verdict === 'review' && covers && unmatched === 'reject' ? 'changes' : 'tightens'
}

function whenFewer({ rule: { verdict, risk } }: SideRule): Direction {
  if (verdict !== 'allow') return 'loosens'
  return risk === undefined ? 'tightens' : 'changes'
}

/** A truth that is the same for every call, or flags for whether the label can raise or lower the truth. */
type Sway = Truth | { readonly up: boolean; readonly down: boolean }

const NONE: Sway = { up: false, down: false }

function swayOf(
  node: ConditionNode,
  asker: SideRule,
  given: { readonly label: string; readonly pool: readonly string[] },
): Sway {
  if (node.kind === 'leaf') return swayOfLeaf(asker.leafOf(node), given)
  if (node.kind === 'not') {
    const inner = swayOf(node.item, asker, given)
    return typeof inner === 'object' ? { up: inner.down, down: inner.up } : not(inner)
  }
  const decisive = node.kind === 'all' ? FALSE : TRUE
  const sways = node.items.map((item) => swayOf(item, asker, given))
  if (sways.includes(decisive)) return decisive
  const open = sways.filter((sway) => typeof sway === 'object')
  return { up: open.some(({ up }) => up), down: open.some(({ down }) => down) }
}

const CALL: Call = { tool: '', payload: {}, tenant: 'test', agent: 'test', at: 0, history: NO_HISTORY }

/** Truths in order of the rules that fire on them: no rules, all except allow rules, all rules. */
const RANKS: readonly Truth[] = [FALSE, UNKNOWN, TRUE]

function swayOfLeaf(
  leaf: Leaf,
  { label, pool }: { readonly label: string; readonly pool: readonly string[] },
): Sway {
  const root = rootOf(leaf)
  if (root.startsWith('tool.')) return leaf.truth(CALL)
  if (!LABELS.includes(root)) return NONE
  const rank = (labels: readonly string[]): number =>
    RANKS.indexOf(
      leaf.truth({ ...CALL, history: { ...NO_HISTORY, taskLabels: labels, agentLabels: labels } }),
    )
  const others = pool.filter((one) => one !== label)
  // No label, each label alone, and one list of every length, because list tests read the elements and their count.
  const histories = [[], ...others.map((one) => [one]), ...others.map((_, i) => others.slice(0, i + 1))]
  const steps = histories.map((labels) => rank([...labels, label].sort()) - rank(labels))
  return { up: steps.some((step) => step > 0), down: steps.some((step) => step < 0) }
}
