import type { Board } from './board.ts'
import { gauge, most, observed, quantile, rate, sum } from './queries.ts'

export const DELIVERY: Board = {
  uid: 'countersign-delivery',
  title: 'Countersign / Delivery and store',
  description: 'Webhooks, the store, evidence, and what happens by time alone.',
  rows: [
    {
      title: 'Webhooks',
      panels: [
        {
          title: 'Tries by result',
          description: 'retry: it will be tried again. dead: it was given up, or the receiver said goodbye.',
          unit: 'ops',
          stacked: true,
          queries: [[sum(rate('webhookTries'), 'result'), '{{result}}']],
        },
        {
          title: 'Tries that failed, by cause',
          description:
            'The class of the answer, or why there was none. refused_address: the guard let nothing out.',
          unit: 'ops',
          queries: [[sum(rate('webhookTries', 'result!="delivered"'), 'code'), '{{code}}']],
        },
        {
          title: 'From event to delivery',
          description: 'A receiver that is down shows here when it is back.',
          unit: 's',
          queries: [
            [quantile(0.5, 'webhookLag'), 'p50'],
            [quantile(0.99, 'webhookLag'), 'p99'],
          ],
        },
        {
          title: 'Time of one try, p99',
          description: 'Receivers that are slow hold up their own deliveries only.',
          unit: 's',
          queries: [[quantile(0.99, 'webhookSeconds', ['result']), '{{result}}']],
        },
        {
          title: 'Deliveries to be made',
          description: 'Those of paused destinations too: they are made when somebody resumes it.',
          unit: 'short',
          queries: [[most(gauge('webhooksWaiting')), 'waiting']],
        },
        {
          title: 'Overdue for a try',
          description:
            'Since when a delivery is due that nobody tries: its receiver takes fewer than there are, or no gateway looks.',
          unit: 's',
          limits: [60, 300],
          queries: [[most(gauge('webhooksOverdue')), 'overdue']],
        },
        {
          title: 'Destinations that get nothing',
          description:
            'failing: paused after five days without a success. gone: it answered 410. admin: somebody paused it.',
          unit: 'short',
          queries: [[most(gauge('webhooksPaused'), 'reason'), '{{reason}}']],
        },
      ],
    },
    {
      title: 'Store',
      panels: [
        {
          title: 'Operations',
          description: 'What the gateways ask of the store.',
          unit: 'ops',
          queries: [[sum(observed('storeSeconds', '_count'), 'operation'), '{{operation}}']],
        },
        {
          title: 'Time of an operation, p99',
          description: 'A commit takes until it is durable: the disk, or the replicas.',
          unit: 's',
          queries: [[quantile(0.99, 'storeSeconds', ['operation']), '{{operation}}']],
        },
        {
          title: 'Operations that failed',
          description:
            'unavailable: not executed. indeterminate: nobody knows; the caller was told not to execute.',
          unit: 'ops',
          queries: [[sum(rate('storeErrors'), 'operation', 'error'), '{{operation}} {{error}}']],
        },
        {
          title: 'Commits that were refused',
          description:
            'guard: somebody else was faster, and the verb ran again. late: it came after its deadline, so the store is too slow.',
          unit: 'ops',
          queries: [[sum(rate('storeConflicts'), 'reason'), '{{reason}}']],
        },
        {
          title: 'Time until durable',
          description: 'Commits, median and p99.',
          unit: 's',
          queries: [
            [quantile(0.5, 'storeSeconds', [], 'operation="commit"'), 'p50'],
            [quantile(0.99, 'storeSeconds', [], 'operation="commit"'), 'p99'],
          ],
        },
        {
          title: 'Room of the store',
          description:
            'What can be written until writes are refused: of the disk, or of maxmemory of Redis. Nothing where Redis has no maxmemory.',
          unit: 'bytes',
          queries: [[`min by (instance) (${gauge('storeRoom')})`, '{{instance}}']],
        },
        {
          title: 'What an answer promises',
          description:
            'fsync: on disk. replicated: on replicas. async: a power cut may lose the last seconds.',
          unit: 'short',
          queries: [[sum(gauge('storeInfo'), 'durability'), '{{durability}}']],
        },
      ],
    },
    {
      title: 'Evidence and time',
      panels: [
        {
          title: 'Evidence records',
          description: 'Records made durable. It follows decisions; without it there are no answers.',
          unit: 'ops',
          queries: [[sum(rate('evidenceRecords'), 'instance'), '{{instance}}']],
        },
        {
          title: 'Since the last record',
          description: 'Long while agents call: nothing is decided here.',
          unit: 's',
          queries: [[`time() - (${gauge('evidenceLast')} > 0)`, '{{instance}}']],
        },
        {
          title: 'Records without a checkpoint',
          description:
            'Since when a record waits for the signature that covers it. Signing goes on every second; minutes mean that it fails.',
          unit: 's',
          limits: [10, 120],
          queries: [[most(gauge('checkpointLag'), 'instance'), '{{instance}}']],
        },
        {
          title: 'Rounds of the timer',
          description:
            'Expiry, reminders and escalation. Without rounds that are ok nothing expires until somebody looks.',
          unit: 'ops',
          queries: [[sum(rate('timerRounds'), 'instance', 'result'), '{{instance}} {{result}}']],
        },
        {
          title: 'Since what waits was counted',
          description:
            'Waiting threads, freezes and deliveries are counted at each scrape. Minutes mean that it fails: their panels, and alerts on them, show what was.',
          unit: 's',
          limits: [60, 120],
          queries: [[most(gauge('censusAge'), 'instance'), '{{instance}}']],
        },
      ],
    },
  ],
}
