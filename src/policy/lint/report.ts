import { fieldText } from '../language/fields.ts'
import { FACT_NAMES, FACTS, factOf } from '../language/facts.ts'
import type { RuleIr } from '../language/rule.ts'
import { fieldsOf, isTaskScoped } from '../language/history.ts'
import type { DiagnosticCode } from '../report/diagnostics.ts'
import { openPattern, unreadRest } from './open-end.ts'
import { openProgram } from './shell.ts'
import { trustedSql } from './sql.ts'
import type { Standing } from './standing.ts'
import type { Doc } from '../yaml/parse.ts'
import type { Reader } from '../yaml/shape.ts'

interface Place {
  readonly reader: Reader
  readonly at: Doc
}

/** Reports the findings about one rule, with only the most specific reason why the rule has no effect. */
export function reportRule(
  place: Place,
  rule: RuleIr,
  given: {
    readonly standing: Standing
    readonly rulesOfFile: readonly RuleIr[]
    readonly contradicts: () => boolean
  },
): void {
  reportIdle(place, rule, given)
  reportUndecided(place, rule, given.standing)
  reportTrust(place, rule, given.rulesOfFile)
}

/** Reports what an agent can use to pass a rule. */
function reportTrust({ reader, at }: Place, rule: RuleIr, rulesOfFile: readonly RuleIr[]): void {
  const report = (code: DiagnosticCode, what: string, hint: string): void =>
    reader.report(code, at, `rule \`${rule.id}\` ${what}`, hint)
  if (isTaskScoped(rule))
    report(
      'task-scoped-history',
      'looks only at the history of the task, and the agent chooses the task',
      'use `agent.tools` or `agent.labels`, which an agent cannot shed',
    )
  const sql = trustedSql(rule, rulesOfFile)
  if (sql !== undefined)
    report(
      'functions-unchecked',
      `trusts \`${fieldText(sql)}\`, and no rule of the file looks at the functions that the SQL calls`,
      `add \`unless: { sql_functions(${sql.name}): { some: { not: [count, sum] } } }\` with the functions that you permit`,
    )
  const program = openProgram(rule)
  if (program !== undefined)
    report(
      'options-unchecked',
      `allows \`${program}\` with any options`,
      'add `.options: { none: { not: [-n, -l] } }` with the options that you permit',
    )
  const pattern = openPattern(rule)
  if (pattern !== undefined)
    report(
      'open-pattern',
      `allows every text that only begins as \`${pattern}\` says`,
      'end the pattern with `$`, or with `.*$` when anything may follow',
    )
  const rest = unreadRest(rule)
  if (rest !== undefined)
    report(
      'rest-unread',
      `reads entries of \`${rest}\` by their index, and does not see the others`,
      `test all entries (\`${rest}: { every: ... }\`) or their number (\`${rest}: { count: 2 }\`)`,
    )
}

function reportIdle(
  { reader, at }: Place,
  rule: RuleIr,
  { standing, contradicts }: { readonly standing: Standing; readonly contradicts: () => boolean },
): void {
  const { id } = rule
  if (standing.neverTrue && contradicts()) {
    const hint = 'lines of one match must all hold; use `any:` when one suffices'
    reader.report('contradiction', at, `the conditions of rule \`${id}\` exclude each other`, hint)
  } else if (standing.neverFires) {
    reader.report(
      'never-fires',
      at,
      `rule \`${id}\` never fires: no call that fits the contract meets its conditions`,
    )
  } else if (standing.beaten) {
    const by = standing.beaten
    const message = `rule \`${id}\` decides nothing: whenever it fires, ${by.verdict} rule \`${by.id}\` fires too`
    reader.report('always-beaten', at, message)
  } else if (standing.alwaysFires && speaksOfCalls(rule)) {
    reader.report(
      'always-fires',
      at,
      `rule \`${id}\` fires for every call: its conditions always hold`,
      'leave `when:` and `unless:` out to say so',
    )
  }
}

/**
 * Returns false for a rule without conditions, which always fires on purpose. Also returns false for a rule that tests
 * `tool.*`, because the rule may be for future tools.
 */
function speaksOfCalls(rule: RuleIr): boolean {
  const fields = fieldsOf(rule)
  return fields.length > 0 && !fields.some((field) => factOf(field.root)?.put === 'by the contract')
}

/** Returns true for a field that the caller of the tool may omit. */
function isCallersField(name: string): boolean {
  const fact = FACT_NAMES.find((one) => one === name)
  return fact === undefined || FACTS[fact].recorded === 'with the decision'
}

function reportUndecided({ reader, at }: Place, rule: RuleIr, { undecidedBy }: Standing): void {
  if (rule.verdict === 'allow' || rule.unknown) return
  for (const [field, tool] of undecidedBy) {
    if (!isCallersField(field)) continue
    const where = field.startsWith('payload') ? ` in the contract of \`${tool}\`` : ''
    reader.report(
      'optional-field',
      at,
      `\`${field}\` is optional${where}: when it is missing, the condition is unknown, and ${rule.verdict} rule \`${rule.id}\` fires`,
      'say what it means under `missing_means:`, or test `missing` or `present` in the rule',
    )
  }
}
