import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { isFieldProblem, parseField } from '../language/fields.ts'
import { MISSING, walk } from '../language/reading.ts'
import { FACTS, factOf, type Fact } from '../language/facts.ts'
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
  const { tool, tenant, agent, task, at, claimedRisk } = decided
  let call: Call = { tool, tenant, agent, task, at, payload, ...(claimedRisk && { riskLevel: claimedRisk }) }
  const recorded = new Set<string>()
  // Shorter names first, so that each parent precedes its members.
  for (const read of decided.reads.toSorted((a, b) => a.field.length - b.field.length)) {
    const field = parseField(read.field)
    if (isFieldProblem(field)) continue
    const { value } = read
    if (read.state === 'value' && value !== undefined) {
      if (field.root === 'payload') put(payload, field.path, value)
      else if (isOfKind(FACTS[field.root], value)) call = withFact(call, FACTS[field.root], value)
      else continue
    }
    recorded.add(field.name)
  }
  return {
    call,
    isUnknown: (field) =>
      (factOf(field.root)?.recorded ?? 'with the decision') === 'with the decision' &&
      !isRecorded(recorded, field),
    isLoose: ({ root, path, name }) =>
      root === 'payload' && path.length > 1 && recorded.has(name) && !isThere(payload, path.slice(0, -1)),
  }
}

/** Returns true for a value of the fact's kind. A record holds null for a value that could not be read. */
function isOfKind({ schema: { type } }: Fact, value: JsonValue): boolean {
  if (type !== 'array') return typeof value === (type === 'integer' ? 'number' : 'string')
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

/** Returns the call with a fact that only its own record holds. */
function withFact(call: Call, { recorded, put: putFact }: Fact, value: JsonValue): Call {
  return recorded === 'with the decision' && typeof putFact !== 'string' ? putFact(call, value) : call
}

function isThere(payload: JsonObject, path: readonly (string | number)[]): boolean {
  return walk(payload, path) !== MISSING
}

/** True for a field that was recorded, or that is inside a recorded field. */
function isRecorded(recorded: ReadonlySet<string>, { name }: FieldIr): boolean {
  if (recorded.has(name)) return true
  for (let end = name.length - 1; end > 0; end--)
    if ((name[end] === '.' || name[end] === '[') && recorded.has(name.slice(0, end))) return true
  return false
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
