import type { JsonValue } from '../../contract/json.ts'
import type { Change, Direction } from '../check/change.ts'
import { fieldsOfLimit } from '../language/history.ts'
import type { FieldIr, LimitIr, RuleFileIr, ToolIr } from '../language/rule.ts'
import { createWhenMissing, type WhenMissing } from '../schema/when-missing.ts'
import { requiredOf, wholePart } from './subschema.ts'

/** A limit in its file, for one tool. */
interface Measured {
  readonly limit: LimitIr
  readonly file: RuleFileIr
  readonly tool: ToolIr
}

/** Compares the values that a limit uses for missing fields. Skips fields that both contracts require. */
export function diffWhenMissing(before: Measured, after: Measured): readonly Change[] {
  const fields = fieldsOfLimit(after.limit).filter((field) =>
    fieldsOfLimit(before.limit).some(({ name }) => name === field.name),
  )
  return fields.flatMap((field) => {
    if (isAlwaysThere(before, field) && isAlwaysThere(after, field)) return []
    const [old, current] = [whenMissing(before, field), whenMissing(after, field)]
    const direction = directionOf(old, current, field === after.limit.sum)
    const text = `a missing ${field.name} means ${show(current)} instead of ${show(old)}`
    return direction === undefined ? [] : [{ direction, text }]
  })
}

function isAlwaysThere({ tool }: Measured, { root, path }: FieldIr): boolean {
  const [name] = path
  return (
    root === 'payload' &&
    path.length === 1 &&
    requiredOf(wholePart(tool.contract.inputSchema)).includes(String(name))
  )
}

const whenMissing = ({ tool, file }: Measured, field: FieldIr): WhenMissing =>
  createWhenMissing(tool.contract, file)(field)

function show(when: WhenMissing): string {
  if (when === undefined) return 'unknown'
  if (when.kind === 'nothing') return when.kind
  return `${JSON.stringify(valueOf(when))}${when.kind === 'defaults' ? ' (default of the contract)' : ''}`
}

function valueOf(when: Exclude<WhenMissing, undefined | { kind: 'nothing' }>): JsonValue {
  if (when.kind === 'value') return when.value
  const defaults = when.defaults.map((one) => one ?? null)
  return defaults.length === 1 ? (defaults[0] ?? null) : defaults
}

/** Returns a rank from the loosest to the strictest. Without a value, the limit fires regardless of earlier charges. */
function strictness(when: WhenMissing): number {
  if (when === undefined) return 2
  return when.kind === 'nothing' ? 0 : 1
}

function directionOf(before: WhenMissing, after: WhenMissing, isSum: boolean): Direction | undefined {
  const stricter = strictness(after) - strictness(before)
  if (stricter !== 0) return stricter > 0 ? 'tightens' : 'loosens'
  if (!before || !after || before.kind === 'nothing' || after.kind === 'nothing') return undefined
  const [old, current] = [valueOf(before), valueOf(after)]
  if (JSON.stringify(old) === JSON.stringify(current)) return undefined
  if (!isSum || typeof old !== 'number' || typeof current !== 'number') return 'changes'
  return current > old ? 'tightens' : 'loosens'
}
