import type { RuleIr } from '../language/rule.ts'
import { fieldsOf } from '../language/history.ts'

/**
 * Returns a field whose SQL verbs let the rule allow a call, although no rule in its file checks the functions that the
 * SQL calls.
 */
export function trustedVerbs(rule: RuleIr, rules: readonly RuleIr[]): string | undefined {
  if (rule.verdict !== 'allow') return undefined
  const trusted = fieldsOf(rule).filter(({ fn }) => fn === 'sql_verbs')
  // Most rules return here, so that a file with many rules is not read once for each rule.
  if (trusted.length === 0) return undefined
  const looked = rules.flatMap(fieldsOf).filter(({ fn }) => fn === 'sql_functions')
  return trusted.find((field) => !looked.some(({ name }) => name === field.name))?.name
}
