import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { isFieldProblem, parseField } from '../language/fields.ts'
import { MISSING, walk } from '../language/reading.ts'
import type { FieldIr } from '../language/rule.ts'
import type { Call } from '../language/snapshot.ts'
import type { Decided } from './records.ts'

/** A call rebuilt from its evidence, and the fields whose values the evidence lacks. */
export interface Recalled {
  readonly call: Call
  /** True for a field whose value at the time is unknown. */
  readonly isUnknown: (field: FieldIr) => boolean
  /**
   * True for a missing field whose parent may also have been missing. A field's default applies only if its parent
   * exists.
   */
  readonly isLoose: (field: FieldIr) => boolean
}

/** Rebuilds the call of a decision from the fields that were recorded with it. */
export function recall(decided: Decided): Recalled {
  const payload: { [key: string]: JsonValue } = {}
  const facts: { workflow?: string; label?: string; subject?: string } = {}
  const recorded = new Set<string>()
  // Shorter names first, so that each parent precedes its members.
  for (const read of decided.reads.toSorted((a, b) => a.field.length - b.field.length)) {
    const field = parseField(read.field)
    if (isFieldProblem(field) || read.state === 'hidden') continue
    recorded.add(field.name)
    if (read.state === 'missing' || read.value === undefined) continue
    if (field.root === 'payload') put(payload, field.path, read.value)
    else if (typeof read.value === 'string') Object.assign(facts, factOf(field, read.value))
  }
  const { tool, tenant, agent, task, at, claimedRisk } = decided
  return {
    call: {
      tool,
      tenant,
      agent,
      task,
      at,
      payload,
      ...facts,
      ...(claimedRisk && { riskLevel: claimedRisk }),
    },
    isUnknown: (field) => !ALWAYS_RECORDED.includes(field.root) && !isRecorded(recorded, field),
    isLoose: ({ root, path, name }) =>
      root === 'payload' && path.length > 1 && recorded.has(name) && !isThere(payload, path.slice(0, -1)),
  }
}

function isThere(payload: JsonObject, path: readonly (string | number)[]): boolean {
  return walk(payload, path) !== MISSING
}

/** Fields that are in every record, or that the bundle or the replay provides. */
const ALWAYS_RECORDED: readonly FieldIr['root'][] = [
  'agent.id',
  'agent.tenant',
  'agent.tools',
  'agent.labels',
  'task.tools',
  'task.labels',
  'tool.name',
  'tool.labels',
  'tool.reversibility',
  'time.weekday',
  'time.hour',
]

/** True for a field that was recorded, or that is inside a recorded field. */
function isRecorded(recorded: ReadonlySet<string>, { name }: FieldIr): boolean {
  if (recorded.has(name)) return true
  for (let end = name.length - 1; end > 0; end--)
    if ((name[end] === '.' || name[end] === '[') && recorded.has(name.slice(0, end))) return true
  return false
}

function factOf({ root }: FieldIr, value: string): { workflow?: string; label?: string; subject?: string } {
  if (root === 'task.workflow') return { workflow: value }
  if (root === 'task.label') return { label: value }
  return root === 'task.subject' ? { subject: value } : {}
}

/** Sets a recorded value at its path. A recorded null remains null, so rules read the same value again. */
function put(root: { [key: string]: JsonValue }, path: readonly (string | number)[], value: JsonValue): void {
  let here: { [key: string | number]: JsonValue } = root
  for (const [depth, step] of path.entries()) {
    if (depth === path.length - 1) {
      here[step] = value
      return
    }
    const next = Object.hasOwn(here, step) ? here[step] : undefined
    // A parent that is neither an object nor a list cannot contain the value, so the value is dropped.
    if (next !== undefined && (next === null || typeof next !== 'object')) return
    const inner = (next ?? (typeof path[depth + 1] === 'number' ? [] : {})) as JsonObject
    here[step] = inner
    here = inner as { [key: string | number]: JsonValue }
  }
}
