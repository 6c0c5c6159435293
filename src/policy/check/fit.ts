import { fitLiteral, fitNumber, fitPart, type Fitting, type Problem } from './literal.ts'
import type { Scalar } from '../language/compiled-test.ts'
import { namesWith, OPERATORS, type NameWith, type OperatorName } from '../language/operators.ts'
import { isEntryMatch, partsOfCount } from './test.ts'
import type { Doc, DocEntry } from '../yaml/parse.ts'
import type { Mark } from '../yaml/source.ts'
import { hasReadable, NO_VALUES } from '../schema/possible.ts'
import { describeKinds } from '../schema/possible-words.ts'

/** A test that does not fit the values of a field, with its position. */
export interface Misfit extends Problem {
  readonly at: { readonly mark: Mark }
}

/** Finds the places where a test does not fit the values of its field. Accepts only a test that checkTest accepted. */
export function fitTest(fitting: Fitting, doc: Doc): readonly Misfit[] {
  // The check of an entry checks its lines, each as a field.
  if (!hasReadable(fitting.values) || isEntryMatch(doc)) return []
  if (doc.kind === 'map') return doc.entries.flatMap((entry) => fitOne(fitting, entry))
  if (doc.kind === 'text' && (doc.value === 'missing' || doc.value === 'present')) return []
  return fitIs(fitting, doc)
}

function fitOne(fitting: Fitting, { key, keyMark, value }: DocEntry): readonly Misfit[] {
  const at = { mark: keyMark }
  if (key === 'is') return fitEqual(fitting, value)
  const number = namesWith('number').find((op) => op === key)
  if (number) return fitComparison(fitting, number, { at, value })
  const text = namesWith('texts').find((op) => op === key)
  if (text) return fitTexts(fitting, text, { at, value })
  const part = namesWith('scalars').find((op) => op === key)
  if (part) return fitContains(fitting, value, at)
  const quantifier = NESTING.find((op) => op === key)
  return quantifier ? fitList(fitting, quantifier, { at, value }) : fitTest(fitting, value)
}

type ListTest = NameWith<'entry test' | 'length test'>
const NESTING: readonly ListTest[] = [...namesWith('entry test'), ...namesWith('length test')]

interface Asked {
  /** The position of the test's name. */
  readonly at: { readonly mark: Mark }
  readonly value: Doc
}

function wrongTest(
  { name, values }: Fitting,
  at: { readonly mark: Mark },
  { needs, hint }: { readonly needs: string; readonly hint?: string | undefined },
): Misfit {
  return { code: 'test-type', at, message: `${needs}, but ${name} is ${describeKinds(values)}`, hint }
}

function fitIs(fitting: Fitting, doc: Doc): readonly Misfit[] {
  const { booleans, numbers, texts, lists } = fitting.values
  if (booleans.length === 0 && numbers === undefined && texts === undefined) {
    const hint = lists && 'use `contains`, `some`, `every` or `none`'
    return [
      wrongTest(fitting, doc, { needs: 'a value is compared with text, a number or true or false', hint }),
    ]
  }
  return eachLiteral(fitting.lists, doc, (value) => fitLiteral(fitting, value))
}

function fitEqual(fitting: Fitting, value: Doc): readonly Misfit[] {
  return value.kind === 'null' ? fitNull(fitting, value) : fitIs(fitting, value)
}

/** Finds tests for null that do not fit. A field inside a nullable value may also be null. */
function fitNull({ name, values }: Fitting, at: Doc): readonly Misfit[] {
  if (values.null || values.blocked) return []
  const message = `${name} is never null: it is ${describeKinds(values)}`
  return [{ code: 'literal-type', at, message, hint: 'the contract does not permit null there' }]
}

function fitContains(fitting: Fitting, doc: Doc, at: Asked['at']): readonly Misfit[] {
  const { texts, lists } = fitting.values
  if (texts === undefined && lists === undefined)
    return [wrongTest(fitting, at, { needs: '`contains` needs text or a list' })]
  return eachLiteral(fitting.lists, doc, (value) => {
    const asPart =
      texts && typeof value === 'string' ? fitPart(fitting, 'contains', value) : ('absent' as const)
    const asMember = lists ? fitLiteral(elementOf(fitting), value) : ('absent' as const)
    if (asPart === undefined || asMember === undefined) return undefined
    if (asMember !== 'absent') return asMember
    return asPart === 'absent' ? fitLiteral({ ...fitting, values: { ...NO_VALUES, texts } }, value) : asPart
  })
}

function elementOf(fitting: Fitting): Fitting {
  const element = fitting.values.lists?.element() ?? NO_VALUES
  return { ...fitting, name: `an entry of ${fitting.name}`, values: element }
}

function fitList(fitting: Fitting, op: ListTest, { at, value }: Asked): readonly Misfit[] {
  const { lists } = fitting.values
  if (lists === undefined) return [wrongTest(fitting, at, { needs: `\`${op}\` needs a list` })]
  if (OPERATORS[op].operand === 'entry test') return fitTest(elementOf(fitting), value)
  const { min, max } = lists
  const { where, length } = partsOfCount(value)
  const numbers = { integer: true, min: where ? 0 : min, minOpen: false, max, maxOpen: false }
  const ofLength = { ...fitting, name: `the length of ${fitting.name}`, values: { ...NO_VALUES, numbers } }
  return [...(where ? fitTest(elementOf(fitting), where) : []), ...fitTest(ofLength, length)]
}

function fitComparison(fitting: Fitting, op: NameWith<'number'>, { at, value }: Asked): readonly Misfit[] {
  const { numbers, lists } = fitting.values
  if (OPERATORS[op].of === 'text') return needsText(fitting, op, at)
  if (numbers === undefined) {
    const hint = lists && 'for the length of a list write `{ count: { over: 1 } }`'
    return [wrongTest(fitting, at, { needs: `\`${op}\` needs a number`, hint })]
  }
  const problem =
    value.kind === 'number' ? fitNumber(fitting.name, numbers, { op, limit: value.value }) : undefined
  return problem ? [{ ...problem, at: value }] : []
}

function fitTexts(fitting: Fitting, op: NameWith<'texts'>, { at, value }: Asked): readonly Misfit[] {
  const wrong = needsText(fitting, op, at)
  if (wrong.length > 0) return wrong
  return eachLiteral(fitting.lists, value, (literal) => fitPart(fitting, op, String(literal)))
}

function needsText(fitting: Fitting, op: OperatorName, at: Asked['at']): readonly Misfit[] {
  const { texts, lists } = fitting.values
  if (texts !== undefined) return []
  const hint = lists && `for the entries of a list write \`{ some: { ${op}: ... } }\``
  return [wrongTest(fitting, at, { needs: `\`${op}\` needs text`, hint })]
}

/**
 * Checks every literal separately. Fields share a `$list`, so a list is a misfit only when all its entries are misfits.
 */
function eachLiteral(
  lists: Fitting['lists'],
  doc: Doc,
  fit: (value: Scalar) => Problem | undefined,
): readonly Misfit[] {
  if (doc.kind === 'list') return doc.items.flatMap((item) => eachLiteral(lists, item, fit))
  if (doc.kind !== 'text' && doc.kind !== 'number' && doc.kind !== 'boolean') return []
  const list = listNamed(lists, doc)
  const problems = (list ?? [literalOf(doc)]).map(fit)
  const [first] = problems
  return first === undefined || problems.includes(undefined) ? [] : [{ ...first, at: doc }]
}

function listNamed(lists: Fitting['lists'], doc: Doc): readonly Scalar[] | undefined {
  if (doc.kind !== 'text' || !doc.value.startsWith('$') || doc.value.startsWith('$$')) return undefined
  return lists.get(doc.value.slice(1)) ?? []
}

export function literalOf(doc: Extract<Doc, { value: Scalar }>): Scalar {
  return typeof doc.value === 'string' && doc.value.startsWith('$$') ? doc.value.slice(1) : doc.value
}
