import type { CheckedTool } from '../check/tool.ts'
import type { RuleFileIr } from '../language/rule.ts'
import { covers } from '../language/sensitive.ts'
import { payloadFieldsOf } from '../summary/headings.ts'

/** Warns once for each payload field that rules read and the heading omits. Reviewers should see such fields. */
export function reportLeftOut(
  { contract, summary, reader }: CheckedTool,
  files: readonly RuleFileIr[],
): void {
  if (!summary) return
  const named = summary.template.parts.flatMap((part) => {
    if (!('field' in part)) return []
    return [part.field.name, ...(typeof part.currency === 'object' ? [part.currency.name] : [])]
  })
  const reported = new Set<string>()
  for (const { id, fields } of files.flatMap(payloadFieldsOf))
    for (const { name } of fields) {
      if (reported.has(name) || named.some((one) => covers(one, name))) continue
      reported.add(name)
      const message = `the summary of \`${contract.name}\` leaves out \`${name}\`, which rule \`${id}\` reads`
      reader.report(
        'summary-leaves-out',
        summary.at,
        message,
        'add it, so that reviewers see what the rule saw',
      )
    }
}
