import { schemaDefaults } from '../schema/defaults.ts'
import type { FieldIr, LimitIr, RuleFileIr, ToolIr } from '../language/rule.ts'
import type { Direction } from './outcome.ts'
import { requiredOf, wholePart } from './subschema.ts'

/** A field that a limit measures, in its file and for one tool. */
interface Measured {
  readonly limit: LimitIr
  readonly file: RuleFileIr
  readonly tool: ToolIr
}

/** The value that a limit uses for a missing field. With `unknown`, the limit fires whatever was charged. */
type StandIn =
  | { readonly kind: 'unknown' | 'nothing' }
  | { readonly kind: 'value'; readonly value: unknown; readonly text: string }

export interface StandInChange {
  readonly direction: Direction
  readonly text: string
}

/**
 * Compares what a limit uses for missing fields: `missing_means` of the file, or a default of the contract. Skips
 * fields that both contracts require.
 */
export function diffStandIns(before: Measured, after: Measured): readonly StandInChange[] {
  const fields = fieldsOf(after.limit).filter((field) =>
    fieldsOf(before.limit).some(({ name }) => name === field.name),
  )
  return fields.flatMap((field) => {
    if (isAlwaysThere(before, field) && isAlwaysThere(after, field)) return []
    const [old, current] = [standInOf(before, field), standInOf(after, field)]
    const direction = directionOf(old, current, field === after.limit.sum)
    const text = `a missing ${field.name} means ${show(current)} instead of ${show(old)}`
    return direction === undefined ? [] : [{ direction, text }]
  })
}

function fieldsOf({ sum, per }: LimitIr): readonly FieldIr[] {
  return [...(sum ? [sum] : []), ...(typeof per === 'string' ? [] : [per])]
}

function isAlwaysThere({ tool }: Measured, { root, path }: FieldIr): boolean {
  const [name] = path
  return (
    root === 'payload' &&
    path.length === 1 &&
    requiredOf(wholePart(tool.contract.inputSchema)).includes(String(name))
  )
}

/** Returns the value as a condition reads it: `missing_means` first, then the defaults of the contract. */
function standInOf({ file, tool }: Measured, { name, root, path }: FieldIr): StandIn {
  const means = file.missingMeans.find(({ field }) => field === name)
  if (means) return means.value === undefined ? { kind: 'nothing' } : valueOf(means.value, '')
  const defaults = root === 'payload' ? schemaDefaults(tool.contract.inputSchema, path) : undefined
  if (defaults === undefined) return { kind: 'unknown' }
  const inner = defaults.length === 1 ? defaults[0] : defaults.map((one) => one ?? null)
  return valueOf(inner, ' (default of the contract)')
}

function valueOf(value: unknown, whose: string): StandIn {
  return { kind: 'value', value, text: `${JSON.stringify(value)}${whose}` }
}

const show = (one: StandIn): string => (one.kind === 'value' ? one.text : one.kind)

/** Kinds from the loosest to the strictest. */
const STRICTNESS: readonly StandIn['kind'][] = ['nothing', 'value', 'unknown']

function directionOf(before: StandIn, after: StandIn, isSum: boolean): Direction | undefined {
  const stricter = STRICTNESS.indexOf(after.kind) - STRICTNESS.indexOf(before.kind)
  if (stricter !== 0) return stricter > 0 ? 'tightens' : 'loosens'
  if (before.kind !== 'value' || after.kind !== 'value') return undefined
  const [old, current] = [before.value, after.value]
  if (JSON.stringify(old) === JSON.stringify(current)) return undefined
  if (!isSum || typeof old !== 'number' || typeof current !== 'number') return 'changes'
  return current > old ? 'tightens' : 'loosens'
}
