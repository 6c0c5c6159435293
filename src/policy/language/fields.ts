import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { FieldIr, FieldRoot, FunctionName } from './rule.ts'
import { didYouMean, nearest } from './nearest.ts'
import { showForeign } from './text.ts'

export const FIELD_ROOTS: readonly FieldRoot[] = [
  'payload',
  'agent.id',
  'agent.tenant',
  'agent.tools',
  'agent.labels',
  'tool.name',
  'tool.labels',
  'tool.reversibility',
  'task.workflow',
  'task.label',
  'task.subject',
  'task.tools',
  'task.labels',
  'time.weekday',
  'time.hour',
]
export const FUNCTION_NAMES: readonly FunctionName[] = ['domain', 'host', 'path', 'sql_verbs']

export type FieldProblem = {
  readonly code: 'unknown-field' | 'unknown-function'
  readonly message: string
  readonly hint?: string
  /** What stands where a field is meant, without its function. */
  readonly name?: string
}

/** Reads a FIELD of section 3, optionally `fn(FIELD)`. */
export function parseField(text: string): FieldIr | FieldProblem {
  const call = /^([A-Za-z_]\w*)\((.*)\)$/s.exec(text)
  if (!call) return parsePath(text)
  const fn = FUNCTION_NAMES.find((name) => name === call[1])
  if (fn === undefined) {
    const hint = didYouMean(call[1] ?? '', FUNCTION_NAMES) ?? `one of ${FUNCTION_NAMES.join(', ')}`
    return { code: 'unknown-function', message: `unknown function \`${call[1]}\``, hint }
  }
  const field = parsePath(call[2] ?? '')
  return 'code' in field ? field : { ...field, fn }
}

export function isFieldProblem(parsed: FieldIr | FieldProblem): parsed is FieldProblem {
  return 'code' in parsed
}

/** The field as a policy author writes it, `fn()` included. */
export function fieldText(field: FieldIr): string {
  return field.fn === undefined ? field.name : `${field.fn}(${field.name})`
}

const PAYLOAD_PATH = /^payload((?:\.[A-Za-z_$][\w$-]*|\[(?:0|[1-9]\d{0,5})\])+)$/
const STEP = /\.([A-Za-z_$][\w$-]*)|\[(\d+)\]/g

function parsePath(name: string): FieldIr | FieldProblem {
  const payload = PAYLOAD_PATH.exec(name)
  if (payload) {
    const path = [...(payload[1] ?? '').matchAll(STEP)].map((step) => step[1] ?? Number(step[2]))
    return { name, root: 'payload', path }
  }
  const root = FIELD_ROOTS.find((one) => one === name && one !== 'payload')
  if (root !== undefined) return { name, root, path: [] }
  return {
    code: 'unknown-field',
    message: `\`${showForeign(name)}\` is not a field`,
    hint: hintFor(name),
    name,
  }
}

function hintFor(name: string): string {
  const [, first = '', rest = ''] = /^(\w+)([.[].+)$/s.exec(name) ?? []
  if (first !== 'payload' && nearest(first, ['payload']) !== undefined)
    return `did you mean \`payload${rest}\`?`
  return (
    didYouMean(
      name,
      FIELD_ROOTS.filter((root) => root !== 'payload'),
    ) ?? 'fields are `payload.name`, `agent.id`, `task.workflow`, `time.hour` and the like'
  )
}

/** A path that leads nowhere. */
export const MISSING = Symbol('missing')
/** A value that is there and cannot be read as what the path, the function or the test needs. */
export const UNREADABLE = Symbol('unreadable')
export type Reading = JsonValue | typeof MISSING | typeof UNREADABLE

/** `default`s of the contract by depth of the path: what a missing step stands for. */
export type Defaults = readonly (JsonValue | undefined)[]

/** Walks own properties only. `null`, and a step into something that is no object or list, is unreadable. */
export function walk(root: JsonValue, path: readonly (string | number)[], defaults?: Defaults): Reading {
  let value: JsonValue = root
  for (let depth = 0; depth < path.length; depth++) {
    const next = takeStep(value, path[depth] ?? 0)
    if (next === UNREADABLE) return UNREADABLE
    const found: JsonValue | undefined = next === undefined ? defaults?.[depth] : next
    if (found === undefined) return MISSING
    value = found
  }
  return value === null ? UNREADABLE : value
}

function takeStep(value: JsonValue, step: string | number): JsonValue | undefined | typeof UNREADABLE {
  if (value === null || typeof value !== 'object') return UNREADABLE
  if (Array.isArray(value))
    return typeof step === 'number' ? (value as readonly JsonValue[])[step] : UNREADABLE
  if (typeof step === 'number') return UNREADABLE
  return Object.hasOwn(value, step) ? (value as JsonObject)[step] : undefined
}
