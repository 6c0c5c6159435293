import { fitTest, literalOf, type Misfit } from './fit.ts'
import { toolsWith, type PathContext } from './path.ts'
import { writtenFunction } from '../language/function-names.ts'
import { fieldText } from '../language/fields.ts'
import { fitLiteral, type Fitting } from './literal.ts'
import type { Scalar } from '../language/compiled-test.ts'
import { factOf, type FieldRoot } from '../language/facts.ts'
import type { FieldIr } from '../language/rule.ts'
import { knownValues } from './known-values.ts'
import type { Doc } from '../yaml/parse.ts'
import type { Mark } from '../yaml/source.ts'
import { hasReadable, type Values } from '../schema/possible.ts'
import { describeKinds } from '../schema/possible-words.ts'
import { remember } from '../language/remember.ts'

interface TypeContext extends PathContext {
  readonly lists: ReadonlyMap<string, readonly Scalar[]>
}

/**
 * Codes of findings about kinds of values. The check reports such findings for each tool, and other findings only when
 * all tools have them.
 */
const ABOUT_KINDS: readonly string[] = ['test-type', 'literal-type']

/** Reports every test that does not fit the values of its field in the contracts (docs/policy-language.md). */
export function checkFit(context: TypeContext, field: FieldIr, doc: Doc): void {
  const tools = toolsWith(context, field)
  const found = new Map<string, { readonly misfit: Misfit; tools: number }>()
  const seen = new Map<Values, readonly Misfit[]>()
  for (const tool of tools) {
    const values = context.fieldValues.of(tool, field)
    const name =
      field.root === 'payload' ? `\`${fieldText(field)}\` of \`${tool.name}\`` : `\`${field.name}\``
    const misfits = remember(seen, values, () => fitTest({ name, values, lists: context.lists }, doc))
    for (const misfit of misfits)
      remember(found, `${misfit.code} ${misfit.at.mark.start}`, () => ({ misfit, tools: 0 })).tools++
  }
  for (const { misfit, tools: count } of found.values()) {
    const isKind = ABOUT_KINDS.includes(misfit.code)
    if (isKind || (count === tools.length && !isCheckedElsewhere(field.root))) report(context, misfit)
  }
}

/** Returns true for a fact whose literals have their own check (checkKnownValues), or may be any. */
function isCheckedElsewhere(root: FieldRoot): boolean {
  const fact = factOf(root)
  return fact !== undefined && (fact.open === true || knownValues(fact) !== undefined)
}

function report({ reader }: TypeContext, { code, at, message, hint }: Misfit): void {
  reader.report(code, at, message, hint)
}

/** Reports a function of a field that is not text in any contract, because the result would always be unknown. */
export function checkFunction(
  context: PathContext,
  { fn, ...field }: FieldIr,
  at: { readonly mark: Mark },
): void {
  if (fn === undefined) return
  const tools = toolsWith(context, field)
  const [tool] = tools
  if (!tool || !tools.every((one) => holdsNoText(context.fieldValues.of(one, field)))) return
  const values = context.fieldValues.of(tool, field)
  const inList = values.lists !== undefined && !hasReadable({ ...values, lists: undefined })
  const read = (inList && values.lists?.element()) || values
  const name = field.root === 'payload' ? `\`${field.name}\` of \`${tool.name}\`` : `\`${field.name}\``
  const message = `\`${writtenFunction(fn)}\` reads text, but ${inList ? `an entry of ${name}` : name} is ${describeKinds(read)}`
  const hint = read.objects
    ? 'write the path of a text inside it'
    : `write \`${field.name}\` without \`${writtenFunction(fn)}\``
  context.reader.report('test-type', at, message, hint)
}

/**
 * Returns true when neither the value nor its list elements are text. A function reads the elements of a list, but not
 * lists inside it.
 */
function holdsNoText(values: Values): boolean {
  const element = values.lists?.element()
  if (values.texts !== undefined || !hasReadable(values)) return false
  return element === undefined || (element.texts === undefined && hasReadable(element))
}

/**
 * Reports a `missing_means` value that the field cannot have, and a `missing_means` for a field that is never missing.
 */
export function checkMeaning(
  context: TypeContext,
  field: FieldIr,
  { at, value }: { readonly at: { readonly mark: Mark }; readonly value: Doc },
): void {
  const { reader, fieldValues, lists } = context
  const tools = toolsWith(context, field)
  if (tools.length > 0 && tools.every((tool) => !mayBeAbsent(fieldValues.of(tool, field)))) {
    const hint = 'a payload without it does not fit the contract'
    reader.report('missing-means-unused', at, `\`${field.name}\` is never missing`, hint)
  }
  if (value.kind === 'text' && value.value === 'nothing') return
  for (const tool of tools) {
    const fitting = {
      name: `\`${field.name}\` of \`${tool.name}\``,
      values: fieldValues.of(tool, field),
      lists,
    }
    const misfit = hasReadable(fitting.values) ? fitMeaning(fitting, value) : undefined
    if (misfit) return report(context, { ...misfit, code: 'missing-means-type' })
  }
}

/** Returns true when the field can be missing, or can be null, which `missing_means` also replaces. */
function mayBeAbsent({ missing, null: isNull, blocked }: Values): boolean {
  return missing || isNull || blocked
}

function fitMeaning(fitting: Fitting, doc: Doc): Misfit | undefined {
  if (doc.kind === 'list') return fitEntries(fitting, doc)
  const only = doc.kind === 'map' && doc.entries.length === 1 ? doc.entries[0] : undefined
  const literal = only?.key === 'is' ? only.value : doc
  if (literal.kind !== 'text' && literal.kind !== 'number' && literal.kind !== 'boolean') return undefined
  const problem = fitLiteral(fitting, literalOf(literal))
  return problem && { ...problem, at: literal }
}

function fitEntries(fitting: Fitting, doc: Extract<Doc, { kind: 'list' }>): Misfit | undefined {
  const { lists } = fitting.values
  if (lists === undefined) {
    const message = `a list cannot replace ${fitting.name}, which is ${describeKinds(fitting.values)}`
    return { code: 'missing-means-type', message, at: doc }
  }
  const element = { ...fitting, name: `an entry of ${fitting.name}`, values: lists.element() }
  for (const item of doc.items) {
    const misfit = hasReadable(element.values) ? fitMeaning(element, item) : undefined
    if (misfit) return misfit
  }
  return undefined
}
