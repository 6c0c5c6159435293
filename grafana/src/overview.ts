import type { Board } from './board.ts'
import { chosen, gauge, most, observed, quantile, rate, sum, top, within } from './queries.ts'

const AGENT_API = 'route=~"/api/agent/.*"'
/** Agent calls that an overloaded gateway refused unread. No other metric counts them. */
const SHED = sum(within('shed', 'kind=~"propose|follow"'))

export const OVERVIEW: Board = {
  uid: 'countersign-overview',
  title: 'Countersign / Overview',
  description: 'Health at a glance: decisions, answers and saturation. The other boards show causes.',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Ready gateways',
          width: 3,
          description:
            'Gateways whose /readyz answers 200. If fewer are ready than run, read the log of the missing one.',
          unit: 'short',
          stat: true,
          queries: [[sum(gauge('ready')), 'ready']],
        },
        {
          title: 'Answers without a server error',
          description:
            'Share of answers of the agent API without a 5xx, in the time shown. Requests refused by overload count as errors. The objective is 99.9 %.',
          unit: 'percentunit',
          stat: true,
          queries: [
            [
              `1 - (${sum(within('httpRequests', AGENT_API, 'status=~"5.."'))} + ${SHED}) / (${sum(within('httpRequests', AGENT_API))} + ${SHED})`,
              'available',
            ],
          ],
        },
        {
          title: 'Waiting for reviewers',
          width: 3,
          description: 'Undecided threads.',
          unit: 'short',
          stat: true,
          queries: [[`sum(${most(gauge('pending'), 'risk')})`, 'waiting']],
        },
        {
          title: 'Oldest waiting',
          width: 3,
          description: 'Age of the oldest undecided thread.',
          unit: 's',
          stat: true,
          limits: [3_600, 14_400],
          queries: [[most(gauge('oldestPending')), 'oldest']],
        },
        {
          title: 'Stale policies',
          description: 'Gateways that have an older bundle, or none, because the newest did not load.',
          unit: 'short',
          stat: true,
          limits: [1, 2],
          queries: [[sum(gauge('stale')), 'stale']],
        },
        {
          title: 'Frozen',
          width: 3,
          description:
            'Agents, tools, reviewers and whole tenants that an administrator has frozen. countersign freeze list shows the reasons.',
          unit: 'short',
          stat: true,
          limits: [1, 5],
          queries: [[`sum(${most(gauge('frozen'), 'scope')})`, 'frozen']],
        },
        {
          title: 'Failed store operations',
          description: 'In the time shown. Agents were answered 503 and did not execute.',
          unit: 'short',
          stat: true,
          limits: [1, 10],
          queries: [[sum(within('storeErrors')), 'failed']],
        },
      ],
    },
    {
      title: 'Decisions on calls',
      panels: [
        {
          title: 'Decisions',
          description: 'First answers to calls of agents.',
          unit: 'ops',
          stacked: true,
          exemplars: true,
          queries: [[sum(rate('evaluations'), 'decision'), '{{decision}}']],
        },
        {
          title: 'Decisions by risk',
          description: 'Assessed risk of the calls.',
          unit: 'ops',
          stacked: true,
          queries: [[sum(rate('evaluations'), 'risk'), '{{risk}}']],
        },
        {
          title: 'Decisions by tool',
          description: 'The ten most called tools. Tools without a contract count as _other.',
          unit: 'ops',
          queries: [[top(10, sum(rate('evaluations'), 'tool')), '{{tool}}']],
        },
        {
          title: 'Rejections by reason',
          description: 'Calls rejected at once: by a rule, because no rule matches, or by a code.',
          unit: 'ops',
          stacked: true,
          queries: [[sum(rate('rejections'), 'reason'), '{{reason}}']],
        },
        {
          title: 'Policy time',
          description: 'CPU time of one decision, without the store.',
          unit: 's',
          exemplars: true,
          queries: [
            [quantile(0.5, 'evaluationSeconds'), 'p50'],
            [quantile(0.99, 'evaluationSeconds'), 'p99'],
          ],
        },
        {
          title: 'Replayed answers',
          description: 'Retries under an Idempotency-Key that got the first answer.',
          unit: 'ops',
          queries: [[sum(rate('replays'), 'decision'), '{{decision}}']],
        },
      ],
    },
    {
      title: 'Answers',
      panels: [
        {
          title: 'Requests by status',
          description: 'All APIs. 503 means that agents do not execute. 429 means that a limit is reached.',
          unit: 'reqps',
          stacked: true,
          queries: [[sum(rate('httpRequests'), 'status'), '{{status}}']],
        },
        {
          title: 'Refusals by code',
          description: 'The stable codes of docs/errors.md say what is wrong.',
          unit: 'reqps',
          queries: [[top(10, sum(rate('problems'), 'code')), '{{code}}']],
        },
        {
          title: 'Time to answer agents, p99',
          description: 'By route. A poll with Prefer: wait is held for the time that it asks for.',
          unit: 's',
          exemplars: true,
          queries: [[quantile(0.99, 'httpSeconds', ['route'], 'route=~"/api/agent/.*"'), '{{route}}']],
        },
        {
          title: 'Time to answer evaluations',
          description: 'From the request to the durable answer. The objective: 99 % within 250 ms.',
          unit: 's',
          limits: [0.25, 1],
          exemplars: true,
          queries: [
            [quantile(0.5, 'httpSeconds', [], 'route="/api/agent/tasks/:taskID/requests"'), 'p50'],
            [quantile(0.99, 'httpSeconds', [], 'route="/api/agent/tasks/:taskID/requests"'), 'p99'],
          ],
        },
        {
          title: 'Disconnected callers',
          description:
            'Requests whose caller disconnected before the answer: abandoned polls, or timeouts shorter than ours.',
          unit: 'reqps',
          queries: [[sum(rate('httpAborted'), 'instance'), '{{instance}}']],
        },
        {
          title: 'Requests by instance',
          description:
            'An instance with fewer requests than the others is not ready, or the front does not reach it.',
          unit: 'reqps',
          queries: [[sum(rate('httpRequests'), 'instance'), '{{instance}}']],
        },
        {
          title: 'Refused for a budget',
          description:
            'Requests beyond the budget of a tenant, agent or reviewer, or while the disk is nearly full.',
          unit: 'reqps',
          queries: [[sum(rate('overBudget'), 'budget'), '{{budget}}']],
        },
      ],
    },
    {
      title: 'Saturation',
      panels: [
        {
          title: 'Event loop lag',
          description:
            'Delay before the process starts its next piece of work. Above 100 ms it is overloaded.',
          unit: 's',
          limits: [0.05, 0.1],
          queries: [
            [most(chosen('nodejs_eventloop_lag_p99_seconds'), 'instance'), '{{instance}} p99'],
            [most(chosen('nodejs_eventloop_lag_max_seconds'), 'instance'), '{{instance}} max'],
          ],
        },
        {
          title: 'Processor',
          description:
            'Seconds of processor time for each second. A gateway decides on one core, so near 1 it is saturated.',
          unit: 'percentunit',
          limits: [0.8, 1],
          queries: [
            [
              sum(`rate(${chosen('process_cpu_seconds_total')}[$__rate_interval])`, 'instance'),
              '{{instance}}',
            ],
          ],
        },
        {
          title: 'Memory',
          description: 'Resident memory, and the part of it that JavaScript uses.',
          unit: 'bytes',
          queries: [
            [most(chosen('process_resident_memory_bytes'), 'instance'), '{{instance}} resident'],
            [most(chosen('nodejs_heap_size_used_bytes'), 'instance'), '{{instance}} heap'],
          ],
        },
        {
          title: 'Open requests',
          description:
            'Requests without an answer yet. Held polls and streams stay open by design. All others are work in progress.',
          unit: 'short',
          queries: [
            [sum(gauge('httpInFlight')), 'open'],
            [sum(gauge('pollsHeld')), 'held polls'],
            [sum(gauge('streamsOpen')), 'streams'],
          ],
        },
        {
          title: 'In progress and in the queue',
          description:
            'A queue that is empty now and then means bursts. A queue that is never empty means overload, and the gateway refuses some requests.',
          unit: 'short',
          queries: [
            [sum(gauge('underWay'), 'kind'), '{{kind}}'],
            [sum(gauge('requestsWaiting'), 'kind'), '{{kind}} in the queue'],
          ],
        },
        {
          title: 'Refused by overload',
          description:
            'Requests refused unread because the gateway was overloaded, by kind. Agents try again after Retry-After.',
          unit: 'reqps',
          queries: [[sum(rate('shed'), 'kind'), '{{kind}}']],
        },
        {
          title: 'Connections beyond a bound',
          description:
            'Idle connections ended to make room, and connections refused because all others had requests in progress.',
          unit: 'ops',
          queries: [[sum(rate('connectionsShed'), 'how'), '{{how}}']],
        },
        {
          title: 'Connections and files',
          description: 'Connections of callers, and open file descriptors.',
          unit: 'short',
          queries: [
            [sum(gauge('httpConnections'), 'instance'), '{{instance}} connections'],
            [most(chosen('process_open_fds'), 'instance'), '{{instance}} files'],
          ],
        },
        {
          title: 'Garbage collection',
          description: 'Share of time in garbage collection. Above a tenth, memory is short.',
          unit: 'percentunit',
          queries: [
            [
              sum(`rate(${chosen('nodejs_gc_duration_seconds_sum')}[$__rate_interval])`, 'instance'),
              '{{instance}}',
            ],
          ],
        },
      ],
    },
    {
      title: 'Instances',
      panels: [
        {
          title: 'Versions',
          description:
            'Number of gateways for each version. Two versions outside of a rollout mean that a rollout got stuck.',
          unit: 'short',
          queries: [[`count by (version) (${gauge('build')})`, '{{version}}']],
        },
        {
          title: 'Store clock against Prometheus',
          description:
            'Deadlines and proofs depend on the clock of the store. If the two differ by more than a few seconds, one of them is wrong.',
          unit: 's',
          queries: [[`timestamp(${gauge('clock')}) - ${gauge('clock')}`, '{{instance}}']],
        },
        {
          title: 'Observations without a series of their own',
          description:
            'Counted under _other because their metric has no room for another series. The bundle is very large.',
          unit: 'ops',
          queries: [[sum(rate('folded'), 'instance'), '{{instance}}']],
        },
        {
          title: 'Commits, p99',
          description: 'Time until an answer is durable. If answers are late, look at the store next.',
          unit: 's',
          width: 24,
          queries: [
            [quantile(0.99, 'storeSeconds', ['instance'], 'operation="commit"'), '{{instance}}'],
            [
              `${sum(observed('storeSeconds', '_sum', 'operation="commit"'))} / ${sum(observed('storeSeconds', '_count', 'operation="commit"'))}`,
              'mean of all',
            ],
          ],
        },
      ],
    },
  ],
}
