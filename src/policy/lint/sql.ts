import type { FieldIr, RuleIr } from '../language/rule.ts'
import { isDated } from '../evaluate/plan.ts'
import { fieldsOf } from '../language/history.ts'

/**
 * Returns what an allow rule trusts about the SQL of a field, although no rule in its file checks the functions that
 * the SQL calls. A rule of other dates does not check them all the time, so it does not count.
 */
export function trustedSql(rule: RuleIr, rules: readonly RuleIr[]): FieldIr | undefined {
  if (rule.verdict !== 'allow') return undefined
  const trusted = fieldsOf(rule).filter(({ fn }) => fn?.startsWith('sql_'))
  // Most rules return here, so that a file with many rules is not read once for each rule.
  if (trusted.length === 0) return undefined
  const lasting = rules.filter((one) => one === rule || !isDated(one))
  const looked = lasting.flatMap(fieldsOf).filter(({ fn }) => fn === 'sql_functions')
  return trusted.find((field) => !looked.some(({ name }) => name === field.name))
}
