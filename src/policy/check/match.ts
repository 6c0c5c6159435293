import type { Conditions } from './conditions.ts'
import { checkFit, checkFunction } from './types.ts'
import { checkKnownValues } from './known-values.ts'
import { checkLines } from './lines.ts'
import { checkPayloadField, reportFieldProblem, type PathContext } from './path.ts'
import { toolsInHistory, type ToolUse } from './tool-names.ts'
import { contextOf } from './entry.ts'
import { checkTest, reportOutside, type TestContext } from './test.ts'
import { writtenFunction } from '../language/function-names.ts'
import { isFieldProblem, isMemberText, parseField } from '../language/fields.ts'
import type { FieldIr, NodeIr } from '../language/rule.ts'
import type { Doc, DocEntry } from '../yaml/parse.ts'
import { readMap, type Reader } from '../yaml/shape.ts'
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
  return checkLines(context.reader, map, {
    empty: ['an empty match would hold for every call', 'leave `when:` out to say so'],
    inside: (inner) => checkMatch(context, inner),
    line: (entry) =>
      entry.key === 'condition'
        ? context.conditions.use(entry.value, context.user)
        : checkLeaf(context, entry),
  })
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
