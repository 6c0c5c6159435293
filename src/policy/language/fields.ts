import { CLAUSES } from './sql/clauses.ts'
import { type FunctionName, FUNCTION_NAMES, functionText, WRITTEN_FUNCTIONS } from './function-names.ts'
import { FACT_NAMES } from './facts.ts'
import type { FieldIr } from './rule.ts'
import { didYouMean, nearest } from '../text/nearest.ts'
import { memberName } from './entries.ts'
import { payloadName, payloadPath } from './payload-path.ts'
import { showForeign } from '../text/text.ts'

export { isPlainName, payloadName } from './payload-path.ts'

export type FieldProblem = {
  readonly code: 'unknown-field' | 'unknown-function'
  readonly message: string
  readonly hint?: string
  /** The text at the field's position, without the function. */
  readonly name?: string
}

/** Reads a field, `fn(field)` or `sql_has(field, clause)`. */
export function parseField(text: string): FieldIr | FieldProblem {
  const call = /^([A-Za-z_]\w*)\((.*)\)$/s.exec(text)
  if (!call) return parsePath(text)
  const [, name = '', inside = ''] = call
  if (name === 'sql_has') return parseClause(inside)
  const fn = FUNCTION_NAMES.find((one) => one === name && functionText(one, inside) === text)
  if (fn === undefined) {
    const hint = didYouMean(name, WRITTEN_FUNCTIONS) ?? `one of ${WRITTEN_FUNCTIONS.join(', ')}`
    return { code: 'unknown-function', message: `unknown function \`${name}\``, hint }
  }
  return applied(fn, inside)
}

function parseClause(inside: string): FieldIr | FieldProblem {
  const [, path = inside, word] = /^(.*), ?(\w+)$/s.exec(inside) ?? []
  const clause = CLAUSES.find((one) => one === word)
  if (clause !== undefined) return applied(`sql_has_${clause}`, path)
  const hint = `write \`sql_has(${path}, where)\`; the clauses are ${CLAUSES.join(', ')}`
  const what = word === undefined ? 'names no clause' : `knows no clause \`${word}\``
  return { code: 'unknown-function', message: `\`sql_has\` ${what}`, hint }
}

function applied(fn: FunctionName, path: string): FieldIr | FieldProblem {
  const field = parsePath(path)
  return 'code' in field ? field : { ...field, fn }
}

export function isFieldProblem(parsed: FieldIr | FieldProblem): parsed is FieldProblem {
  return 'code' in parsed
}

/** Returns the field as a policy author writes it, including `fn()`. */
export function fieldText(field: FieldIr): string {
  return field.fn === undefined ? field.name : functionText(field.fn, field.name)
}

/** The start of a field that belongs to an entry, with or without a function. */
const MEMBER_START = /^([A-Za-z_]\w*\()?\.(?=(\[)?)/

/** Returns true for `.sku` and `domain(.address)`. */
export const isMemberText = (text: string): boolean => MEMBER_START.test(text)

/** Reads the field of an entry. The result has the path and the function of the member. */
export function parseMember(text: string): FieldIr | FieldProblem {
  const whole = text.replace(
    MEMBER_START,
    (_, fn: string | undefined, bracket: string | undefined) => `${fn ?? ''}payload${bracket ? '' : '.'}`,
  )
  return parseField(whole)
}

/** Reads `payload.lines[].sku`, as a field of the first entry with the name of all; undefined for other text. */
export function parseEveryMember(text: string): FieldIr | undefined {
  const [first = '', ...rest] = text.split('[]')
  const fields = [first, ...rest.map((part) => `payload${part}`)].map(parseField)
  const known = fields.filter((field): field is FieldIr => !isFieldProblem(field) && field.fn === undefined)
  const [list, ...below] = known
  if (list === undefined || below.length === 0 || known.length < fields.length) return undefined
  return {
    root: 'payload',
    name: below.reduce((name, { path }) => memberName(name, path), list.name),
    path: [...list.path, ...below.flatMap(({ path }) => [0, ...path])],
  }
}

function parsePath(name: string): FieldIr | FieldProblem {
  const path = payloadPath(name)
  if (path) return { name: payloadName(path), root: 'payload', path }
  const root = FACT_NAMES.find((one) => one === name)
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
    didYouMean(name, FACT_NAMES) ??
    'fields are `payload.name`, `agent.id`, `task.workflow`, `time.hour` and the like'
  )
}
