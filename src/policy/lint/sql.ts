import type { FieldIr, RuleIr } from '../language/rule.ts'
import { fieldsOf } from '../language/history.ts'

/**
 * Returns what an allow rule trusts about the SQL of a field, although no rule in its file checks the functions that
 * the SQL calls.
 */
export function trustedSql(rule: RuleIr, rules: readonly RuleIr[]): FieldIr | undefined {
  if (rule.verdict !== 'allow') return undefined
  const trusted = fieldsOf(rule).filter(({ fn }) => fn?.startsWith('sql_'))
  // Most rules return here, so that a file with many rules is not read once for each rule.
  if (trusted.length === 0) return undefined
  const looked = rules.flatMap(fieldsOf).filter(({ fn }) => fn === 'sql_functions')
  return trusted.find((field) => !looked.some(({ name }) => name === field.name))
}
