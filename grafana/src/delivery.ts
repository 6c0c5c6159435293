import type { Board } from './board.ts'
import { gauge, most, observed, quantile, rate, sum } from './queries.ts'

export const DELIVERY: Board = {
  uid: 'countersign-delivery',
  title: 'Countersign / Delivery and store',
  description: 'Webhooks, the store, evidence, and timed work.',
  rows: [
    {
      title: 'Webhooks',
      panels: [
        {
          title: 'Tries by result',
          description: 'retry: the gateway will try again. dead: it gave up, or the receiver answered 410.',
          unit: 'ops',
          stacked: true,
          queries: [[sum(rate('webhookTries'), 'result'), '{{result}}']],
        },
        {
          title: 'Failed tries by cause',
          description:
            'The class of the answer, or the reason that it is missing. refused_address: the guard refused the connection.',
          unit: 'ops',
          queries: [[sum(rate('webhookTries', 'result!="delivered"'), 'code'), '{{code}}']],
        },
        {
          title: 'From event to delivery',
          description: 'A receiver that was down appears here when it is up again.',
          unit: 's',
          queries: [
            [quantile(0.5, 'webhookLag'), 'p50'],
            [quantile(0.99, 'webhookLag'), 'p99'],
          ],
        },
        {
          title: 'Time of one try, p99',
          description: 'A slow receiver delays only its own deliveries.',
          unit: 's',
          queries: [[quantile(0.99, 'webhookSeconds', ['result']), '{{result}}']],
        },
        {
          title: 'Waiting deliveries',
          description:
            'Deliveries that are not made yet. Those of a paused destination wait until an administrator resumes it.',
          unit: 'short',
          queries: [[most(gauge('webhooksWaiting')), 'waiting']],
        },
        {
          title: 'Overdue delivery',
          description:
            'Delay of the most overdue delivery. Its receiver is too slow for the number of deliveries, or no gateway sends them.',
          unit: 's',
          limits: [60, 300],
          queries: [[most(gauge('webhooksOverdue')), 'overdue']],
        },
        {
          title: 'Destinations without deliveries',
          description:
            'failing: paused after five days without a success. gone: it answered 410. admin: an administrator paused it.',
          unit: 'short',
          queries: [[most(gauge('webhooksPaused'), 'reason'), '{{reason}}']],
        },
      ],
    },
    {
      title: 'Chat',
      panels: [
        {
          title: 'Clicks by result',
          description:
            'unknown: of members without a linked account. foreign: of another app or workspace. unanswered: no way to answer the person.',
          unit: 'ops',
          stacked: true,
          queries: [[sum(rate('chatClicks'), 'result'), '{{result}}']],
        },
        {
          title: 'Messages that failed',
          description:
            'Messages sent and rewritten. failed: the gateway tries again. gone: the message no longer exists.',
          unit: 'ops',
          queries: [[sum(rate('chatMessages', 'result!="sent"'), 'what', 'result'), '{{what}} {{result}}']],
        },
        {
          title: 'Connected to the chat',
          description: 'Without a connection, clicks do not arrive, and reviewers decide in the console.',
          unit: 'short',
          queries: [[gauge('chatConnected'), '{{instance}}']],
        },
      ],
    },
    {
      title: 'Store',
      panels: [
        {
          title: 'Operations',
          description: 'Store operations of all gateways.',
          unit: 'ops',
          queries: [[sum(observed('storeSeconds', '_count'), 'operation'), '{{operation}}']],
        },
        {
          title: 'Time of an operation, p99',
          description: 'A commit ends when it is durable: on disk, or on the replicas.',
          unit: 's',
          queries: [[quantile(0.99, 'storeSeconds', ['operation']), '{{operation}}']],
        },
        {
          title: 'Failed operations',
          description:
            'unavailable: not executed. indeterminate: unknown. In both cases the caller was answered 503, and does not execute.',
          unit: 'ops',
          queries: [[sum(rate('storeErrors'), 'operation', 'error'), '{{operation}} {{error}}']],
        },
        {
          title: 'Refused commits',
          description:
            'guard: another commit was faster, and the verb ran again. late: the commit missed its deadline, so the store is too slow.',
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
          title: 'Room in the store',
          description:
            'Bytes until the store refuses writes: of the disk, or of Redis up to maxmemory. Empty if Redis has no maxmemory.',
          unit: 'bytes',
          queries: [[`min by (instance) (${gauge('storeRoom')})`, '{{instance}}']],
        },
        {
          title: 'Legal holds',
          description:
            'Threads, tasks, agents and tenants whose threads are kept beyond their retention. countersign api list_legal_holds shows the reasons.',
          unit: 'short',
          queries: [[`sum by (scope) (${most(gauge('legalHolds'), 'scope')})`, '{{scope}}']],
        },
        {
          title: 'Lost stores',
          description:
            'Gateways whose store was emptied or set back. They decide and sign nothing until they are started again.',
          unit: 'short',
          queries: [[sum(gauge('storeLost')), 'gateways']],
        },
        {
          title: 'Durability of answers',
          description:
            'fsync: on disk. replicated: on replicas. async: a power cut may lose the last seconds.',
          unit: 'short',
          queries: [[sum(gauge('storeInfo'), 'durability'), '{{durability}}']],
        },
      ],
    },
    {
      title: 'Data in the store, measured once a day',
      panels: [
        {
          title: 'The store is full',
          width: 6,
          description:
            'If all data grows as it did between the last two measurements. Empty if it does not grow.',
          unit: 'dateTimeFromNow',
          stat: true,
          queries: [[`1000 * min(${gauge('storeFills')})`, 'full']],
        },
        {
          title: 'Bytes by kind',
          width: 6,
          description:
            'Names and contents. The store needs more, for its pages. docs/data.md lists the kinds.',
          unit: 'bytes',
          stacked: true,
          queries: [[most(gauge('storeBytes'), 'kind'), '{{kind}}']],
        },
        {
          title: 'Daily growth by kind',
          width: 6,
          description: 'Negative when more was deleted than written.',
          unit: 'bytes',
          queries: [[most(gauge('storeGrowth'), 'kind'), '{{kind}}']],
        },
        {
          title: 'Entries by kind',
          width: 6,
          description: 'Records, index entries and counters.',
          unit: 'short',
          queries: [[most(gauge('storeEntries'), 'kind'), '{{kind}}']],
        },
      ],
    },
    {
      title: 'Evidence and time',
      panels: [
        {
          title: 'Evidence records',
          description: 'Records made durable. The rate follows decisions: every answer needs its record.',
          unit: 'ops',
          queries: [[sum(rate('evidenceRecords'), 'instance'), '{{instance}}']],
        },
        {
          title: 'Time since the last record',
          description: 'A long time while agents call means that this instance decides nothing.',
          unit: 's',
          queries: [[`time() - (${gauge('evidenceLast')} > 0)`, '{{instance}}']],
        },
        {
          title: 'Records without a checkpoint',
          description:
            'Age of the oldest record without a signature. Gateways sign every second, so minutes mean that signing fails.',
          unit: 's',
          limits: [10, 120],
          queries: [[most(gauge('checkpointLag'), 'instance'), '{{instance}}']],
        },
        {
          title: 'Records without tiles',
          description:
            'Age of the oldest signed record that is not in tiles. A minute is normal. Stopped tenants count as well.',
          unit: 's',
          limits: [120, 600],
          queries: [
            [most(gauge('tilesLag')), 'age'],
            [most(gauge('tilesUnreadable'), 'reason'), 'unreadable: {{reason}}'],
            [most(gauge('tilesStopped'), 'reason'), 'stopped: {{reason}}'],
          ],
        },
        {
          title: 'Rounds of the timer',
          description:
            'Expiry, reminders and escalation. Without successful rounds, threads expire only when someone reads them.',
          unit: 'ops',
          queries: [[sum(rate('timerRounds'), 'instance', 'result'), '{{instance}} {{result}}']],
        },
        {
          title: 'Time since the last count',
          description:
            'Gateways count waiting threads, freezes and deliveries at each scrape. Minutes mean that counting fails. Panels and alerts of these values are then out of date.',
          unit: 's',
          limits: [60, 120],
          queries: [[most(gauge('censusAge'), 'instance'), '{{instance}}']],
        },
      ],
    },
  ],
}
