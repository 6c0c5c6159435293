import { VERDICTS } from '../domain/decision.ts'
import { MAX_REASON_CHARACTERS } from './bounds.ts'
import { checkCase, type CaseIr } from './check-case.ts'
import { checkMatch, checkPayloadField, type MatchContext } from './check-match.ts'
import { checkReviewers, readScalar, type GroupUse } from './check-routing.ts'
import { isFieldProblem, parseField } from './fields.ts'
import type { MissingMeans, RuleFileIr, RuleIr, Scalar } from './ir.ts'
import { didYouMean } from './nearest.ts'
import type { Doc, DocMap } from './parse.ts'
import {
  readKeys,
  readList,
  readMap,
  readName,
  readOneOf,
  readRisk,
  readText,
  RULE_ID,
  TOOL_GLOB,
  type Reader,
} from './shape.ts'
import type { ToolContract } from './snapshot.ts'
import { lineOf } from './source.ts'
import { compileGlob } from './text.ts'
import { endOfDate, parseDate } from './time.ts'

/** What rule files refer to. */
export interface World {
  readonly tools: ReadonlyMap<string, ToolContract>
  readonly lists: ReadonlyMap<string, readonly Scalar[]>
  readonly timezone: string
  /** Rule ids seen so far, with the place of the first. */
  readonly ids: Map<string, string>
}

export interface CheckedRuleFile {
  readonly file: RuleFileIr
  readonly tools: readonly string[]
  readonly cases: readonly CaseIr[]
  readonly groups: readonly GroupUse[]
  readonly reader: Reader
}

/** Checks one rules/ file (section 3): tool or tools, and rules, are required. */
export function checkRuleFile(reader: Reader, doc: Doc, world: World): CheckedRuleFile | undefined {
  const root = readMap(reader, doc, 'a rule file')
  if (!root) return undefined
  const keys = readKeys(reader, root, {
    what: 'a rule file',
    required: ['rules'],
    optional: ['tool', 'tools', 'owner', 'missing_means', 'mode', 'tests'],
  })
  const target = checkTarget(reader, root, { tool: keys.tool, tools: keys.tools, world })
  const shadow = keys.mode !== undefined && readOneOf(reader, keys.mode, '`mode`', ['shadow']) !== undefined
  const declared = new Set(
    keys.missing_means?.kind === 'map' ? keys.missing_means.entries.map((entry) => entry.key) : [],
  )
  const context = { reader, lists: world.lists, tools: target.contracts, declared }
  const missingMeans = keys.missing_means ? checkMissingMeans(context, keys.missing_means) : []
  const owner = keys.owner && readText(reader, keys.owner, '`owner`')
  const groups: GroupUse[] = []
  const rules = keys.rules ? checkRules(context, keys.rules, { world, shadow, groups }) : []
  const file = {
    path: reader.source.path,
    catchAll: target.catchAll,
    missingMeans,
    rules,
    ...(owner === undefined ? {} : { owner }),
  }
  const tools = target.contracts.map((tool) => tool.name)
  return { file, tools, cases: checkCases(reader, keys.tests, tools), groups, reader }
}

interface Target {
  readonly contracts: readonly ToolContract[]
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
    return { contracts: [], catchAll: false }
  }
  if (tool) {
    const name = readText(reader, tool, '`tool`')
    const contract = name === undefined ? undefined : world.tools.get(name)
    if (name !== undefined && !contract) reportUnknownTool(reader, tool, { name, world })
    return { contracts: contract ? [contract] : [], catchAll: false }
  }
  return tools ? checkGlobs(reader, tools, world) : { contracts: [], catchAll: false }
}

function reportUnknownTool(
  reader: Reader,
  at: Doc,
  { name, world }: { readonly name: string; readonly world: World },
): void {
  const hint = didYouMean(name, world.tools.keys()) ?? 'every tool needs a contract under tools/'
  reader.report('unknown-tool', at, `no tool contract named \`${name}\``, hint)
}

function checkGlobs(reader: Reader, doc: Doc, world: World): Target {
  const found = new Map<string, ToolContract>()
  let catchAll = false
  const items = readList(reader, doc, '`tools`') ?? []
  if (doc.kind === 'list' && items.length === 0) reader.report('empty-match', doc, '`tools` names no tool')
  for (const item of items) {
    const glob = readName(reader, item, '`tools`', TOOL_GLOB)
    if (glob === undefined) continue
    catchAll ||= /^\*+$/.test(glob)
    const matches = compileGlob(glob)
    const matched = [...world.tools.values()].filter((tool) => matches(tool.name))
    if (matched.length === 0) reportUnknownTool(reader, item, { name: glob, world })
    for (const tool of matched) found.set(tool.name, tool)
  }
  return { contracts: [...found.values()], catchAll }
}

function checkMissingMeans(context: MatchContext, doc: Doc): readonly MissingMeans[] {
  return (readMap(context.reader, doc, '`missing_means`')?.entries ?? []).flatMap((entry) => {
    const field = parseField(entry.key)
    const at = { mark: entry.keyMark }
    if (isFieldProblem(field)) return context.reader.report(field.code, at, field.message, field.hint) ?? []
    if (field.fn !== undefined)
      return (
        context.reader.report(
          'unknown-field',
          at,
          '`missing_means` names plain fields',
          `write \`${field.name}\``,
        ) ?? []
      )
    checkPayloadField(context, field, { at, presence: false })
    const { value } = entry
    if (value.kind === 'text' && value.value === 'nothing') return { field: field.name }
    const literal =
      value.kind === 'map' && value.entries.length === 1 && value.entries[0]?.key === 'is'
        ? value.entries[0].value
        : value
    if (literal.kind === 'list')
      return {
        field: field.name,
        value: literal.items.flatMap((item) => readScalar(context.reader, item) ?? []),
      }
    const means = readScalar(context.reader, literal)
    return means === undefined ? [] : { field: field.name, value: means }
  })
}

interface RuleContext {
  readonly world: World
  readonly shadow: boolean
  readonly groups: GroupUse[]
}

function checkRules(context: MatchContext, doc: Doc, rest: RuleContext): readonly RuleIr[] {
  const items = readList(context.reader, doc, '`rules`') ?? []
  if (doc.kind === 'list' && items.length === 0)
    context.reader.report('empty-match', doc, 'a rule file without a rule decides nothing')
  return items.flatMap((item) => checkRule(context, item, rest) ?? [])
}

const RULE_KEYS = ['when', 'unless', 'risk', 'reviewers', 'mode', 'until', ...VERDICTS] as const

function checkRule(
  context: MatchContext,
  doc: Doc,
  { world, shadow, groups }: RuleContext,
): RuleIr | undefined {
  const { reader } = context
  const map = readMap(reader, doc, 'a rule')
  if (!map) return undefined
  const keys = readKeys(reader, map, { what: 'a rule', required: ['id'], optional: RULE_KEYS })
  const id = keys.id && checkId(reader, keys.id, world)
  const named = VERDICTS.filter((one) => keys[one] !== undefined)
  const verdict = named[0]
  if (named.length !== 1)
    reader.report(
      'verdict-count',
      map,
      `a rule needs exactly one of allow:, review: and reject:, found ${named.length}`,
    )
  const reasonAt = verdict && keys[verdict]
  const reason = reasonAt && checkReason(reader, reasonAt)
  const own = keys.mode !== undefined && readOneOf(reader, keys.mode, '`mode`', ['shadow']) !== undefined
  const mode = shadow || own ? 'shadow' : 'enforced'
  const when = keys.when && checkMatch(context, keys.when)
  const unless = keys.unless && checkMatch(context, keys.unless)
  const risk = keys.risk && readRisk(reader, keys.risk)
  const people = keys.reviewers && readMap(reader, keys.reviewers, '`reviewers`')
  const reviewers = people && checkReviewers(reader, people, groups)
  if (people && verdict === 'reject')
    reader.report('reviewers-unused', people, 'nobody reviews a rejected call')
  const untilMs = keys.until && checkUntil(reader, keys.until, world.timezone)
  if (keys.until && verdict !== 'allow' && mode !== 'shadow') {
    reader.report(
      'until-on-tightening',
      keys.until,
      'only allow and shadow rules may end by date',
      'a review or reject rule that ends would loosen the policy silently',
    )
  }
  if (id === undefined || !verdict || reason === undefined) return undefined
  const parts = { when, unless, risk, reviewers, untilMs }
  return { id, verdict, reason, mode, line: lineOf(reader.source, map.mark.start), ...defined(parts) }
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** The object without its undefined members. */
function defined<T extends object>(parts: T): Defined<T> {
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined)) as Defined<T>
}

/** Ids that stand for decisions no rule made. */
const RESERVED_IDS = ['unmatched']

function checkId(reader: Reader, doc: Doc, world: World): string | undefined {
  const id = readName(reader, doc, '`id`', RULE_ID)
  if (id === undefined) return undefined
  const first = world.ids.get(id)
  if (RESERVED_IDS.includes(id)) reader.report('bad-value', doc, `\`${id}\` is a reserved id`)
  else if (first !== undefined)
    reader.report('duplicate-id', doc, `rule id \`${id}\` is also used at ${first}`)
  else world.ids.set(id, `${reader.source.path}:${lineOf(reader.source, doc.mark.start)}`)
  return id
}

function checkReason(reader: Reader, doc: Doc): string | undefined {
  const reason = readText(reader, doc, 'a reason')?.trim()
  if (reason === undefined || reason.length <= MAX_REASON_CHARACTERS) return reason
  reader.report('bad-value', doc, `a reason is at most ${MAX_REASON_CHARACTERS} characters long`)
  return undefined
}

function checkUntil(reader: Reader, doc: Doc, timezone: string): number | undefined {
  const text = readText(reader, doc, '`until`')
  const date = text === undefined ? undefined : parseDate(text)
  if (text !== undefined && date === undefined)
    reader.report('bad-value', doc, `\`${text}\` is not a date`, 'write it as 2027-01-31')
  return date === undefined ? undefined : endOfDate(timezone, date)
}

function checkCases(reader: Reader, doc: Doc | undefined, tools: readonly string[]): readonly CaseIr[] {
  if (doc === undefined) return []
  return (readList(reader, doc, '`tests`') ?? []).flatMap((item) => checkCase(reader, item, tools) ?? [])
}
