import type { Board } from './board.ts'
import { gauge, most, quantile, rate, sum, top, within } from './queries.ts'

export const POLICY: Board = {
  uid: 'countersign-policy',
  title: 'Countersign / Policy',
  description: 'The rules that decide, the effect of shadow rules, and the bundle of each instance.',
  rows: [
    {
      title: 'In force',
      panels: [
        {
          title: 'Bundles in force',
          description: 'If there is more than one for longer than a rollout, instances decide differently.',
          unit: 'short',
          stat: true,
          limits: [2, 3],
          queries: [[`count(count by (digest) (${gauge('policyInfo')} == 1))`, 'bundles']],
        },
        {
          title: 'Rules',
          description: 'Rules and limits of the bundle in force.',
          unit: 'short',
          stat: true,
          queries: [[most(gauge('policyRules')), 'rules']],
        },
        {
          title: 'Tools',
          description: 'Tools with a contract.',
          unit: 'short',
          stat: true,
          queries: [[most(gauge('policyTools')), 'tools']],
        },
        {
          title: 'Failed loads',
          description: 'In the time shown. The log names file, line and column.',
          unit: 'short',
          stat: true,
          limits: [1, 5],
          queries: [[sum(within('reloads', 'result="failed"')), 'failed']],
        },
        {
          title: 'Faults of the engine',
          description: 'In the time shown. The calls were rejected. This is a bug in Countersign.',
          unit: 'short',
          stat: true,
          limits: [1, 1],
          queries: [[sum(within('evaluationFaults')), 'faults']],
        },
        {
          title: 'Last load',
          description: 'Time of the last successful load.',
          unit: 'dateTimeFromNow',
          stat: true,
          queries: [[`1000 * ${most(gauge('lastLoad'))}`, 'last load']],
        },
      ],
    },
    {
      title: 'By instance',
      panels: [
        {
          title: 'Bundle by instance',
          description: 'The digest of the bundle of each instance.',
          unit: 'short',
          width: 12,
          queries: [[most(gauge('policyInfo'), 'instance', 'digest'), '{{instance}} {{digest}}']],
        },
        {
          title: 'Failed last load',
          description: '1: this instance has an older bundle, or none.',
          unit: 'short',
          width: 6,
          queries: [[most(gauge('stale'), 'instance'), '{{instance}}']],
        },
        {
          title: 'Loads',
          description: 'Each instance loads by itself.',
          unit: 'ops',
          width: 6,
          queries: [[sum(rate('reloads'), 'instance', 'result'), '{{instance}} {{result}}']],
        },
        {
          title: 'Withdrawals',
          description:
            'Reviewers and agents who lost rights to a newer directory, whose bundle does not load.',
          unit: 'short',
          width: 12,
          queries: [[most(gauge('withdrawn'), 'instance', 'of'), '{{instance}} {{of}}']],
        },
      ],
    },
    {
      title: 'Firing rules',
      panels: [
        {
          title: 'Rules that fire most',
          description: 'Enforced rules and limits.',
          unit: 'ops',
          queries: [[top(10, sum(rate('ruleMatches', 'mode="enforced"'), 'rule')), '{{rule}}']],
        },
        {
          title: 'Unknown values',
          description:
            'Rules that fired only because a value was unknown: a field that agents stopped sending, or unreadable history.',
          unit: 'ops',
          queries: [[top(10, sum(rate('ruleUnknown'), 'rule')), '{{rule}}']],
        },
        {
          title: 'No matching rule',
          description:
            'Calls rejected because no rule of the bundle matches, or because the tool is unknown.',
          unit: 'ops',
          queries: [
            [
              sum(
                rate('rejections', 'reason=~"unmatched|unknown_tool|tool_not_permitted|no_policy"'),
                'reason',
              ),
              '{{reason}}',
            ],
          ],
        },
        {
          title: 'Shadow rules that fire',
          description: 'Shadow rules only count. They decide nothing.',
          unit: 'ops',
          queries: [[top(10, sum(rate('ruleMatches', 'mode="shadow"'), 'rule')), '{{rule}}']],
        },
        {
          title: 'Changes by shadow rules',
          description: 'Decisions that would differ if shadow rules were enforced.',
          unit: 'ops',
          queries: [
            [
              sum(rate('shadowChanges'), 'decision', 'shadow_decision'),
              '{{decision}} would be {{shadow_decision}}',
            ],
          ],
        },
        {
          title: 'Faults',
          description: 'The engine failed, or disagreed with the rules that it ran. The call was rejected.',
          unit: 'ops',
          queries: [[sum(rate('evaluationFaults'), 'fault'), '{{fault}}']],
        },
        {
          title: 'Policy time, p99',
          description: 'Policy time by decision.',
          unit: 's',
          width: 24,
          exemplars: true,
          queries: [[quantile(0.99, 'evaluationSeconds', ['decision']), '{{decision}}']],
        },
      ],
    },
  ],
}
