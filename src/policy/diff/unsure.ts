import { RISKS, VERDICTS } from '../../domain/decision.ts'
import type { ConditionNode, LeafNode } from '../evaluate/conditions.ts'
import { leavesOf } from '../evaluate/conditions.ts'
import { fieldText } from '../language/fields.ts'
import type { Test } from '../language/operators.ts'
import type { Call } from '../language/snapshot.ts'
import { changeMembers, readsMembers, testsIn } from '../language/test-parts.ts'
import { describeTest } from '../language/words.ts'
import { wholeAcceptanceOf } from './acceptance.ts'
import { showSchema } from './contracts.ts'
import type { Dimension } from './dimension.ts'
import { along, isStill, opposite, type Moves } from './moves.ts'
import type { Direction } from '../check/change.ts'
import { describeRequirement, type Result } from './outcome.ts'
import { payloadNames, wholeDoubts, wholeParts } from './payload-dimension.ts'
import { reviewerMoves, riskMoves, ruleMoves, type RulePair, type Sides } from './rule-moves.ts'
import type { SideRule } from './side.ts'

/** A part that differs between the bundles, and whose effect no example shows. */
export interface Unsure {
  /** `may` when the part can move decisions in one direction only. */
  readonly kind: 'may loosen' | 'may tighten' | 'cannot tell'
  /** `rule refund-small`, `the contract` or `routing`. */
  readonly part: string
  readonly before: string
  readonly after: string
}

/** A decision that differs, with the results of both bundles. */
export interface Shown {
  readonly before: Result
  readonly after: Result
  readonly direction: Direction
}

interface Part extends Pick<Unsure, 'part' | 'before' | 'after'> {
  /** The directions in which the part may move decisions. Up is stricter. */
  readonly moves: Moves
  /** True when the part may be the cause of the difference. */
  readonly causes: (shown: Shown) => boolean
}

interface Seen {
  readonly base: Call
  readonly dimensions: readonly Dimension[]
  readonly shown: readonly Shown[]
}

/** Returns each part that the decisions of a sampled tool read, that differs, and whose effect no example shows. */
export function unsureOf(sides: Sides, { base, dimensions, shown }: Seen): readonly Unsure[] {
  if (!sides[1].contract) return []
  const rules = ruleParts(sides, base)
  const unexplained = shown.filter((one) => !rules.some(({ causes }) => causes(one)))
  const open = [
    ...rules.filter((one) => !isShown(one, shown)),
    ...[...contractParts(sides, dimensions), ...routingParts(sides)].filter(
      (one) => !isShown(one, unexplained),
    ),
  ]
  return open.map(({ part, moves, before, after }) => ({
    kind: kindOf(moves),
    part,
    before,
    after,
  }))
}

/** A part that may loosen needs an example that is looser. */
const isShown = ({ moves, causes }: Part, shown: readonly Shown[]): boolean =>
  shown.some((one) => (!moves.down || one.direction !== 'tightens') && causes(one))

const kindOf = ({ up, down }: Moves): Unsure['kind'] =>
  up && down ? 'cannot tell' : down ? 'may loosen' : 'may tighten'

const ABSENT = 'nothing'

function ruleParts(sides: Sides, base: Call): readonly Part[] {
  const [before, after] = sides.map(
    ({ rules }) => new Map(rules.map((rule) => [rule.rule.onTrue.fired.id, rule])),
  )
  const ids = new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])
  return [...ids].sort().flatMap((id) => {
    const pair: RulePair = [before?.get(id), after?.get(id)]
    const moves = ruleMoves(pair, sides, base)
    const [one, other] = linesThatDiffer(pair)
    const causes = firesOtherwise(id, pair)
    return isStill(moves) ? [] : [{ part: `rule ${id}`, moves, before: one, after: other, causes }]
  })
}

/** Returns a function that is true when the rule fires on one side only, or fires with another effect. */
function firesOtherwise(id: string, [before, after]: RulePair): Part['causes'] {
  const sameEffect = before && after && effectText(before) === effectText(after)
  return (shown) => {
    if (shown.before.kind === 'refused' || shown.after.kind === 'refused') return false
    const [old, current] = [shown.before.fired?.get(id), shown.after.fired?.get(id)]
    return old !== current || (!sameEffect && old !== undefined)
  }
}

/** Returns the first line of each side that the other side lacks. */
function linesThatDiffer([before, after]: RulePair): readonly [string, string] {
  if (!before || !after) return [before ? wholeText(before) : ABSENT, after ? wholeText(after) : ABSENT]
  const [old, current] = [linesOf(before, after), linesOf(after, before)]
  const [one] = [...old].filter((line) => !current.has(line))
  const [other] = [...current].filter((line) => !old.has(line))
  return one === undefined && other === undefined
    ? [conditionText(before.condition), conditionText(after.condition)]
    : [one ?? ABSENT, other ?? ABSENT]
}

const wholeText = (one: SideRule): string => `${effectText(one)} when ${conditionText(one.condition)}`

function effectText({ rule, from, until }: SideRule): string {
  const { verdict, risk, reviewers, covers, onUnknown } = rule
  const unknown = onUnknown.rule.verdict
  const dates = { from, until }
  return [
    verdict,
    ...(unknown === verdict ? [] : [`${unknown} when it cannot be checked`]),
    ...(risk ? [`risk ${risk}`] : []),
    ...(reviewers ? [describeRequirement(reviewers)] : []),
    ...(covers || verdict !== 'review' ? [] : ['for every tool']),
    ...Object.entries(dates).flatMap(([name, leaf]) =>
      leaf?.fromMs === undefined ? [] : [`${name} ${new Date(leaf.fromMs).toISOString()}`],
    ),
  ].join(', ')
}

/** Returns the effect and each test of a rule as a line. A line omits most values that the other rule has too. */
function linesOf(rule: SideRule, other: SideRule): ReadonlySet<string> {
  const known = leavesOf(other.condition)
  const lines = leavesOf(rule.condition).map((leaf) => {
    const name = fieldText(leaf.field)
    const values = known.flatMap(({ field, test }) => (fieldText(field) === name ? valuesIn(test) : []))
    return leafText({ ...leaf, test: shortened(leaf.test, new Set(values)) })
  })
  return new Set([effectText(rule), ...lines])
}

const MOST_VALUES = 8

function shortened(test: Test, known: ReadonlySet<unknown>): Test {
  if (readsMembers(test))
    return changeMembers(test, (member) => ({ ...member, test: shortened(member.test, known) }))
  if ('test' in test) return { ...test, test: shortened(test.test, known) }
  if (!('values' in test) || test.values.length <= MOST_VALUES) return test
  const own = (test.values as readonly string[]).filter((value) => !known.has(value))
  return { ...test, values: own } as Test
}

const valuesIn = (test: Test): readonly unknown[] =>
  [...testsIn(test)].flatMap((one): readonly unknown[] => ('values' in one ? one.values : []))

const MOST_TEXT = 200

function conditionText(node: ConditionNode): string {
  const text = nodeText(node)
  return text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)}...`
}

function nodeText(node: ConditionNode): string {
  if (node.kind === 'leaf') return leafText(node)
  if (node.kind === 'not') return `not (${nodeText(node.item)})`
  return node.items.map(nodeText).join(node.kind === 'all' ? ' and ' : ' or ') || 'always'
}

function leafText({ field, test, whenMissing }: LeafNode): string {
  const missing = whenMissing === undefined ? '' : ` (missing: ${JSON.stringify(whenMissing)})`
  return `${fieldText(field)} ${describeTest(test)}${missing}`
}

/** Returns the contract when it accepts other payloads. If its examples are complete, they give the direction. */
function contractParts(sides: Sides, dimensions: readonly Dimension[]): readonly Part[] {
  const [one, other] = wholeParts(sides)
  if (!one || !other) return []
  const names = payloadNames(sides)
  const [name] = names
  const isSame = wholeDoubts(sides).length === 0
  if (isSame && name === undefined) return []
  const disputed = dimensions.filter((each) => names.some((field) => each.name === `payload.${field}`))
  const fits = disputed.flatMap(({ classes }) => classes.map((each) => each.fits))
  const isCertain = isSame && disputed.every(({ doubts }) => doubts.length === 0)
  const [before, after] = [one, other].map((whole) =>
    name === undefined ? wholeAcceptanceOf(whole) : `payload.${name}: ${showSchema(whole, name)}`,
  ) as [string, string]
  const moves = {
    up: !isCertain || fits.some(([old, current]) => old && !current),
    down: !isCertain || fits.some(([old, current]) => !old && current),
  }
  const causes: Part['causes'] = (shown) => shown.before.kind !== shown.after.kind
  return [{ part: 'the contract', moves, before, after, causes }]
}

/** Returns each setting of the routing, and the risk of the tool, that differs. */
function routingParts(sides: Sides): readonly Part[] {
  const [one, other] = [sides[0].bundle.ir.head.routing, sides[1].bundle.ir.head.routing]
  const [old, current] = [sides[0].contract, sides[1].contract]
  const rows: readonly (readonly [string, string, string, Moves])[] = [
    [
      'unmatched',
      one.unmatched,
      other.unmatched,
      along(VERDICTS.indexOf(other.unmatched) - VERDICTS.indexOf(one.unmatched)),
    ],
    [
      'allow_up_to',
      one.allowUpTo,
      other.allowUpTo,
      opposite(riskMoves(one.allowUpTo, other.allowUpTo, sides)),
    ],
    ...RISKS.map((risk) => {
      const levels = [one.levels[risk], other.levels[risk]] as const
      const [before = '', after = ''] = levels.map(describeRequirement)
      return [`levels.${risk}`, before, after, reviewerMoves(...levels)] as const
    }),
    ...(old && current
      ? [['risk of the tool', old.risk, current.risk, riskMoves(old.risk, current.risk, sides)] as const]
      : []),
  ]
  return rows.flatMap(([name, before, after, moves]) =>
    isStill(moves)
      ? []
      : [
          {
            part: 'routing',
            moves,
            before: `${name}: ${before}`,
            after: `${name}: ${after}`,
            causes: isDecided,
          },
        ],
  )
}

const isDecided: Part['causes'] = ({ before, after }) => before.kind === after.kind
