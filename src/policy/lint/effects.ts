import type { CheckedRuleFile } from '../check/rules.ts'
import type { CheckedTool } from '../check/tool.ts'
import { fieldsOf } from '../language/history.ts'

/**
 * Reports allow rules that rest on `tool.reversibility` of contracts that no person has confirmed. The import takes
 * that value from the server's own annotations, which prove nothing.
 */
export function reportUnconfirmed(
  { file, tools, reader, places }: CheckedRuleFile,
  contracts: ReadonlyMap<string, CheckedTool>,
): void {
  const doubtful = tools.filter((name) => isUnconfirmed(contracts.get(name)))
  const [first] = doubtful
  if (first === undefined) return
  for (const rule of file.rules) {
    const at = places.get(rule.id)
    const rests = fieldsOf(rule).some(({ root }) => root === 'tool.reversibility')
    if (rule.verdict !== 'allow' || rule.mode !== 'enforced' || at === undefined || !rests) continue
    const more = doubtful.length === 1 ? '' : ` and of ${doubtful.length - 1} more tools`
    reader.report(
      'effects-unconfirmed',
      at,
      `rule \`${rule.id}\` rests on what the MCP server says about \`${first}\`${more}, and no person has confirmed it`,
      'find out what the tool does, then write `confirmed: true` under `source:` of its contract',
    )
  }
}

function isUnconfirmed(tool: CheckedTool | undefined): boolean {
  if (tool === undefined) return false
  const { contract, confirmed } = tool
  return contract.source !== undefined && contract.reversibility !== undefined && confirmed !== true
}
