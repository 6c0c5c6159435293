import { RISKS, VERDICTS } from '../../domain/decision.ts'
import { canonicalJson } from '../../domain/digest.ts'
import type { JsonValue } from '../../contract/json.ts'
import { type Direction, loosenedFirst } from '../check/change.ts'
import type { CompiledSnapshot } from '../evaluate/compile.ts'
import { compareResults, describeRequirement, type Result } from '../diff/outcome.ts'
import type { Decided, Export } from './records.ts'
import { createReplay, type Judgement, type Replay } from './replay.ts'
import { remember } from '../language/remember.ts'

/** Calls whose decisions differ between the two bundles in the same way. */
export interface Flip {
  readonly direction: Direction
  readonly tool: string
  readonly before: Side
  readonly after: Side
  /** Number of recorded calls. */
  readonly calls: number
  /** The tenants and record numbers of the first such calls. */
  readonly examples: readonly Example[]
}

export interface Side {
  readonly verdict: string
  /** The risk; `?` when the replay cannot determine it. */
  readonly risk: string
  readonly by: readonly string[]
  /** The required reviewers, when both bundles require a review. */
  readonly reviewers?: string
}

export interface Example {
  readonly tenant: string
  readonly number: number
}

/** Calls for which the replay cannot determine whether the bundles differ, and the reasons. */
export interface Undecided {
  readonly tool: string
  readonly because: readonly string[]
  readonly calls: number
  readonly examples: readonly Example[]
}

export interface Backtest {
  /** The two bundle revisions. */
  readonly before: string
  readonly after: string
  readonly calls: number
  readonly unchanged: number
  /** Loosened calls first. */
  readonly flips: readonly Flip[]
  readonly untold: readonly Undecided[]
  /**
   * The number of calls that the bundle BEFORE originally decided, and how many of them the replay decides differently.
   */
  readonly checked: { readonly calls: number; readonly differing: number }
  /** Tenants whose first records are not in the export. */
  readonly incomplete: readonly string[]
}

const MOST_EXAMPLES = 5

/** Replays an export under two bundles, and compares their decisions on every call. */
export async function backtest(
  { events, fromTheStart }: Export,
  before: CompiledSnapshot,
  after: CompiledSnapshot,
): Promise<Backtest> {
  const replays = new Map<string, readonly [Replay, Replay]>()
  const replaysOf = (tenant: string): readonly [Replay, Replay] =>
    remember(replays, tenant, () => {
      const complete = fromTheStart.has(tenant)
      return [createReplay(before, complete), createReplay(after, complete)]
    })
  const knows = (tenant: string): boolean =>
    [before, after].some(({ directory }) => directory.tenants.has(tenant))
  const tally = createTally(before.revision)
  for await (const event of events) {
    const [old, young] = replaysOf(event.tenant)
    if (event.kind !== 'decided') for (const replay of [old, young]) replay.follow(event)
    else if (!knows(event.tenant)) tally.add(event, ...unjudged(event))
    else tally.add(event, await old.decide(event), await young.decide(event))
  }
  const incomplete = [...replays.keys()].filter((tenant) => !fromTheStart.has(tenant)).sort()
  return { before: before.revision, after: after.revision, ...tally.sums(), incomplete }
}

/**
 * Returns no verdict for a tenant that neither bundle has. Both bundles reject the tenant's calls, regardless of their
 * rules.
 */
function unjudged({ tenant }: Decided): readonly [Judgement, Judgement] {
  const judgement = { because: [`tenant ${tenant}, which neither bundle has`] }
  return [judgement, judgement]
}

interface Tally {
  add(decided: Decided, before: Judgement, after: Judgement): void
  sums(): Omit<Backtest, 'before' | 'after' | 'incomplete'>
}

type Growing<T> = T & { calls: number; readonly examples: Example[] }

function createTally(revision: string): Tally {
  const flips = new Map<string, Growing<Flip>>()
  const untold = new Map<string, Growing<Undecided>>()
  const checked = { calls: 0, differing: 0 }
  let calls = 0
  let unchanged = 0
  return {
    add(decided, before, after) {
      calls++
      if (decided.policy === revision) check(checked, decided, before)
      const direction = directionOf(before, after)
      if (direction === 'same') unchanged++
      else if (direction === 'untold') {
        const because = [...new Set([...before.because, ...after.because])].sort()
        grow(untold, { tool: decided.tool, because }, decided)
      } else {
        const knowsBoth = before.requirement !== undefined && after.requirement !== undefined
        const sides = { before: sideOf(before, knowsBoth), after: sideOf(after, knowsBoth) }
        grow(flips, { direction, tool: decided.tool, ...sides }, decided)
      }
    },
    sums: () => ({
      calls,
      unchanged,
      flips: [...flips.values()].sort(byWeight),
      untold: [...untold.values()].sort((a, b) => b.calls - a.calls),
      checked,
    }),
  }
}

function grow<T extends object>(
  groups: Map<string, Growing<T>>,
  group: Omit<T, 'calls' | 'examples'>,
  { tenant, number }: Decided,
): void {
  const key = canonicalJson(group as unknown as JsonValue)
  const known = remember(groups, key, () => ({ ...group, calls: 0, examples: [] }) as unknown as Growing<T>)
  known.calls++
  if (known.examples.length < MOST_EXAMPLES) known.examples.push({ tenant, number })
}

function check(checked: { calls: number; differing: number }, decided: Decided, judgement: Judgement): void {
  if (judgement.verdict === undefined) return
  checked.calls++
  const agrees =
    judgement.verdict === decided.verdict && (judgement.risk === undefined || judgement.risk === decided.risk)
  if (!agrees) checked.differing++
}

type Difference = Direction | 'same' | 'untold'

/**
 * Compares two judgements as `diff` does: the verdict first, the risk last. Two judgements may be comparable even when
 * parts are unknown.
 */
function directionOf(before: Judgement, after: Judgement): Difference {
  const verdict = along(VERDICTS, before.verdict, after.verdict)
  if (verdict !== 'same') return verdict
  const [old, current] = [resultOf(before), resultOf(after)]
  if (old && current) return compareResults(old, current) ?? 'same'
  const risk = along(RISKS, before.risk, after.risk)
  return risk === 'same' ? 'untold' : risk
}

/** Returns undefined when a part of the decision is unknown. */
function resultOf({ verdict, risk, requirement, by = [] }: Judgement): Result | undefined {
  if (verdict === undefined || risk === undefined || (verdict === 'review' && requirement === undefined))
    return undefined
  return { kind: 'decided', verdict, risk, by, ...(requirement && { requirement }) }
}

/** @param scale the values, from the loosest to the strictest */
function along<T>(scale: readonly T[], before: T | undefined, after: T | undefined): Difference {
  if (before === undefined || after === undefined) return 'untold'
  if (before === after) return 'same'
  return scale.indexOf(after) < scale.indexOf(before) ? 'loosens' : 'tightens'
}

function sideOf({ verdict, risk, by = [], requirement }: Judgement, knowsBoth: boolean): Side {
  const reviewers = knowsBoth && requirement ? { reviewers: describeRequirement(requirement) } : {}
  return { verdict: verdict ?? '?', risk: risk ?? '?', by, ...reviewers }
}

const byWeight = (a: Flip, b: Flip): number => loosenedFirst(a, b) || b.calls - a.calls
