import type { CheckedRuleFile } from '../check/rules.ts'
import type { CheckedTool } from '../check/tool.ts'
import { riskAbove, maxRisk } from '../../domain/decision.ts'
import type { RoutingIr, RuleIr } from '../language/rule.ts'
import type { Directory, ToolContract } from '../language/snapshot.ts'
import { compileGlob } from '../text/text.ts'

/** A tool with its rule files and the routing. */
export interface LintedTool {
  readonly tool: CheckedTool
  /** The rule files that apply to the tool. */
  readonly files: readonly CheckedRuleFile[]
  readonly routing: RoutingIr
}

/**
 * Reports a tool whose only rules are review rules for every tool. Calls of such a tool match no rule and are rejected.
 */
export function reportOnlyCatchAll({ tool: { contract, nameAt, reader }, files, routing }: LintedTool): void {
  const rules = files.flatMap(({ file }) => file.rules.map((rule) => ({ rule, catchAll: file.catchAll })))
  const heard = rules.filter(({ rule }) => rule.mode === 'enforced')
  const covers = heard.some(({ rule, catchAll }) => !(catchAll && rule.verdict === 'review'))
  const [first] = heard
  if (routing.unmatched !== 'reject' || covers || !first) return
  const message = `every call of \`${contract.name}\` is rejected: \`${first.rule.id}\` is for every tool, and such a review rule covers no call`
  const hint =
    "write a rule for the tool or for some tools, such as `tools: ['ledger.*']`, or say `unmatched: review` in routing.yaml"
  reader.report('only-catch-all', nameAt, message, hint)
}

/** Reports tools that no agent of any tenant may use. A bundle without agents is unfinished, so it gets no report. */
export function reportUnused(tools: readonly CheckedTool[], { tenants }: Directory): void {
  const agents = [...tenants.values()].flatMap((tenant) => [...tenant.agents.values()])
  const globs = [...new Set(agents.flatMap((agent) => agent.tools))].map(compileGlob)
  if (agents.length === 0) return
  for (const { contract, nameAt, reader } of tools) {
    if (globs.some((fits) => fits(contract.name))) continue
    const hint = 'name it under `tools:` of an agent in directory.yaml'
    reader.report('tool-without-agent', nameAt, `no agent may use \`${contract.name}\``, hint)
  }
}

/**
 * Reports a tool with `proof: always` that an agent without signed approvals may use. Such an agent gets no proof, so
 * its allowed calls are repeated as often as it asks.
 */
export function reportProofUnsigned(tools: readonly CheckedTool[], { tenants }: Directory): void {
  const unsigned = [...tenants].flatMap(([tenant, { agents }]) =>
    [...agents]
      .filter(([, { signedApprovals }]) => !signedApprovals)
      .map(([id, { tools: globs }]) => ({ name: `${tenant}/${id}`, globs: globs.map(compileGlob) })),
  )
  for (const { contract, proofAt, reader } of tools) {
    if (contract.proof !== 'always' || proofAt === undefined) continue
    const named = unsigned.find(({ globs }) => globs.some((fits) => fits(contract.name)))?.name
    if (named === undefined) continue
    const message = `\`proof: always\` means nothing for \`${named}\`: the agent has \`signed_approvals: false\``
    reader.report('proof-unsigned', proofAt, message, 'let the agent use signed approvals, or no such tool')
  }
}

/** Reports an allow rule that has no effect because the risk of all its tools' contracts is above `allow_up_to`. */
export function reportAllowsAbove(
  { file, reader, places, tools }: CheckedRuleFile,
  contracts: ReadonlyMap<string, ToolContract>,
  { allowUpTo }: RoutingIr,
): void {
  const applied = tools.flatMap((name) => contracts.get(name) ?? [])
  for (const rule of file.rules) {
    const at = places.get(rule.id)
    if (rule.verdict !== 'allow' || !at || applied.length === 0 || isAbove(rule.risk, allowUpTo)) continue
    const risks = applied.map(({ risk }) => (rule.risk === undefined ? risk : maxRisk(risk, rule.risk)))
    if (!risks.every((risk) => riskAbove(risk, allowUpTo))) continue
    const named = applied.length === 1 ? `\`${applied[0]?.name}\` has` : 'its tools have'
    const message = `rule \`${rule.id}\` never allows: ${named} risk ${risks[0]}, above \`allow_up_to: ${allowUpTo}\``
    reader.report(
      'allow-above-limit',
      at,
      message,
      'write `review:`, lower `risk:` in the contract, or raise `allow_up_to`',
    )
  }
}

/** Returns true for a rule whose own `risk:` is above the limit. The check of the rule reports it. */
const isAbove = (risk: RuleIr['risk'], allowUpTo: RoutingIr['allowUpTo']): boolean =>
  risk !== undefined && riskAbove(risk, allowUpTo)
