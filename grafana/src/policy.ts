import type { Board } from './board.ts'
import { gauge, most, quantile, rate, sum, top, within } from './queries.ts'

export const POLICY: Board = {
  uid: 'countersign-policy',
  title: 'Countersign / Policy',
  description: 'Which rules decide, what a change would do, and which bundle is in force where.',
  rows: [
    {
      title: 'In force',
      panels: [
        {
          title: 'Bundles in force',
          description: 'More than one for longer than a rollout: instances decide differently.',
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
          title: 'Loads that failed',
          description: 'Within the time shown. The log names file, line and column.',
          unit: 'short',
          stat: true,
          limits: [1, 5],
          queries: [[sum(within('reloads', 'result="failed"')), 'failed']],
        },
        {
          title: 'Faults of the engine',
          description: 'Within the time shown. The calls were rejected; this is a defect of ours.',
          unit: 'short',
          stat: true,
          limits: [1, 1],
          queries: [[sum(within('evaluationFaults')), 'faults']],
        },
        {
          title: 'Put in force',
          description: 'When a bundle was last loaded with success.',
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
          description: 'The digest of the bundle that each instance decides by.',
          unit: 'short',
          width: 12,
          queries: [[most(gauge('policyInfo'), 'instance', 'digest'), '{{instance}} {{digest}}']],
        },
        {
          title: 'Last load failed',
          description: '1: this instance keeps an older bundle, or has none.',
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
      ],
    },
    {
      title: 'What fires',
      panels: [
        {
          title: 'Rules that fire most',
          description: 'Enforced rules and limits.',
          unit: 'ops',
          queries: [[top(10, sum(rate('ruleMatches', 'mode="enforced"'), 'rule')), '{{rule}}']],
        },
        {
          title: 'Could not be checked',
          description:
            'Rules that fired only because something was unknown: a field that agents stopped sending, or history that could not be read.',
          unit: 'ops',
          queries: [[top(10, sum(rate('ruleUnknown'), 'rule')), '{{rule}}']],
        },
        {
          title: 'No rule fits',
          description:
            'Calls rejected because nothing in the bundle speaks of them, or nobody knows the tool.',
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
          description: 'They decide nothing yet.',
          unit: 'ops',
          queries: [[top(10, sum(rate('ruleMatches', 'mode="shadow"'), 'rule')), '{{rule}}']],
        },
        {
          title: 'What shadow rules would change',
          description: 'Decisions that would be others if shadow rules were enforced.',
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
          title: 'Time policy takes, p99',
          description: 'By what was decided.',
          unit: 's',
          width: 24,
          exemplars: true,
          queries: [[quantile(0.99, 'evaluationSeconds', ['decision']), '{{decision}}']],
        },
      ],
    },
  ],
}
