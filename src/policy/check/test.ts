import { DIAGNOSTIC_CODES } from '../report/diagnostics.ts'
import type { Scalar } from '../language/compiled-test.ts'
import {
  namesWith,
  OPERATORS,
  WRITTEN_NAMES,
  type NameWith,
  type OperandProblem,
  type Test,
} from '../language/operators.ts'
import { readScalar } from './routing.ts'
import { didYouMean } from '../text/nearest.ts'
import { ELSEWHERE } from './elsewhere.ts'
import type { Doc, DocEntry, DocMap } from '../yaml/parse.ts'
import type { EntryMatch } from '../language/entries.ts'
import { isMemberText } from '../language/fields.ts'
import { wrongType, type Reader } from '../yaml/shape.ts'

/** The lists that a test may name, and the kind of value that it tests. */
export interface TestContext {
  readonly reader: Reader
  readonly lists: ReadonlyMap<string, readonly Scalar[]>
  readonly listsUnknown: boolean
  /** Returns true for the name of a fact, or of a field in a contract of the file. */
  readonly isField: (text: string) => boolean
  /** Set inside `some`, `every`, `none` or `count`, where the tested value is never missing. */
  readonly tested?: 'an element of a list' | 'a count' | undefined
  /** Checks the match about an entry of the list that is tested. */
  readonly checkEntry: (entry: DocMap) => EntryMatch<Test> | undefined
}

/** Checks a test (docs/policy-language.md). Returns undefined after it reports a problem. */
export function checkTest(context: TestContext, doc: Doc): Test | undefined {
  if (doc.kind === 'map' && isEntryMatch(doc)) return checkMatchOfEntry(context, doc)
  if (doc.kind === 'map') return checkTests(context, doc.entries, doc)
  if (doc.kind === 'text' && (doc.value === 'missing' || doc.value === 'present'))
    return checkPresence(context, doc, doc.value)
  const values = readValues(context, doc, true)
  return values && { op: 'is', values }
}

/** Returns true for a mapping with a field of an entry, such as `.sku`, also inside `any`, `all` and `not`. */
export function isEntryMatch(doc: Doc): boolean {
  if (doc.kind === 'list') return doc.items.some(isEntryMatch)
  const holds = ({ key, value }: DocEntry): boolean =>
    isMemberText(key) || (['any', 'all', 'not'].includes(key) && isEntryMatch(value))
  return doc.kind === 'map' && doc.entries.some(holds)
}

function checkMatchOfEntry(context: TestContext, doc: DocMap): Test | undefined {
  if (context.tested === 'an element of a list') {
    const match = context.checkEntry(doc)
    return match && { op: 'match', match }
  }
  const first = doc.entries.find(({ key }) => isMemberText(key))
  const at = first === undefined ? doc : { mark: first.keyMark }
  return reportOutside(context.reader, at, first?.key ?? '.name')
}

/** Reports a field of an entry that is not inside a test of entries. */
export function reportOutside(reader: Reader, at: Pick<Doc, 'mark'>, key: string): undefined {
  const hint = 'write it inside `some`, `every`, `none`, or `where` of `count`'
  reader.report('unknown-field', at, `\`${key}\` belongs to an entry of a list`, hint)
}

function checkPresence(context: TestContext, doc: Doc, op: 'missing' | 'present'): Test | undefined {
  const { reader, tested } = context
  if (tested === undefined) return { op }
  const hint = tested === 'a count' ? 'such as `{ over: 0 }`' : `write \`{ is: ${op} }\` for the text`
  return reader.report(
    'bad-value',
    doc,
    `${tested} is ${op === 'missing' ? 'never missing' : 'always present'}`,
    hint,
  )
}

function checkTests(context: TestContext, entries: readonly DocEntry[], doc: Doc): Test | undefined {
  if (entries.length === 0) {
    return context.reader.report('empty-match', doc, 'a test must say something')
  }
  const tests = entries.map((entry) => checkOne(context, entry))
  const sound = tests.filter((test) => test !== undefined)
  if (sound.length < tests.length) return undefined
  return sound.length === 1 ? sound[0] : { op: 'and', tests: sound }
}

/** Reads one operator with its operand, according to its row in the table of operators. */
function checkOne(context: TestContext, { key, keyMark, value }: DocEntry): Test | undefined {
  if (key === 'is' && isNull(context.reader, value)) return checkNull(context, value)
  const number = namesWith('number').find((op) => op === key)
  if (number) return checkNumber(context, number, value)
  const text = namesWith('texts').find((op) => op === key)
  if (text) return checkTexts(context, text, value)
  const equality = namesWith('scalars').find((op) => op === key)
  if (equality) {
    const values = readValues(context, value, false)
    return values && { op: equality, values }
  }
  const nesting = NESTING.find((op) => op === key)
  if (nesting) return checkNesting(context, nesting, value)
  const names = `one of ${WRITTEN_NAMES.join(', ')}`
  const hint = Object.hasOwn(ELSEWHERE, key)
    ? `did you mean \`${ELSEWHERE[key] ?? ''}\`? ${names}`
    : (didYouMean(key, WRITTEN_NAMES) ?? names)
  return context.reader.report('unknown-test', { mark: keyMark }, `unknown test \`${key}\``, hint)
}

type NestingName = NameWith<'test' | 'entry test' | 'length test'>
const NESTING: readonly NestingName[] = [
  ...namesWith('test'),
  ...namesWith('entry test'),
  ...namesWith('length test'),
]

function checkNumber({ reader }: TestContext, op: NameWith<'number'>, doc: Doc): Test | undefined {
  if (doc.kind !== 'number') return wrongType(reader, doc, `\`${op}\``, 'a number')
  return permits(reader, doc, OPERATORS[op].refuses?.(doc.value, op)) ? { op, value: doc.value } : undefined
}

/**
 * Returns true for an explicit null. YAML also reads an empty value as null, but authors write empty values by mistake.
 */
function isNull({ source }: Reader, { kind, mark }: Doc): boolean {
  return kind === 'null' && source.text.slice(mark.start, mark.end) === 'null'
}

function checkNull({ reader, tested }: TestContext, doc: Doc): Test | undefined {
  if (tested !== 'a count') return { op: 'null' }
  return reader.report('bad-value', doc, 'a count is never null', 'such as `{ over: 0 }`')
}

function checkNesting(context: TestContext, op: NestingName, doc: Doc): Test | undefined {
  const { operand } = OPERATORS[op]
  if (operand === 'length test') return checkCount(context, doc)
  const inside: TestContext = { ...context, tested: 'an element of a list' }
  const test = checkTest(operand === 'test' ? context : inside, doc)
  return test && { op, test }
}

function checkCount(context: TestContext, doc: Doc): Test | undefined {
  const { where, length } = partsOfCount(doc)
  const passes = where && checkTest({ ...context, tested: 'an element of a list' }, where)
  const test = checkTest({ ...context, tested: 'a count' }, length)
  if (!test || (where && !passes)) return undefined
  if (isNumeric(test)) return { op: 'count', test, ...(passes && { where: passes }) }
  return context.reader.report(
    'wrong-type',
    length,
    '`count` takes a test of a number',
    'such as `{ over: 0 }`',
  )
}

/** Returns the test of the entries that count, and the test of their number. */
export function partsOfCount(doc: Doc): { readonly where?: Doc; readonly length: Doc } {
  const where = doc.kind === 'map' ? doc.entries.find(({ key }) => key === 'where')?.value : undefined
  if (where === undefined || doc.kind !== 'map') return { length: doc }
  return { where, length: { ...doc, entries: doc.entries.filter(({ key }) => key !== 'where') } }
}

function isNumeric(test: Test): boolean {
  if (test.op === 'and') return test.tests.every(isNumeric)
  if (test.op === 'not') return isNumeric(test.test)
  return test.op === 'is'
    ? test.values.every((value) => typeof value === 'number')
    : OPERATORS[test.op].of === 'number'
}

function checkTexts(context: TestContext, op: NameWith<'texts'>, doc: Doc): Test | undefined {
  const values = readValues(context, doc, false)
  if (!values) return undefined
  const texts = values.filter((value) => typeof value === 'string')
  if (texts.length < values.length)
    return wrongType(
      context.reader,
      doc.kind === 'list' ? (doc.items.find((item) => item.kind !== 'text') ?? doc) : doc,
      `\`${op}\``,
      'text',
    )
  const row = OPERATORS[op]
  return texts.every((text) => permits(context.reader, doc, row.refuses?.(text, op)))
    ? { op, values: texts }
    : undefined
}

/** Reports the operator's problem with its operand. Returns false when the problem is an error. */
function permits(reader: Reader, at: Doc, problem: OperandProblem | undefined): boolean {
  if (problem) reader.report(problem.code, at, problem.message, problem.hint)
  return problem === undefined || DIAGNOSTIC_CODES[problem.code] === 'warning'
}

/** Reads a literal, a list, or `$list`, flattened. `bare` is the short form, in which some words are reserved. */
function readValues(context: TestContext, doc: Doc, bare: boolean): readonly Scalar[] | undefined {
  if (doc.kind !== 'list') return readValue(context, doc, bare)
  if (doc.items.length === 0) {
    return context.reader.report('empty-match', doc, 'an empty list of values matches nothing')
  }
  const values = doc.items.map((item) => readValue(context, item, bare))
  return values.includes(undefined) ? undefined : values.flatMap((value) => value ?? [])
}

function readValue(context: TestContext, doc: Doc, bare: boolean): readonly Scalar[] | undefined {
  if (doc.kind !== 'text') {
    const value = readScalar(context.reader, doc)
    return value === undefined ? undefined : [value]
  }
  if (doc.value.startsWith('$$')) return [doc.value.slice(1)]
  if (doc.value.startsWith('$')) return resolveList(context, doc, doc.value.slice(1))
  if (bare && RESERVED.includes(doc.value)) return reportReserved(context.reader, doc, doc.value)
  if (bare && STARRED.test(doc.value)) {
    const message = `\`${doc.value}\` is compared as it is written, with its star`
    const hint = `for any run of characters, write \`{ like: ${doc.value} }\`; for this text, \`{ is: ${doc.value} }\``
    context.reader.report('star-as-text', doc, message, hint)
  }
  if (!context.isField(doc.value)) return [doc.value]
  const message = `\`${doc.value}\` is the name of a field, and a test compares with fixed values only`
  const hint = `for the text itself, write \`{ matches: '^${doc.value.replaceAll(/[.$[\]()]/g, '\\$&')}$' }\``
  return context.reader.report('field-as-text', doc, message, hint)
}

/** A beginning with a star, as globs have it: `acct_*`. */
const STARRED = /^[\w.:/@-]{2,}\*$/

/** Words that are reserved in the short form of a string. */
export const RESERVED: readonly string[] = ['missing', 'present', 'nothing']

export function reportReserved(reader: Reader, at: Doc, word: string): undefined {
  const hint = `write \`{ is: ${word} }\` for the text`
  reader.report('bad-value', at, `\`${word}\` is a reserved word here`, hint)
}

function resolveList(
  { reader, lists, listsUnknown }: TestContext,
  at: Doc,
  name: string,
): readonly Scalar[] | undefined {
  const list = lists.get(name)
  if (list || listsUnknown) return list
  const hint =
    didYouMean(name, lists.keys()) ??
    'lists are defined under `lists` in routing.yaml, or in lists/*.txt; write `$$` for a text that begins with $'
  return reader.report('unknown-list', at, `no list named \`$${name}\``, hint)
}
