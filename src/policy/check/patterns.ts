import { type JsonValue, isObject } from '../../contract/json.ts'
import { MAX_TOOL_PATTERNS_PROGRAM } from '../text/bounds.ts'
import type { CheckedRuleFile } from './rules.ts'
import type { CheckedTool } from './tool.ts'
import { cutsOf, type Test } from '../language/operators.ts'
import type { RuleFileIr } from '../language/rule.ts'
import { compilePattern } from '../language/patterns.ts'
import { leavesIn } from '../language/tree.ts'
import { remember } from '../language/remember.ts'

/**
 * Reports a tool whose patterns, in its contract and its rules, are too large in total. The gateway compiles a tool's
 * patterns on its first call, and answers no other request during that time.
 */
export function checkPatternCost(tools: readonly CheckedTool[], rules: readonly CheckedRuleFile[]): void {
  const sizes = new Map<string, number>()
  const sizeOf = (pattern: string): number =>
    remember(sizes, pattern, () => {
      const compiled = compilePattern(pattern)
      return compiled.ok ? compiled.size : 0
    })
  const sum = (patterns: Iterable<string>): number => {
    let total = 0
    for (const pattern of patterns) total += sizeOf(pattern)
    return total
  }
  const ofRules = new Map<string, number>()
  for (const { file, tools: names } of rules) {
    const size = sum(patternsOfFile(file))
    for (const name of names) ofRules.set(name, (ofRules.get(name) ?? 0) + size)
  }
  for (const { contract, nameAt, reader } of tools) {
    const size = sum(patternsOfSchema(contract.inputSchema)) + (ofRules.get(contract.name) ?? 0)
    if (size <= MAX_TOOL_PATTERNS_PROGRAM) continue
    const message = `the patterns of \`${contract.name}\` and of its rules are too large together: ${size}, at most ${MAX_TOOL_PATTERNS_PROGRAM}`
    reader.report('bad-pattern', nameAt, message, '`like` with `*` is simpler and costs nothing')
  }
}

function* patternsOfFile({ rules }: RuleFileIr): Generator<string> {
  for (const { when, unless } of rules) {
    for (const node of [when, unless])
      if (node) yield* leavesIn(node).flatMap(({ test }) => patternsOfTest(test))
  }
}

function patternsOfTest(test: Test): readonly string[] {
  const { patterns = [], entries = [] } = cutsOf(test)
  return [...patterns, ...entries.flatMap(patternsOfTest)]
}

/** Yields all patterns in `pattern` and `patternProperties`. */
function* patternsOfSchema(schema: JsonValue): Generator<string> {
  if (Array.isArray(schema)) for (const item of schema as readonly JsonValue[]) yield* patternsOfSchema(item)
  if (!isObject(schema)) return
  const { pattern, patternProperties } = schema
  if (typeof pattern === 'string') yield pattern
  if (isObject(patternProperties)) yield* Object.keys(patternProperties)
  for (const child of Object.values(schema)) if (child !== undefined) yield* patternsOfSchema(child)
}
