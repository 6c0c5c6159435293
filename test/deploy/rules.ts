import { type Loose, yaml } from './files.ts'

/** The rules in deploy/prometheus/ that Prometheus evaluates. */

export interface Rule {
  readonly file: string
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly for?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export const RULE_FILES = ['recording.yaml', 'slo.yaml', 'alerts.yaml'] as const

export const rulesOf = (file: string): Rule[] =>
  (yaml(`deploy/prometheus/${file}`).groups as Loose[]).flatMap((group) =>
    (group.rules as Rule[]).map((rule) => ({ ...rule, file })),
  )

export const RULES = RULE_FILES.flatMap(rulesOf)
export const ALERTS = RULES.filter((rule): rule is Rule & { alert: string } => rule.alert !== undefined)
export const RECORDED = RULES.flatMap(({ record }) => (record === undefined ? [] : [record]))
