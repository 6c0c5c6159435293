import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import type { CheckedTool } from './tool.ts'
import {
  fieldText,
  isFieldProblem,
  parseField,
  type FieldProblem,
  isPlainName,
  payloadName,
} from '../language/fields.ts'
import { hintForField } from './field-hint.ts'
import type { FieldValues } from '../schema/possible-fields.ts'
import type { FieldIr } from '../language/rule.ts'
import { didYouMean, nearest } from '../text/nearest.ts'
import { childOf } from '../schema/child.ts'
import { propertyNames, sameValueParts } from '../schema/part.ts'
import type { Reader } from '../yaml/shape.ts'
import type { ToolContract } from '../language/snapshot.ts'
import type { Mark } from '../yaml/source.ts'
import { canBePresent, holdsObjects, type Values } from '../schema/possible.ts'
import { describeKinds } from '../schema/possible-words.ts'

/** The contracts and fields that a payload path is checked against. */
export interface PathContext {
  readonly reader: Reader
  /** The contracts that the rule file applies to. */
  readonly tools: readonly ToolContract[]
  /** Fields with a `missing_means` in this file. */
  readonly declared: ReadonlySet<string>
  readonly fieldValues: FieldValues
}

/**
 * Checks that every contract for the rule has the payload field. Otherwise, the field would always be missing for some
 * calls. With a presence test or a `missing_means`, one contract is enough.
 */
export function checkPayloadField(
  context: PathContext,
  field: FieldIr,
  { at, presence }: { readonly at: { readonly mark: Mark }; readonly presence: boolean },
): void {
  const { reader, tools, declared } = context
  if (field.root !== 'payload' || tools.length === 0) return
  const without = tools.filter((tool) => !has(context, tool, field))
  const meant = presence || declared.has(field.name)
  const wrong = meant && without.length < tools.length ? undefined : without[0]
  if (!wrong) return checkDeclared(context, field, at)
  const message = `\`${field.name}\` is not in the contract of \`${wrong.name}\``
  reader.report('unknown-field', at, message, hintFor(context, wrong, field))
}

/** Reports text that is not a FIELD. */
export function reportFieldProblem(
  { reader, tools }: PathContext,
  at: { readonly mark: Mark },
  problem: FieldProblem,
): undefined {
  const schemas = tools.map((tool) => tool.inputSchema)
  reader.report(problem.code, at, problem.message, hintForField(problem, schemas))
}

/** Reports a sensitive field that is not in the contract's schema, because such an entry would hide nothing. */
export function checkSensitiveFields(
  { reader, contract, sensitiveAt }: CheckedTool,
  fieldValues: FieldValues,
): void {
  for (const at of sensitiveAt) {
    const field = at.kind === 'text' ? parseField(at.value) : undefined
    if (field === undefined || isFieldProblem(field)) continue
    checkPayloadField({ reader, tools: [contract], declared: new Set(), fieldValues }, field, {
      at,
      presence: false,
    })
  }
}

/** How the name of a field or of a fact begins, with or without a function. */
const FIELD_START = /^(?:\w+\()?(?:payload[.[]|agent\.|task\.|time\.|tool\.)/

/** Returns true for the name of a fact, or of a field that one of the contracts has. */
export function isKnownField(context: PathContext, text: string): boolean {
  if (!FIELD_START.test(text)) return false
  const field = parseField(text)
  return !isFieldProblem(field) && toolsWith(context, field).length > 0
}

/** Returns the contracts that have the field. */
export function toolsWith(context: PathContext, field: FieldIr): readonly ToolContract[] {
  return context.tools.filter((tool) => has(context, tool, field))
}

function has(context: PathContext, tool: ToolContract, field: FieldIr): boolean {
  return field.root !== 'payload' || canBePresent(valuesAt(context, tool, field.path))
}

function valuesAt({ fieldValues }: PathContext, tool: ToolContract, path: FieldIr['path']): Values {
  return fieldValues.of(tool, { name: payloadName(path), root: 'payload', path })
}

/** Returns a hint about the first step of the path that is not in the contract: the nearest declared name, if any. */
function hintFor(context: PathContext, tool: ToolContract, { path }: FieldIr): string | undefined {
  const depth = path.findIndex((_, index) => !canBePresent(valuesAt(context, tool, path.slice(0, index + 1))))
  const [parent, step] = [path.slice(0, depth), path[depth]]
  const names = schemasAt(tool.inputSchema, parent).flatMap(propertyNames)
  if (typeof step === 'string' && names.length > 0) return nearName(parent, step, names)
  if (parent.length === 0) return undefined
  const values = valuesAt(context, tool, parent)
  const kinds = `\`${payloadName(parent)}\` is ${describeKinds(values)}`
  if (typeof step === 'number')
    return values.lists ? `${kinds} of at most ${values.lists.max} entries` : kinds
  if (values.lists && holdsObjects(values.lists.element()))
    return `${kinds}: test its entries, such as \`${payloadName(parent)}: { every: { .${String(step)}: ... } }\``
  return values.lists ? `${kinds}: test it with \`some\`, or write \`${payloadName(parent)}[0]\`` : kinds
}

/** Returns the hint with the nearest name. If the name needs quotes, the hint contains the whole field. */
function nearName(parent: FieldIr['path'], step: string, names: readonly string[]): string | undefined {
  const near = nearest(step, names)
  if (near === undefined || isPlainName(near)) return didYouMean(step, names)
  return `did you mean \`${payloadName([...parent, near])}\`?`
}

/** Reports a likely misspelling in a field name. In a contract that accepts undeclared fields, any name is valid. */
function checkDeclared(context: PathContext, field: FieldIr, at: { readonly mark: Mark }): void {
  for (const tool of context.tools) {
    if (isPlainlyDeclared(tool, field)) continue
    for (const [depth, step] of field.path.entries()) {
      const parents = schemasAt(tool.inputSchema, field.path.slice(0, depth))
      const near = typeof step === 'string' ? misspelt(parents, step) : undefined
      if (near === undefined) continue
      const message = `\`${fieldText(field)}\` is not declared in the contract of \`${tool.name}\`, which permits undeclared fields`
      context.reader.report('undeclared-field', at, message, `did you mean \`${near}\`?`)
      return
    }
  }
}

/** Returns true for a declared top-level property of the payload. This usual case is fast to check. */
function isPlainlyDeclared({ inputSchema }: ToolContract, { path }: FieldIr): boolean {
  const { properties } = inputSchema
  const [only] = path
  return (
    path.length === 1 && isObject(properties) && typeof only === 'string' && Object.hasOwn(properties, only)
  )
}

function misspelt(parents: readonly JsonObject[], step: string): string | undefined {
  const names = parents.flatMap(propertyNames)
  const patterns = parents.some((part) => part['patternProperties'] !== undefined)
  return patterns || names.includes(step) ? undefined : nearest(step, names)
}

/** Returns every schema that may apply at a path. */
export function schemasAt(root: JsonObject, path: FieldIr['path']): readonly JsonObject[] {
  let here: readonly JsonObject[] = sameValueParts(root, root)
  for (const step of path) {
    const children: readonly JsonValue[] = here.flatMap((part) => childOf(root, part, step).schemas)
    here = [...new Set(children.filter(isObject).flatMap((child) => sameValueParts(root, child)))]
  }
  return here
}
