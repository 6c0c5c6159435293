import { canonicalJson, sha256 } from '../../domain/digest.ts'
import { toNfc } from '../../domain/normal-form.ts'
import { valueOfLeaf, type LeafNode } from './conditions.ts'
import { fieldText } from '../language/fields.ts'
import { MISSING, type Applied } from '../language/reading.ts'
import type { LimitIr, RuleFileIr } from '../language/rule.ts'
import type { Facts } from '../language/facts.ts'
import { NOTHING } from '../schema/when-missing.ts'
import { type CompiledLimit, type Run, withHits } from './run.ts'
import { isSensitive } from '../language/sensitive.ts'
import type { LimitFacts } from './explanation.ts'
import type { Call, LimitUse, Outcome } from '../language/snapshot.ts'

/** The leaves that read the `sum` and `per` fields of a limit. */
export interface LimitLeaves {
  readonly sum: LeafNode | undefined
  readonly per: LeafNode | undefined
}

export function compileLimit(ir: LimitIr, file: RuleFileIr, { sum, per }: LimitLeaves): CompiledLimit {
  const { id, verdict, mode, reason, line } = ir
  const facts = { id, verdict, mode, reason, file: file.path, line }
  return withHits<CompiledLimit>(
    {
      verdict,
      enforced: mode === 'enforced',
      // A limit is not a match, so it never covers a call.
      covers: false,
      risk: ir.risk,
      reviewers: undefined,
      condition: undefined,
      ir,
      sum,
      per,
    },
    { facts },
  )
}

/**
 * Returns the call's use of each limit. Records a hit for each limit that cannot be measured or is in `call.exceeded`.
 * Policy does not read the counters. The caller checks the counters in the commit.
 */
export function useLimits(limits: readonly CompiledLimit[], run: Run): readonly LimitUse[] {
  const uses: LimitUse[] = []
  for (const limit of limits) {
    const use = useOf(limit, run)
    if (use === NOTHING) continue
    if (use === undefined) {
      run.hits.push(limit.onUnknown)
    } else {
      uses.push(use)
      if (run.call.exceeded?.has(use.limit)) run.hits.push(limit.onTrue)
    }
  }
  return uses
}

/** @param sensitive the sensitive fields of all tools under the limit, because one counter sums all their calls */
export function limitFacts(ir: LimitIr, sensitive: readonly string[]): LimitFacts {
  const { id, mode, withinMs, atMost, per, sum } = ir
  return {
    id,
    mode,
    withinMs,
    atMost,
    per: typeof per === 'string' ? per : fieldText(per),
    sensitive:
      isSumSensitive(sum, sensitive) || (typeof per === 'object' && isSensitive(sensitive, per.name)),
  }
}

const isSumSensitive = (sum: LimitIr['sum'], sensitive: readonly string[]): boolean =>
  sum !== undefined && isSensitive(sensitive, sum.name)

/** Returns undefined when the use cannot be measured. Returns NOTHING when `missing_means` sets the use to nothing. */
function useOf(limit: CompiledLimit, facts: Facts): LimitUse | undefined | typeof NOTHING {
  const { id, withinMs, atMost, mode } = limit.ir
  const amount = limit.sum === undefined ? 1 : amountOf(valueOfLeaf(limit.sum, facts))
  const scope = scopeOf(limit, facts)
  if (amount === NOTHING || scope === NOTHING) return NOTHING
  if (amount === undefined || scope === undefined) return undefined
  const sensitive = isSumSensitive(limit.ir.sum, facts.tool.sensitive)
  return { id, limit: `${id} ${scope}`, windowMs: withinMs, amount, atMost, mode, sensitive }
}

function amountOf(value: Applied | typeof NOTHING): number | undefined | typeof NOTHING {
  if (value === NOTHING) return NOTHING
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/**
 * Returns the name of the limit's counter for the call. A field's value is hashed, because it may be long or sensitive.
 */
function scopeOf({ ir, per }: CompiledLimit, facts: Facts): string | undefined | typeof NOTHING {
  const { call } = facts
  if (ir.per === 'tenant') return 'tenant'
  if (ir.per === 'agent') return `agent ${call.agent}`
  // Agents choose the names of their tasks, so two agents may choose the same name.
  if (ir.per === 'task') return `task ${call.agent} ${call.task ?? ''}`
  const value = per === undefined ? MISSING : valueOfLeaf(per, facts)
  if (value === NOTHING) return NOTHING
  const scalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  if (!scalar) return undefined
  // A limit compares strings in NFC, as tests do. A string without a normal form has no counter.
  const member = typeof value === 'string' ? toNfc(value) : value
  return member === undefined ? undefined : sha256(canonicalJson([fieldText(ir.per), member]))
}

/**
 * Returns the call with the limits that it exceeds, given the earlier charges by limit id (0 if absent). One call alone
 * can exceed an unused limit. The outcome must assume room in all limits.
 */
export function callUnder(
  call: Call,
  { limits = [] }: Pick<Outcome, 'limits'>,
  used: ReadonlyMap<string, number>,
): Call {
  const full = limits.filter(({ id, amount, atMost }) => (used.get(id) ?? 0) + amount > atMost)
  return full.length === 0 ? call : { ...call, exceeded: new Set(full.map(({ limit }) => limit)) }
}

/** Returns the fields that prevented the measurement of a limit: `payload.amount: missing`. */
export function unmeasured(
  { ir, sum, per }: Pick<CompiledLimit, 'ir' | 'sum' | 'per'>,
  facts: Facts,
): readonly string[] {
  return [sum, per].flatMap((leaf) => {
    if (leaf === undefined) return []
    const value = valueOfLeaf(leaf, facts)
    const fits =
      leaf === sum
        ? amountOf(value) !== undefined
        : scopeOf({ ir, per } as CompiledLimit, facts) !== undefined
    return fits ? [] : [`${fieldText(leaf.field)}: ${value === MISSING ? 'missing' : 'unreadable'}`]
  })
}
