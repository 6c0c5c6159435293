import type { CheckedRuleFile } from '../check/rules.ts'
import { createToolReport, type ToolUse } from '../check/tool-names.ts'
import type { CheckedTool } from '../check/tool.ts'
import type { CheckedRouting } from '../check/routing.ts'
import type { FieldValues } from '../schema/possible-fields.ts'
import { reportAmounts } from './amounts.ts'
import { beaterOf, rivalsAmong, type Judged } from './beaten.ts'
import { createCellTruth } from './cell.ts'
import { createKnownChoices, type ChoiceContext } from './choices.ts'
import { isUnconfirmed, reportUnconfirmed, restsOnClaim } from './effects.ts'
import { openRule } from './open-rule.ts'
import { reportRule } from './report.ts'
import { reportLeftOut } from './summary.ts'
import { reportAllowsAbove, reportOnlyCatchAll, reportProofUnsigned, reportUnused } from './tools.ts'
import { factsOf } from './rule.ts'
import { createConditionCompiler } from '../evaluate/conditions.ts'
import { compileRules } from '../evaluate/program.ts'
import { addFacts, createStanding, type Standing } from './standing.ts'
import type { Reader } from '../yaml/shape.ts'
import type { Directory, ToolContract } from '../language/snapshot.ts'
import { remember } from '../language/remember.ts'

/** A bundle without errors. */
export interface LintedBundle {
  readonly tools: readonly CheckedTool[]
  readonly rules: readonly CheckedRuleFile[]
  readonly fieldValues: FieldValues
  readonly routing: CheckedRouting
  readonly directory: Directory
  /** The tools that directory.yaml lets agents use. */
  readonly permitted: { readonly reader: Reader; readonly uses: readonly ToolUse[] } | undefined
}

/**
 * Static analysis (docs/policy-language.md): findings about rules without a call. The analysis is sound but not
 * complete. It reports that a rule never fires, always fires or is always beaten only when this is true for every
 * payload that fits the contracts. When the analysis would be too large, lint reports nothing.
 */
export function lintBundle(bundle: LintedBundle): void {
  const standings = bundle.rules.map((file) => file.file.rules.map(() => createStanding()))
  const shared = {
    fieldValues: bundle.fieldValues,
    truth: createCellTruth(),
    known: createKnownChoices(),
    conditions: createConditionCompiler(),
  }
  const filesOf = filesByTool(bundle.rules)
  for (const checked of bundle.tools) {
    const { contract, nameAt, reader } = checked
    const files = filesOf.get(contract.name) ?? []
    if (files.length === 0)
      reader.report('tool-without-rule', nameAt, `no rule file applies to \`${contract.name}\``)
    const context = { ...shared, tool: contract, doubtful: isUnconfirmed(checked) }
    lintTool(context, bundle, { files, standings })
  }
  reportAll(bundle, standings, shared)
  reportToolNames(bundle)
  reportTools(bundle, filesOf)
}

function reportTools(bundle: LintedBundle, filesOf: ReadonlyMap<string, readonly number[]>): void {
  const { routing } = bundle.routing
  const contracts = new Map(bundle.tools.map(({ contract }) => [contract.name, contract]))
  reportUnused(bundle.tools, bundle.directory)
  reportProofUnsigned(bundle.tools, bundle.directory)
  for (const file of bundle.rules) reportAllowsAbove(file, contracts, routing)
  for (const tool of bundle.tools) {
    const files = (filesOf.get(tool.contract.name) ?? []).flatMap((at) => bundle.rules[at] ?? [])
    reportOnlyCatchAll({ tool, files, routing })
    reportAmounts(tool.contract, files)
    reportLeftOut(
      tool,
      files.map(({ file }) => file),
    )
  }
}

/**
 * Reports unknown tool names as warnings, because a contract may be added later, and the history keeps removed tools.
 */
function reportToolNames({ tools, rules, permitted }: LintedBundle): void {
  const report = createToolReport(tools.map(({ contract }) => contract.name))
  const hint = 'until a tool has a contract under tools/, every call of it is rejected'
  if (permitted) report(permitted.reader, permitted.uses, hint)
  for (const { reader, toolUses } of rules)
    report(reader, toolUses, 'the history holds only tools that had a contract when they were called')
}

function filesByTool(rules: readonly CheckedRuleFile[]): ReadonlyMap<string, readonly number[]> {
  const files = new Map<string, number[]>()
  for (const [index, file] of rules.entries())
    for (const tool of file.tools) remember(files, tool, () => []).push(index)
  return files
}

type Standings = readonly (readonly Standing[])[]

function lintTool(
  context: ChoiceContext,
  bundle: LintedBundle,
  { files, standings }: { readonly files: readonly number[]; readonly standings: Standings },
): void {
  const all: (Judged & { readonly standing: Standing })[] = []
  for (const index of files) {
    const file = bundle.rules[index]?.file
    if (!file) continue
    for (const [place, compiled] of compileRules(context.tool, file, context.conditions).entries()) {
      const standing = standings[index]?.[place]
      if (!standing) continue
      const rule = openRule(compiled)
      const facts = factsOf(context, rule)
      addFacts(standing, context.tool, rule, facts)
      all.push({ ...rule, facts, standing })
    }
  }
  const rivals = rivalsAmong(all)
  const hasAllow = all.some(({ rule }) => rule.enforced && rule.verdict === 'allow')
  for (const judged of all) {
    const { standing } = judged
    if (restsOnClaim(context, judged, hasAllow)) standing.claimed.push(context.tool.name)
    // A rule that is unbeaten for one tool counts as unbeaten.
    if (standing.beaten !== false) standing.beaten = beaterOf(context, judged, rivals) ?? false
  }
}

function reportAll(
  { tools, rules }: LintedBundle,
  standings: Standings,
  shared: Omit<ChoiceContext, 'tool'>,
): void {
  const contracts = new Map<string, ToolContract>(tools.map((tool) => [tool.contract.name, tool.contract]))
  for (const [index, file] of rules.entries()) {
    const tool = contracts.get(file.tools[0] ?? '')
    for (const [place, rule] of file.file.rules.entries()) {
      const at = file.places.get(rule.id)
      const standing = standings[index]?.[place]
      if (!at || !standing || !tool) continue
      const contradicts = (): boolean => {
        const alone = { ...file.file, rules: [rule] }
        const [compiled] = compileRules(tool, alone, shared.conditions)
        const facts = compiled && factsOf({ ...shared, tool, anything: true }, openRule(compiled))
        return facts?.neverTrue === true
      }
      reportRule({ reader: file.reader, at }, rule, {
        standing,
        contradicts,
        rulesOfFile: file.file.rules,
      })
      reportUnconfirmed({ reader: file.reader, at }, rule, standing.claimed)
    }
  }
}
