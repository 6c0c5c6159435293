import { RISKS, VERDICTS } from '../../domain/decision.ts'
import { fieldText } from '../language/fields.ts'
import type { BundleIr, LimitIr, RuleFileIr, ToolIr } from '../language/rule.ts'
import { duration } from '../language/time.ts'
import type { Direction } from './outcome.ts'
import { diffWhenMissing } from './when-missing.ts'

/** A change to a limit, as one line. Limits decide by earlier charges, so `diff` compares their settings. */
export interface LimitChange {
  readonly direction: Direction
  /** `limit refund-daily: at most 200000 instead of 100000`. */
  readonly text: string
  /** False when neither bundle enforces the limit. */
  readonly enforced: boolean
}

type Finding = Omit<LimitChange, 'enforced'>

/** Compares the limits of both bundles. Loosened limits come first. */
export function diffLimits(before: BundleIr, after: BundleIr): readonly LimitChange[] {
  const [old, current] = [limitsOf(before), limitsOf(after)]
  const ids = [...new Set([...old.keys(), ...current.keys()])].sort()
  const changes = ids.flatMap((id) => {
    const [one, other] = [old.get(id), current.get(id)]
    const enforced = [one, other].some((placed) => placed?.limit.mode === 'enforced')
    return diffLimit(one, other).map(({ direction, text }) => ({
      direction: enforced ? direction : 'changes',
      text: `limit ${id}${enforced ? '' : ' (shadow)'}: ${text}`,
      enforced,
    }))
  })
  return changes.sort((a, b) => ORDER.indexOf(a.direction) - ORDER.indexOf(b.direction))
}

const ORDER: readonly Direction[] = ['loosens', 'changes', 'tightens']

/** A limit with the tools that it applies to. */
interface Placed {
  readonly limit: LimitIr
  readonly file: RuleFileIr
  readonly tools: readonly ToolIr[]
}

function limitsOf({ tools, ruleFiles }: BundleIr): ReadonlyMap<string, Placed> {
  const placed = ruleFiles.flatMap((file, index) =>
    file.limits.map((limit): [string, Placed] => {
      return [limit.id, { limit, file, tools: tools.filter((tool) => tool.ruleFiles.includes(index)) }]
    }),
  )
  return new Map(placed)
}

function diffLimit(before: Placed | undefined, after: Placed | undefined): readonly Finding[] {
  if (before === undefined || after === undefined) {
    return [before ? loosens('removed') : tightens('added')]
  }
  const [one, other] = [before.limit, after.limit]
  if (one.mode !== other.mode)
    return [other.mode === 'shadow' ? loosens('only counted') : tightens('enforced')]
  return [...byScale(one, other), ...byMeaning(before, after), ...byWhenMissing(before, after)]
}

/** Finds differences that make the limit more or less strict. */
function byScale(before: LimitIr, after: LimitIr): readonly Finding[] {
  return [
    ...along(VERDICTS.indexOf(after.verdict) - VERDICTS.indexOf(before.verdict), () => [
      `${after.verdict} instead of ${before.verdict}`,
    ]),
    ...along(rankOf(after) - rankOf(before), () => [
      `risk ${after.risk ?? 'of the call'} instead of ${before.risk ?? 'of the call'}`,
    ]),
    ...along(before.atMost - after.atMost, () => [`at most ${after.atMost} instead of ${before.atMost}`]),
    ...along(after.withinMs - before.withinMs, () => [
      `within ${duration(after.withinMs)} instead of ${duration(before.withinMs)}`,
    ]),
  ]
}

const rankOf = ({ risk }: LimitIr): number => (risk === undefined ? -1 : RISKS.indexOf(risk))

function along(stricter: number, say: () => readonly string[]): readonly Finding[] {
  if (stricter === 0) return []
  return say().map(stricter > 0 ? tightens : loosens)
}

/** Finds differences in the measure, the scope and the tools of the limit. */
function byMeaning(before: Placed, after: Placed): readonly Finding[] {
  const differing = (
    [
      ['counts', measureOf(before.limit), measureOf(after.limit)],
      ['per', scopeOf(before.limit), scopeOf(after.limit)],
      ['applies to', namesOf(before), namesOf(after)],
    ] as const
  ).filter(([, one, other]) => one !== other)
  return differing.map(([what, one, other]) => ({
    direction: 'changes',
    text: `${what} ${other} instead of ${one}`,
  }))
}

/** Finds changes in the meaning of missing fields. Equal findings for several tools appear once. */
function byWhenMissing(before: Placed, after: Placed): readonly Finding[] {
  const found = new Map<string, Finding & { readonly tools: string[] }>()
  for (const tool of after.tools) {
    const { name } = tool.contract
    const old = before.tools.find(({ contract }) => contract.name === name)
    if (old === undefined) continue
    for (const change of diffWhenMissing({ ...before, tool: old }, { ...after, tool })) {
      const known = found.get(change.text) ?? { ...change, tools: [] }
      known.tools.push(name)
      found.set(change.text, known)
    }
  }
  return [...found.values()].map(({ direction, text, tools }) => ({
    direction,
    text: after.tools.length === 1 ? text : `${text} (${tools.join(', ')})`,
  }))
}

const namesOf = ({ tools }: Placed): string => tools.map(({ contract }) => contract.name).join(', ')
const measureOf = ({ sum }: LimitIr): string => (sum ? fieldText(sum) : 'calls')
const scopeOf = ({ per }: LimitIr): string => (typeof per === 'string' ? per : fieldText(per))
const loosens = (text: string): Finding => ({ direction: 'loosens', text })
const tightens = (text: string): Finding => ({ direction: 'tightens', text })
