import type { RuleIr } from '../language/rule.ts'
import { fieldsOf } from './history.ts'

/**
 * Returns a field whose SQL verbs let the rule allow a call, while no rule of its file checks the functions that the
 * SQL calls.
 */
export function trustedVerbs(rule: RuleIr, rules: readonly RuleIr[]): string | undefined {
  if (rule.verdict !== 'allow') return undefined
  const looked = rules.flatMap(fieldsOf).filter(({ fn }) => fn === 'sql_functions')
  return fieldsOf(rule).find(
    (field) => field.fn === 'sql_verbs' && !looked.some(({ name }) => name === field.name),
  )?.name
}
