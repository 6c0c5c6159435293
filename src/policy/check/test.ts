import { readScalar } from './routing.ts'
import type { NumberTest, Scalar, TestIr, TextTest } from '../language/rule.ts'
import { didYouMean } from '../language/nearest.ts'
import type { Doc, DocEntry } from '../yaml/parse.ts'
import { compilePattern, fitsEveryText, hasBareDot } from '../language/patterns.ts'
import { wrongType, type Reader } from '../yaml/shape.ts'

/** What a test may refer to, and where it stands. */
export interface TestContext {
  readonly reader: Reader
  readonly lists: ReadonlyMap<string, readonly Scalar[]>
  readonly listsUnknown: boolean
  /** Below `some`, `every`, `none` or `count`: what is tested there is never missing. */
  readonly tested?: 'an element of a list' | 'a count'
}

const NUMBER_TESTS: readonly NumberTest[] = ['over', 'at_least', 'under', 'at_most']
const TEXT_TESTS: readonly TextTest[] = ['starts_with', 'ends_with', 'like', 'matches']
const NESTING_TESTS = ['not', 'some', 'every', 'none', 'count'] as const
const TEST_NAMES: readonly string[] = ['is', 'contains', ...NUMBER_TESTS, ...TEXT_TESTS, ...NESTING_TESTS]

/** Checks a test of section 3; undefined when it was reported. */
export function checkTest(context: TestContext, doc: Doc): TestIr | undefined {
  if (doc.kind === 'map') return checkTests(context, doc.entries, doc)
  if (doc.kind === 'text' && (doc.value === 'missing' || doc.value === 'present'))
    return checkPresence(context, doc, doc.value)
  const values = readValues(context, doc, true)
  return values && { op: 'is', values }
}

function checkPresence(context: TestContext, doc: Doc, op: 'missing' | 'present'): TestIr | undefined {
  const { reader, tested } = context
  if (tested === undefined) return { op }
  const hint = tested === 'a count' ? 'such as `{ over: 0 }`' : `write \`{ is: ${op} }\` for the text`
  reader.report(
    'bad-value',
    doc,
    `${tested} is ${op === 'missing' ? 'never missing' : 'always present'}`,
    hint,
  )
  return undefined
}

function checkTests(context: TestContext, entries: readonly DocEntry[], doc: Doc): TestIr | undefined {
  if (entries.length === 0) {
    context.reader.report('empty-match', doc, 'a test must say something')
    return undefined
  }
  const tests = entries.map((entry) => checkOne(context, entry))
  const sound = tests.filter((test) => test !== undefined)
  if (sound.length < tests.length) return undefined
  return sound.length === 1 ? sound[0] : { op: 'and', tests: sound }
}

function checkOne(context: TestContext, { key, keyMark, value }: DocEntry): TestIr | undefined {
  const number = NUMBER_TESTS.find((op) => op === key)
  if (number) return checkNumber(context, number, value)
  const text = TEXT_TESTS.find((op) => op === key)
  if (text) return checkTexts(context, text, value)
  if (key === 'is' && isNull(context.reader, value)) return checkNull(context, value)
  if (key === 'is' || key === 'contains') {
    const values = readValues(context, value, false)
    return values && { op: key, values }
  }
  const nesting = NESTING_TESTS.find((op) => op === key)
  if (nesting) return checkNesting(context, nesting, value)
  const hint = didYouMean(key, TEST_NAMES) ?? `one of ${TEST_NAMES.join(', ')}`
  context.reader.report('unknown-test', { mark: keyMark }, `unknown test \`${key}\``, hint)
  return undefined
}

/** Written out: an empty value is null for YAML, and a slip for an author. */
function isNull({ source }: Reader, { kind, mark }: Doc): boolean {
  return kind === 'null' && source.text.slice(mark.start, mark.end) === 'null'
}

function checkNull({ reader, tested }: TestContext, doc: Doc): TestIr | undefined {
  if (tested !== 'a count') return { op: 'null' }
  reader.report('bad-value', doc, 'a count is never null', 'such as `{ over: 0 }`')
  return undefined
}

function checkNumber({ reader }: TestContext, op: NumberTest, doc: Doc): TestIr | undefined {
  return doc.kind === 'number' ? { op, value: doc.value } : wrongType(reader, doc, `\`${op}\``, 'a number')
}

function checkNesting(
  context: TestContext,
  op: (typeof NESTING_TESTS)[number],
  doc: Doc,
): TestIr | undefined {
  const tested = op === 'count' ? 'a count' : 'an element of a list'
  const test = checkTest(op === 'not' ? context : { ...context, tested }, doc)
  if (test && op === 'count' && !isNumeric(test)) {
    context.reader.report('wrong-type', doc, '`count` takes a test of a number', 'such as `{ over: 0 }`')
    return undefined
  }
  return test && { op, test }
}

function isNumeric(test: TestIr): boolean {
  if (test.op === 'and') return test.tests.every(isNumeric)
  if (test.op === 'not') return isNumeric(test.test)
  return test.op === 'is'
    ? test.values.every((value) => typeof value === 'number')
    : NUMBER_TESTS.some((op) => op === test.op)
}

function checkTexts(context: TestContext, op: TextTest, doc: Doc): TestIr | undefined {
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
  if (texts.includes('')) {
    const held = op === 'like' ? 'the empty text only' : 'every text'
    const hint = op === 'like' ? "write `{ is: '' }`" : undefined
    context.reader.report('bad-value', doc, `\`${op}\` of an empty text holds for ${held}`, hint)
    return undefined
  }
  return op === 'matches' && !checkPatterns(context, doc, texts) ? undefined : { op, values: texts }
}

function checkPatterns({ reader }: TestContext, doc: Doc, patterns: readonly string[]): boolean {
  return patterns.every((pattern) => {
    const compiled = compilePattern(pattern)
    if (!compiled.ok)
      reader.report(
        'bad-pattern',
        doc,
        `this pattern cannot be used: ${compiled.problem}`,
        '`like` with `*` is simpler and never slow',
      )
    else if (fitsEveryText(compiled.pattern))
      reader.report(
        'loose-pattern',
        doc,
        'this pattern fits every text',
        '`present` asks for any value; `^` and `$` around a pattern ask for the whole text',
      )
    else if (hasBareDot(pattern))
      reader.report(
        'loose-pattern',
        doc,
        'an unescaped dot stands for any character',
        'write `\\.` for a dot',
      )
    return compiled.ok
  })
}

/** A literal, a list of literals, or `$list`, flattened. `bare` is the short form, in which some words are reserved. */
function readValues(context: TestContext, doc: Doc, bare: boolean): readonly Scalar[] | undefined {
  if (doc.kind !== 'list') return readValue(context, doc, bare)
  if (doc.items.length === 0) {
    context.reader.report('empty-match', doc, 'an empty list of values matches nothing')
    return undefined
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
  if (!bare || !RESERVED.includes(doc.value)) return [doc.value]
  return reportReserved(context.reader, doc, doc.value)
}

/** In the short form of a text. */
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
  reader.report('unknown-list', at, `no list named \`$${name}\``, hint)
  return undefined
}
