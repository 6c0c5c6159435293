import { checkCase, type CaseIr } from './case.ts'
import { readConditions } from './conditions.ts'
import { checkLimit } from './limit.ts'
import { checkMatch, type MatchContext } from './match.ts'
import { checkPayloadField, isKnownField, reportFieldProblem } from './path.ts'
import { checkRule } from './rule.ts'
import type { World, RuleContext } from './rule-context.ts'
import type { GroupUse } from './level.ts'
import { readLiteral } from './routing.ts'
import { SEEN } from './change.ts'
import { key, list, partOf, readSpec, type Schema, specOf, TEXT, value } from './spec.ts'
import { reportReserved, RESERVED } from './test.ts'
import type { ToolUse } from './tool-names.ts'
import { checkMeaning } from './types.ts'
import { isFieldProblem, parseEveryMember, parseField } from '../language/fields.ts'
import type { Scalar } from '../language/compiled-test.ts'
import type { LimitIr, MissingMeans, RuleFileIr, RuleIr } from '../language/rule.ts'
import { didYouMean } from '../text/nearest.ts'
import type { Doc, DocEntry, DocMap } from '../yaml/parse.ts'
import {
  given,
  readList,
  readMap,
  readName,
  readOneOf,
  readText,
  RULE_ID,
  TOOL_GLOB,
  type Reader,
} from '../yaml/shape.ts'
import type { ToolContract } from '../language/snapshot.ts'
import { compileGlob, showForeign } from '../text/text.ts'

export interface CheckedRuleFile {
  readonly file: RuleFileIr
  readonly tools: readonly string[]
  readonly cases: readonly CaseIr[]
  readonly groups: readonly GroupUse[]
  readonly reader: Reader
  /** The position of each rule and limit, by id. */
  readonly places: ReadonlyMap<string, Doc>
  /** The tools that the file's history tests name. */
  readonly toolUses: readonly ToolUse[]
}

/** A part that checkRuleFile reads. In editors, some depend on the tool as well. */
const part = <const To extends string>(to: To, schema: Schema, doc: string) =>
  key(
    to,
    value((_, at: Doc) => at, schema),
    doc,
    SEEN,
  )

/** The keys of a rule file. */
export const RULE_FILE_KEYS = specOf<
  Record<
    'tool' | 'tools' | 'owner' | 'missing_means' | 'mode' | 'conditions' | 'rules' | 'limits' | 'tests',
    Doc
  >
>()('a rule file', {
  tool: part('tool', partOf('tool'), 'The tool that the rules are for.'),
  tools: part(
    'tools',
    { ...list({ type: 'string', pattern: TOOL_GLOB.pattern.source }), minItems: 1 },
    'Tools that the rules are for; `*` is any run of characters.',
  ),
  owner: part('owner', TEXT.schema, 'Who answers for the rules.'),
  missing_means: part(
    'missing_means',
    { type: 'object' },
    'What a tool does when an optional argument is left out.',
  ),
  mode: part(
    'mode',
    { const: 'shadow' },
    'Shadow mode: the file decides nothing, and its rules are counted.',
  ),
  conditions: part(
    'conditions',
    { type: 'object', propertyNames: { pattern: RULE_ID.pattern.source } },
    'Conditions with a name, which the matches of this file may use.',
  ),
  rules: {
    ...part('rules', { type: 'array', minItems: 1 }, 'The rules; all of them are evaluated.'),
    required: true,
  },
  limits: part('limits', { type: 'array', minItems: 1 }, 'How often, or how much, in a time.'),
  tests: part('tests', { type: 'array' }, 'Calls with the expected decision; `check` runs them.'),
})

/** Checks one rules/ file (docs/policy-language.md). The file needs `rules`, and either `tool` or `tools`. */
export function checkRuleFile(reader: Reader, doc: Doc, world: World): CheckedRuleFile | undefined {
  const root = readMap(reader, doc, 'a rule file')
  if (!root) return undefined
  const keys = readSpec(reader, root, RULE_FILE_KEYS, {}).entry
  const target = checkTarget(reader, root, { tool: keys.tool, tools: keys.tools, world })
  const shadow = given(keys.mode, (at) => readOneOf(reader, at, '`mode`', ['shadow'])) !== undefined
  const declared = new Set(
    keys.missing_means?.kind === 'map'
      ? keys.missing_means.entries.map((entry) => parseEveryMember(entry.key)?.name ?? entry.key)
      : [],
  )
  const { lists, listsUnknown, fieldValues } = world
  const toolUses: ToolUse[] = []
  const conditions = readConditions(reader, keys.conditions, (own, match, name) =>
    checkMatch({ ...context, reader: own, user: `condition \`${name}\`` }, match),
  )
  const context: MatchContext = {
    reader,
    lists,
    listsUnknown,
    checkEntry: () => undefined,
    isField: (text) => isKnownField(context, text),
    tools: target.contracts,
    declared,
    fieldValues,
    toolUses,
    conditions,
    user: '',
  }
  const missingMeans = given(keys.missing_means, (at) => checkMissingMeans(context, at)) ?? []
  given(keys.owner, (at) => readText(reader, at, '`owner`'))
  const groups: GroupUse[] = []
  const places = new Map<string, Doc>()
  const rules = given(keys.rules, (at) => checkRules(context, at, { world, shadow, groups, places })) ?? []
  conditions.report()
  const limits = given(keys.limits, (at) => checkLimits(context, at, { world, shadow, places })) ?? []
  const file = {
    path: reader.source.path,
    catchAll: target.catchAll,
    missingMeans,
    rules,
    limits,
  }
  const tools = target.contracts.map((tool) => tool.name)
  const cases = checkCases(reader, keys.tests, [...tools, ...target.refused])
  return { file, tools, cases, groups, reader, places, toolUses }
}

interface Target {
  readonly contracts: readonly ToolContract[]
  /** The named tools whose contracts have errors. */
  readonly refused: readonly string[]
  readonly catchAll: boolean
}

function checkTarget(
  reader: Reader,
  root: DocMap,
  {
    tool,
    tools,
    world,
  }: { readonly tool: Doc | undefined; readonly tools: Doc | undefined; readonly world: World },
): Target {
  if ((tool === undefined) === (tools === undefined)) {
    reader.report(
      tool ? 'unknown-key' : 'missing-key',
      root,
      'a rule file needs exactly one of `tool:` and `tools:`',
    )
    return NO_TARGET
  }
  if (tool) return checkToolName(reader, tool, world)
  return tools ? checkGlobs(reader, tools, world) : NO_TARGET
}

const NO_TARGET: Target = { contracts: [], refused: [], catchAll: false }

function checkToolName(reader: Reader, doc: Doc, world: World): Target {
  const name = readText(reader, doc, '`tool`')
  if (name === undefined) return NO_TARGET
  const contract = world.tools.get(name)
  if (contract) return { ...NO_TARGET, contracts: [contract] }
  if (world.refused.has(name)) return { ...NO_TARGET, refused: [name] }
  reportUnknownTool(reader, doc, { name, world })
  return NO_TARGET
}

function reportUnknownTool(
  reader: Reader,
  at: Doc,
  { name, world }: { readonly name: string; readonly world: World },
): void {
  const hint = didYouMean(name, world.tools.keys()) ?? 'every tool needs a contract under tools/'
  reader.report('unknown-tool', at, `no tool contract named \`${showForeign(name)}\``, hint)
}

function checkGlobs(reader: Reader, doc: Doc, world: World): Target {
  const found = new Map<string, ToolContract>()
  const refused = new Set<string>()
  let catchAll = false
  const items = readList(reader, doc, '`tools`') ?? []
  if (doc.kind === 'list' && items.length === 0) reader.report('empty-match', doc, '`tools` names no tool')
  for (const item of items) {
    const glob = readName(reader, item, '`tools`', TOOL_GLOB)
    if (glob === undefined) continue
    catchAll ||= /^\*+$/.test(glob)
    const matches = compileGlob(glob)
    const matched = [...world.tools.values()].filter((tool) => matches(tool.name))
    const broken = [...world.refused].filter(matches)
    for (const name of broken) refused.add(name)
    if (matched.length + broken.length === 0) reportUnknownTool(reader, item, { name: glob, world })
    for (const tool of matched) found.set(tool.name, tool)
  }
  return { contracts: [...found.values()], refused: [...refused], catchAll }
}

function checkMissingMeans(context: MatchContext, doc: Doc): readonly MissingMeans[] {
  const entries = readMap(context.reader, doc, '`missing_means`')?.entries ?? []
  return entries.flatMap((entry) => checkMissing(context, entry) ?? [])
}

function checkMissing(context: MatchContext, { key, keyMark, value }: DocEntry): MissingMeans | undefined {
  const { reader } = context
  const field = parseEveryMember(key) ?? parseField(key)
  const at = { mark: keyMark }
  if (isFieldProblem(field)) return reportFieldProblem(context, at, field)
  if (field.fn !== undefined) {
    const hint = `write \`${field.name}\``
    return reader.report('unknown-field', at, '`missing_means` names plain fields', hint)
  }
  checkPayloadField(context, field, { at, presence: false })
  checkMeaning(context, field, { at, value })
  if (value.kind === 'text' && value.value === 'nothing') return { field: field.name }
  const means = readMeaning(reader, value)
  return means === undefined ? undefined : { field: field.name, value: means }
}

/** Reads a literal, a list of literals, or `{ is: literal }`, which also accepts reserved words such as `nothing`. */
function readMeaning(reader: Reader, doc: Doc): Scalar | readonly Scalar[] | undefined {
  if (doc.kind === 'list') return doc.items.flatMap((item) => readMeant(reader, item) ?? [])
  const only = doc.kind === 'map' && doc.entries.length === 1 ? doc.entries[0] : undefined
  return only?.key === 'is' ? readLiteral(reader, only.value, NO_LIST) : readMeant(reader, doc)
}

const NO_LIST = '`missing_means` takes no lists by name'

/** Reads the short form of a literal. As in a test, some words are reserved: `missing` is not a literal here. */
function readMeant(reader: Reader, doc: Doc): Scalar | undefined {
  if (doc.kind !== 'text' || !RESERVED.includes(doc.value)) return readLiteral(reader, doc, NO_LIST)
  return reportReserved(reader, doc, doc.value)
}

function checkRules(context: MatchContext, doc: Doc, rest: RuleContext): readonly RuleIr[] {
  const items = readList(context.reader, doc, '`rules`') ?? []
  if (doc.kind === 'list' && items.length === 0)
    context.reader.report('empty-match', doc, 'a rule file without a rule decides nothing')
  return items.flatMap((item) => checkRule(context, item, rest) ?? [])
}

function checkLimits(context: MatchContext, doc: Doc, rest: Omit<RuleContext, 'groups'>): readonly LimitIr[] {
  const items = readList(context.reader, doc, '`limits`') ?? []
  return items.flatMap((item) => checkLimit(context, item, rest) ?? [])
}

function checkCases(reader: Reader, doc: Doc | undefined, tools: readonly string[]): readonly CaseIr[] {
  if (doc === undefined) return []
  return (readList(reader, doc, '`tests`') ?? []).flatMap((item) => checkCase(reader, item, tools) ?? [])
}
