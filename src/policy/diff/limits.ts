import { VERDICTS } from '../../domain/decision.ts'
import { type Change, instead, loosenedFirst, loosens, tightens } from '../check/change.ts'
import { LIMIT_KEYS } from '../check/limit.ts'
import { diffOf } from '../check/spec.ts'
import type { BundleIr, LimitIr, RuleFileIr, ToolIr } from '../language/rule.ts'
import { diffWhenMissing } from './when-missing.ts'

/** A change to a limit, as one line. Limits decide by earlier charges, so `diff` compares their settings. */
export interface LimitChange extends Change {
  /** False when neither bundle enforces the limit. */
  readonly enforced: boolean
}

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
  return changes.sort(loosenedFirst)
}

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

function diffLimit(before: Placed | undefined, after: Placed | undefined): readonly Change[] {
  if (before === undefined || after === undefined) {
    return [before ? loosens('removed') : tightens('added')]
  }
  const [one, other] = [before.limit, after.limit]
  if (one.mode !== other.mode)
    return [other.mode === 'shadow' ? loosens('only counted') : tightens('enforced')]
  return [...bySettings(before, after), ...byWhenMissing(before, after)]
}

/** Finds differences in the settings and the tools of the limit. */
function bySettings(
  { limit: one, ...before }: Placed,
  { limit: other, ...after }: Placed,
): readonly Change[] {
  const stricter = VERDICTS.indexOf(other.verdict) - VERDICTS.indexOf(one.verdict)
  const verdict = `${other.verdict} instead of ${one.verdict}`
  return [
    ...(stricter === 0 ? [] : [(stricter > 0 ? tightens : loosens)(verdict)]),
    ...diffOf(LIMIT_KEYS, [one, other], undefined),
    ...instead('applies to', namesOf)(before, after),
  ]
}

/** Finds changes in the meaning of missing fields. Equal findings for several tools appear once. */
function byWhenMissing(before: Placed, after: Placed): readonly Change[] {
  const found = new Map<string, Change & { readonly tools: string[] }>()
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

const namesOf = ({ tools }: Pick<Placed, 'tools'>): string =>
  tools.map(({ contract }) => contract.name).join(', ')
