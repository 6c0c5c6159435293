import type { RuleIr } from '../language/rule.ts'
import { fieldsOf } from './history.ts'

/**
 * Returns a field whose SQL verbs let the rule allow a call, while no rule of its file checks the functions that the
 * SQL calls.
 */
export function trustedVerbs(rule: RuleIr, rules: readonly RuleIr[]): string | undefined {
  if (rule.verdict !== 'allow') return undefined
  const trusted = fieldsOf(rule).filter(({ fn }) => fn === 'sql_verbs')
  // Most rules stop here, so that a file of many rules is not read once for each of them.
  if (trusted.length === 0) return undefined
  const looked = rules.flatMap(fieldsOf).filter(({ fn }) => fn === 'sql_functions')
  return trusted.find((field) => !looked.some(({ name }) => name === field.name))?.name
}
