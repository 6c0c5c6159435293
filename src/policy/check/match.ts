import type { Conditions } from './conditions.ts'
import { checkFit, checkFunction } from './types.ts'
import { checkKnownValues } from './known-values.ts'
import { checkPayloadField, reportFieldProblem, type PathContext } from './path.ts'
import { toolsInHistory, type ToolUse } from './tool-names.ts'
import { contextOf } from './entry.ts'
import { checkTest, reportOutside, type TestContext } from './test.ts'
import { writtenFunction } from '../language/function-names.ts'
import { isFieldProblem, isMemberText, parseField } from '../language/fields.ts'
import type { FieldIr, NodeIr } from '../language/rule.ts'
import type { Doc, DocEntry } from '../yaml/parse.ts'
import { readList, readMap, type Reader } from '../yaml/shape.ts'
import { OPERATORS, type Test } from '../language/operators.ts'
import { asksPresence, testsIn } from '../language/test-parts.ts'

/** The names that a match may refer to. */
export interface MatchContext extends TestContext, PathContext {
  /** The tools that history tests named so far. */
  readonly toolUses: ToolUse[]
  readonly conditions: Conditions
  /** The rule or condition whose match is checked. */
  readonly user: string
}

/**
 * Checks a match (docs/policy-language.md). Its lines are fields, `any`, `all`, `not` and `condition`, and all must be
 * true.
 */
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
  if (key === 'condition') return context.conditions.use(value, context.user)
  return checkLeaf(context, entry)
}

function checkLeaf(context: MatchContext, { key, keyMark, value }: DocEntry): NodeIr | undefined {
  const field = parseField(key)
  if (isMemberText(key)) return reportOutside(context.reader, { mark: keyMark }, key)
  const test = checkTest(isFieldProblem(field) ? context : contextOf(context, field), value)
  if (isFieldProblem(field)) {
    reportFieldProblem(context, { mark: keyMark }, field)
    return undefined
  }
  if (!test) return undefined
  checkPayloadField(context, field, { at: { mark: keyMark }, presence: asksPresence(test) })
  checkKnownValues(context.reader, value, { root: field.root, test })
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
