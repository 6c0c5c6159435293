import { checkFit, checkFunction } from './types.ts'
import { checkPayloadField, reportFieldProblem, type PathContext } from './path.ts'
import { toolsInHistory, type ToolUse } from './tool-names.ts'
import { checkTest, type TestContext } from './test.ts'
import { REVERSIBILITIES } from '../language/reversibility.ts'
import { writtenFunction } from '../language/function-names.ts'
import { isFieldProblem, parseField } from '../language/fields.ts'
import type { FieldIr, FieldRoot, NodeIr } from '../language/rule.ts'
import { didYouMean } from '../text/nearest.ts'
import type { Doc, DocEntry } from '../yaml/parse.ts'
import { readList, readMap, type Reader } from '../yaml/shape.ts'
import type { Scalar } from '../language/compiled-test.ts'
import { asksPresence, OPERATORS, testsIn, type Test } from '../language/operators.ts'
import { WEEKDAYS } from '../language/time.ts'

/** The names that a match may refer to. */
export interface MatchContext extends TestContext, PathContext {
  /** The tools that history tests named so far. */
  readonly toolUses: ToolUse[]
}

/** Checks a match (docs/policy-language.md). Its lines are fields, `any`, `all` and `not`, and all must be true. */
export function checkMatch(context: MatchContext, doc: Doc): NodeIr | undefined {
  const map = readMap(context.reader, doc, 'a match')
  if (!map) return undefined
  if (map.entries.length === 0) {
    context.reader.report(
      'empty-match',
      doc,
      'an empty match would hold for every call',
      'leave `when:` out to say so',
    )
    return undefined
  }
  const items = map.entries.map((entry) => checkLine(context, entry))
  return join('all', items)
}

function join(kind: 'all' | 'any', items: readonly (NodeIr | undefined)[]): NodeIr | undefined {
  const sound = items.filter((item) => item !== undefined)
  if (sound.length < items.length) return undefined
  return sound.length === 1 ? sound[0] : { kind, items: sound }
}

function checkLine(context: MatchContext, entry: DocEntry): NodeIr | undefined {
  const { key, value } = entry
  if (key === 'any' || key === 'all') {
    const items = readList(context.reader, value, `\`${key}\``)
    if (items?.length === 0)
      context.reader.report('empty-match', value, `\`${key}\` needs at least one match`)
    return items && items.length > 0
      ? join(
          key,
          items.map((item) => checkMatch(context, item)),
        )
      : undefined
  }
  if (key === 'not') {
    const item = checkMatch(context, value)
    return item && { kind: 'not', item }
  }
  return checkLeaf(context, entry)
}

function checkLeaf(context: MatchContext, { key, keyMark, value }: DocEntry): NodeIr | undefined {
  const field = parseField(key)
  const test = checkTest(context, value)
  if (isFieldProblem(field)) {
    reportFieldProblem(context, { mark: keyMark }, field)
    return undefined
  }
  if (!test) return undefined
  checkPayloadField(context, field, { at: { mark: keyMark }, presence: asksPresence(test) })
  checkKnownValues(context, value, { root: field.root, test })
  checkFunction(context, field, { mark: keyMark })
  checkNullOfFunction(context.reader, field, { at: value, test })
  checkFit(context, field, value)
  context.toolUses.push(...toolsInHistory(field, value))
  return { kind: 'leaf', field, test }
}

/** Reports a null test of a function. A function never returns null: unreadable values, including null, are unknown. */
function checkNullOfFunction(
  reader: Reader,
  field: FieldIr,
  { at, test }: { readonly at: Doc; readonly test: Test },
): void {
  if (field.fn === undefined || ![...testsIn(test)].some(({ op }) => OPERATORS[op].asks === 'null')) return
  const hint = `write \`${field.name}\` without \`${writtenFunction(field.fn)}\``
  reader.report('test-type', at, `\`${writtenFunction(field.fn)}\` never gives null`, hint)
}

const KNOWN_VALUES: Partial<Record<FieldRoot, readonly string[]>> = {
  'time.weekday': WEEKDAYS,
  'tool.reversibility': REVERSIBILITIES,
}

function checkKnownValues(
  { reader }: MatchContext,
  at: Doc,
  { root, test }: { readonly root: FieldRoot; readonly test: Test },
): void {
  const known = KNOWN_VALUES[root]
  for (const literal of literals(test)) {
    const { value } = literal
    if (known && !known.some((one) => one === value)) {
      const hint = didYouMean(String(value), known) ?? `one of ${known.join(', ')}`
      reader.report('bad-value', at, `\`${String(value)}\` is never a value of ${root}`, hint)
    } else if (root === 'time.hour') checkHour(reader, at, literal)
  }
}

/** Checks an hour. `under: 24` is valid, for a span that lasts until the end of the day. */
function checkHour(reader: Reader, at: Doc, { op, value }: Literal): void {
  const hour = Number.isInteger(value) ? Number(value) : -1
  if (hour < 0 || hour > (op === 'under' ? 24 : LAST_HOUR)) {
    const hint = `hours are whole numbers from 0 to ${LAST_HOUR}`
    reader.report('bad-value', at, `\`${String(value)}\` is not an hour`, hint)
  } else if ((op === 'over' && hour === LAST_HOUR) || (op === 'under' && hour === 0)) {
    const range = op === 'over' ? `at most ${LAST_HOUR}` : 'at least 0'
    reader.report('literal-range', at, `\`${op}\` ${hour} never holds: \`time.hour\` is ${range}`)
  }
}

const LAST_HOUR = 23

interface Literal {
  readonly op: Test['op']
  readonly value: Scalar
}

/** Returns the literals of a test, except literals of string tests and list lengths. */
function literals(test: Test): readonly Literal[] {
  if ('tests' in test) return test.tests.flatMap(literals)
  if ('test' in test) return OPERATORS[test.op].operand === 'length test' ? [] : literals(test.test)
  if ('value' in test) return [test]
  const { op } = test
  return 'values' in test && OPERATORS[op].operand === 'scalars'
    ? test.values.map((value) => ({ op, value }))
    : []
}
