import type { EntryMatch } from '../language/entries.ts'
import { payloadName } from '../language/fields.ts'
import { fieldsOf } from '../language/history.ts'
import type { Test } from '../language/operators.ts'
import { compilePattern, fitsEveryText } from '../language/patterns.ts'
import type { NodeIr, RuleIr } from '../language/rule.ts'

/**
 * Returns a pattern with which an allow rule fixes the beginning of text and not its end, where another statement may
 * follow. A rule that also reads the field through a function is fine, because functions read the whole text.
 */
export function openPattern(rule: RuleIr): string | undefined {
  if (rule.verdict !== 'allow') return undefined
  const whole = new Set(fieldsOf(rule).flatMap(({ fn, name }) => (fn === undefined ? [] : [name])))
  const { when, unless } = rule
  const found = [
    ...(when ? patternsIn(when, true, whole) : []),
    ...(unless ? patternsIn(unless, false, whole) : []),
  ]
  return found.find(isOpen)
}

/** Returns the patterns that text must fit. With `wanted: false`, they are inside an odd number of `not`. */
function patternsIn(
  node: NodeIr | EntryMatch<Test>,
  wanted: boolean,
  whole: ReadonlySet<string>,
): readonly string[] {
  if (node.kind === 'not') return patternsIn(node.item, !wanted, whole)
  if (node.kind !== 'leaf') return node.items.flatMap((item) => patternsIn(item, wanted, whole))
  if ('field' in node && node.field.fn === undefined && whole.has(node.field.name)) return []
  return patternsOf(node.test, wanted)
}

function patternsOf(test: Test, wanted: boolean): readonly string[] {
  if (test.op === 'matches') return wanted ? test.values.map(String) : []
  if (test.op === 'match') return patternsIn(test.match, wanted, new Set())
  if (test.op === 'and') return test.tests.flatMap((one) => patternsOf(one, wanted))
  if (test.op === 'some' || test.op === 'every') return patternsOf(test.test, wanted)
  return test.op === 'not' || test.op === 'none' ? patternsOf(test.test, !wanted) : []
}

/** A pattern that fits every text has a warning of its own. */
function isOpen(source: string): boolean {
  if (!/^(?:\(\?\w+\))?(?:\^|\\A)/.test(source) || /(?<!\\)\$|\\z/.test(source)) return false
  const compiled = compilePattern(source)
  return compiled.ok && !fitsEveryText(compiled.pattern)
}

/** Returns a list of which an allow rule reads some entries by their index, and nothing reads the others. */
export function unreadRest(rule: RuleIr): string | undefined {
  if (rule.verdict !== 'allow') return undefined
  const fields = fieldsOf(rule).filter(({ root }) => root === 'payload')
  const read = new Set(fields.map(({ name }) => name))
  return fields
    .flatMap(({ path }) =>
      path.flatMap((step, i) => (typeof step === 'number' ? [payloadName(path.slice(0, i))] : [])),
    )
    .find((list) => !read.has(list))
}
