import type { JsonObject } from '../../contract/json.ts'
import { RISKS } from '../../domain/decision.ts'
import { type Direction, rank } from '../check/change.ts'
import { MISSING } from '../language/reading.ts'
import { type Call, NO_HISTORY } from '../language/snapshot.ts'
import { weekdayBefore } from '../language/time.ts'
import { boundingBox, boxesOf, countCells, trimmed, type Box, type Covers } from './boxes.ts'
import { buildDiagram, type Diagram, type Ending } from './diagram.ts'
import type { Dimension } from './dimension.ts'
import { dimensionsOf, type Dimensions } from './dimensions.ts'
import { callAt, resultOf } from './judge.ts'
import { compareResults, describeResult, resultKey, tellsReviewers, type Result } from './outcome.ts'
import { payloadNames, wholeDoubts, wholeParts } from './payload-dimension.ts'
import { planOf } from './plan.ts'
import { sampleOf } from './sample.ts'
import { samplePaths } from './sampling.ts'
import { createSide, leavesOf, testedPayloads, type Bundle, type Side } from './side.ts'
import { unsureOf, type Shown, type Unsure } from './unsure.ts'
import { describeBox } from './words.ts'
import { remember } from '../language/remember.ts'

/** A set of calls of one tool whose decisions change in the same way. */
export interface Change {
  readonly direction: Direction
  /** `review/medium`; `invalid` when the contract refuses the payload. */
  readonly before: string
  readonly after: string
  /** Conditions. Exactly these calls meet at least one of them. Each condition begins with `when`, or is `always`. */
  readonly where: readonly string[]
  /** True when `where` is too wide and also covers other calls. */
  readonly rough: boolean
  /** True when the change occurs only with a risk_level above low, which an agent may claim. */
  readonly raised: boolean
  /** False when a reject became an invalid payload or the reverse, because neither bundle permits the call. */
  readonly opening: boolean
  readonly cells: number
  readonly example: Example
}

/** A call that both bundles evaluated, with both results. */
export interface Example {
  readonly call: Call
  readonly beforeBy: readonly string[]
  readonly afterBy: readonly string[]
}

export interface ToolDiff {
  readonly tool: string
  readonly presence: 'both' | 'added' | 'removed'
  readonly changes: readonly Change[]
  /** The number of combinations of classes over all dimensions. */
  readonly cells: number
  /** Reasons why changes may be missing. Empty when the difference is complete. */
  readonly doubts: readonly string[]
  /** The parts that differ and whose effect no example shows. Empty when the difference is complete. */
  readonly unsure: readonly Unsure[]
}

type Sides = readonly [Side, Side]

/** A change, and the combinations of classes in which it occurs. */
export interface FoundChange {
  readonly change: Change
  readonly boxes: readonly Box[]
}

export interface ToolAnalysis extends Omit<ToolDiff, 'changes'> {
  readonly dimensions: readonly Dimension[]
  readonly found: readonly FoundChange[]
}

/** Returns every change of verdict, risk, reviewers or time, for all calls of a tool. */
export async function diffTool(bundles: readonly [Bundle, Bundle], tool: string): Promise<ToolDiff> {
  const { dimensions: _, found, ...rest } = await analyzeTool(bundles, tool)
  return { ...rest, changes: found.map(({ change }) => change) }
}

export async function analyzeTool(bundles: readonly [Bundle, Bundle], tool: string): Promise<ToolAnalysis> {
  const sides = bundles.map((bundle) => createSide(bundle, tool)) as unknown as Sides
  const presence = !sides[0].contract ? 'added' : !sides[1].contract ? 'removed' : 'both'
  const base = baseCall(sides, tool)
  const dimensions = dimensionsOf(sides, base)
  const diagram = buildDiagram(planOf(sides, dimensions, base))
  const space = { sides, base, dimensions: dimensions.all, oneSided: presence !== 'both' }
  const { found, shown, doubts } = diagram ? await readDiagram(space, diagram) : await readSamples(space)
  const cells = countCells(
    new Map(),
    dimensions.all.map(({ classes }) => classes.length),
  )
  // When both sides have the same rules, a decision can differ only for a value that only one contract accepts.
  const isSame = diagram?.sameRules === true && diagram.root.kind === 'same'
  const all = [
    ...doubtsOf(isSame ? disputedIn(dimensions, sides) : dimensions.all),
    ...wholeDoubts(sides),
    ...doubts,
  ]
  const unsure = all.length === 0 ? [] : unsureOf(sides, { base, dimensions: dimensions.all, shown })
  return { tool, presence, dimensions: dimensions.all, found, cells, doubts: all, unsure }
}

function doubtsOf(dimensions: readonly Dimension[]): readonly string[] {
  return dimensions.flatMap(({ doubts }) => doubts)
}

/** Returns the dimensions on which the contracts disagree. */
function disputedIn({ all }: Dimensions, sides: Sides): readonly Dimension[] {
  const names = new Set(payloadNames(sides).map((name) => `payload.${name}`))
  return all.filter(({ name }) => names.has(name))
}

/**
 * Returns the base call for all examples: a fitting payload, agent `test`, on a Monday at noon before every date.
 */
function baseCall(sides: Sides, tool: string): Call {
  const parts = wholeParts(sides)
  const payload = sampleOf(parts, 'object') ?? sampleOf(parts.slice(-1), 'object') ?? {}
  const dates = sides.flatMap((side) => leavesOf(side).flatMap(({ fromMs }) => fromMs ?? []))
  const { timezone } = sides[1].bundle.ir.head.routing
  const at = weekdayBefore(timezone, Math.min(...dates, Number.MAX_SAFE_INTEGER), {
    weekday: 'mon',
    hour: 12,
  })
  return { tool, payload: payload as JsonObject, tenant: 'test', agent: 'test', at, history: NO_HISTORY }
}

interface Space {
  readonly sides: Sides
  readonly base: Call
  readonly dimensions: readonly Dimension[]
  /** True when one bundle lacks the tool. */
  readonly oneSided: boolean
}

interface Read {
  readonly found: readonly FoundChange[]
  /** All examples whose decisions differ, except those that neither bundle permits. */
  readonly shown: readonly Shown[]
  readonly doubts: readonly string[]
}

interface Judged extends Shown {
  readonly call: Call
  readonly path: readonly number[]
}

async function readDiagram(space: Space, { root, endings }: Diagram): Promise<Read> {
  const { changed, doubts } = await judgeAll(space, endings)
  const labels = new Map(endings.map((ending) => [ending, labelOf(changed.get(ending.path))]))
  const covers = boxesOf(root, (ending: Ending) => labels.get(ending))
  return { found: changesOf(space, changed, covers), shown: openingsOf(changed), doubts }
}

async function readSamples(space: Space): Promise<Read> {
  const sizes = space.dimensions.map(({ classes }) => classes.length)
  const paths = [...samplePaths(sizes), ...testedPaths(space)]
  const { changed, doubts } = await judgeAll(
    space,
    paths.map((path) => ({ path })),
  )
  const drawn = new Map<string, Box[]>()
  for (const [path, judged] of changed) {
    const label = labelOf(judged) ?? ''
    const box = new Map(path.map((number, i): [number, readonly number[]] => [i, [number]]))
    remember(drawn, label, () => []).push(box)
  }
  const byLabel = new Map([...drawn].map(([label, boxes]) => [label, [trimmed(boundingBox(boxes), sizes)]]))
  const sampled = `${paths.length} calls were drawn out of ${countCells(new Map(), sizes)} cells`
  return {
    found: changesOf(space, changed, { byLabel, rough: new Set(byLabel.keys()) }),
    shown: openingsOf(changed),
    doubts: [sampled, ...doubts],
  }
}

/** Returns the path of each inline test, for a call that is like the base call except for its payload. */
function testedPaths({ sides, base, dimensions }: Space): readonly (readonly number[])[] {
  return testedPayloads(sides, base.tool).map((payload) => {
    const call = { ...base, payload }
    return dimensions.map(({ name, leaves, classes }) => {
      const value = payload[name.slice('payload.'.length)] ?? MISSING
      const fitting = classes.filter(({ truths }) =>
        leaves.every((leaf) => truths.get(leaf.key) === leaf.truth(call)),
      )
      const own = fitting.find(({ members }) => members.includes(value)) ?? fitting[0]
      return own?.number ?? 0
    })
  })
}

const openingsOf = (changed: Changed): readonly Shown[] => [...changed.values()].filter(isOpening)

/** Returns false when a reject became an invalid payload or the reverse, because neither bundle permits the call. */
const isOpening = ({ before, after }: Shown): boolean =>
  !(isRefusal(before) && isRefusal(after) && before.kind !== after.kind)

type Changed = ReadonlyMap<readonly number[], Judged>

/** Evaluates one call for each path, with both bundles. */
async function judgeAll(
  { sides, base, dimensions, oneSided }: Space,
  paths: readonly { readonly path: readonly number[] }[],
): Promise<{ readonly changed: Changed; readonly doubts: readonly string[] }> {
  const changed = new Map<readonly number[], Judged>()
  let unfit = 0
  for (const { path } of paths) {
    const call = callAt(base, dimensions, path)
    const before = await resultOf(sides[0], call)
    const after = await resultOf(sides[1], call)
    if (!fitsAsExpected(dimensions, path, [before, after])) unfit++
    const direction = compareResults(before, after)
    if (direction && !(oneSided && isRefusal(before) && isRefusal(after)))
      changed.set(path, { call, path, before, after, direction })
  }
  const doubts = unfit === 0 ? [] : [`${unfit} examples do not fit the contract as a whole`]
  return { changed, doubts }
}

function fitsAsExpected(
  dimensions: readonly Dimension[],
  path: readonly number[],
  results: readonly Result[],
): boolean {
  return results.every(({ kind }, side) => {
    const expected = dimensions.every(({ classes }, i) => classes[path[i] ?? 0]?.fits[side === 0 ? 0 : 1])
    return expected === (kind === 'decided')
  })
}

/** Returns true when the call does not run, because it is rejected or its payload is refused. */
function isRefusal(result: Result): boolean {
  return result.kind === 'refused' || result.verdict === 'reject'
}

function labelOf(judged: Judged | undefined): string | undefined {
  return judged && `${resultKey(judged.before)} ${resultKey(judged.after)}`
}

function changesOf(space: Space, changed: Changed, { byLabel, rough }: Covers): readonly FoundChange[] {
  const examples = new Map<string, Judged>()
  for (const judged of changed.values()) {
    const label = labelOf(judged) ?? ''
    const known = examples.get(label)
    if (!known || riskOf(space, judged) < riskOf(space, known)) examples.set(label, judged)
  }
  const found = [...examples].map(([label, judged]) => {
    const boxes = byLabel.get(label) ?? []
    return { change: { ...changeOf(space, judged, boxes), rough: rough.has(label) }, boxes }
  })
  return found.sort((a, b) => orderOf(a.change) - orderOf(b.change) || compareText(a.change, b.change))
}

const riskOf = ({ dimensions }: Space, { path }: Judged): number => path[dimensions.length - 1] ?? 0

function changeOf(space: Space, judged: Judged, boxes: readonly Box[]): Omit<Change, 'rough'> {
  const { before, after, direction, call } = judged
  const { dimensions } = space
  const reviewers = tellsReviewers(before, after)
  const sizes = dimensions.map(({ classes }) => classes.length)
  const cells = boxes.reduce((sum, box) => sum + countCells(box, sizes), 0)
  return {
    direction,
    before: describeResult(before, reviewers),
    after: describeResult(after, reviewers),
    where: boxes.map((box) => describeBox(box, dimensions)).sort(),
    raised: riskOf(space, judged) > RISKS.indexOf('low'),
    opening: isOpening(judged),
    cells,
    example: { call, beforeBy: byOf(before), afterBy: byOf(after) },
  }
}

function byOf(result: Result): readonly string[] {
  return result.kind === 'decided' ? result.by : []
}

const orderOf = (change: Change): number => rank(change) * 2 + (change.raised ? 1 : 0)

function compareText(a: Change, b: Change): number {
  const [left, right] = [a, b].map((one) => [one.before, one.after, ...one.where].join('\n'))
  return (left ?? '') < (right ?? '') ? -1 : 1
}
