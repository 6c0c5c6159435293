import type { Board } from './board.ts'
import { chosen, gauge, most, observed, quantile, rate, sum, top, within } from './queries.ts'

const AGENT_API = 'route=~"/api/agent/.*"'
/** Calls of agents that were refused unread, which no other metric counts. */
const SHED = sum(within('shed', 'kind=~"propose|follow"'))

export const OVERVIEW: Board = {
  uid: 'countersign-overview',
  title: 'Countersign / Overview',
  description: 'Is it well? Decisions, answers, and what is scarce. The other boards say why.',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Ready gateways',
          width: 3,
          description:
            'Gateways whose /readyz answers 200. Fewer than run: look at the log of the one that is missing.',
          unit: 'short',
          stat: true,
          queries: [[sum(gauge('ready')), 'ready']],
        },
        {
          title: 'Answers without a server error',
          description:
            'Share of the agent API within the time shown that was no 5xx, what was refused unread included. The objective is 99.9 %.',
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
          title: 'Waiting for people',
          width: 3,
          description: 'Threads that nobody has decided yet.',
          unit: 'short',
          stat: true,
          queries: [[`sum(${most(gauge('pending'), 'risk')})`, 'waiting']],
        },
        {
          title: 'Oldest waiting',
          width: 3,
          description: 'How long the agent that waits longest has been waiting for people.',
          unit: 's',
          stat: true,
          limits: [3_600, 14_400],
          queries: [[most(gauge('oldestPending')), 'oldest']],
        },
        {
          title: 'Last load of policies failed',
          description: 'Gateways that keep an older bundle, or none, because the newest could not be loaded.',
          unit: 'short',
          stat: true,
          limits: [1, 2],
          queries: [[sum(gauge('stale')), 'stale']],
        },
        {
          title: 'Frozen',
          width: 3,
          description:
            'Agents, tools and whole tenants that an administrator has stopped: countersign freeze list says why.',
          unit: 'short',
          stat: true,
          limits: [1, 5],
          queries: [[`sum(${most(gauge('frozen'), 'scope')})`, 'frozen']],
        },
        {
          title: 'Store operations that failed',
          description: 'Within the time shown. Agents were answered 503 and did not execute.',
          unit: 'short',
          stat: true,
          limits: [1, 10],
          queries: [[sum(within('storeErrors')), 'failed']],
        },
      ],
    },
    {
      title: 'What is decided',
      panels: [
        {
          title: 'Decisions',
          description: 'What agents were told about their calls.',
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
          description: 'The ten tools that are called most; tools without a contract count as _other.',
          unit: 'ops',
          queries: [[top(10, sum(rate('evaluations'), 'tool')), '{{tool}}']],
        },
        {
          title: 'Rejections by reason',
          description: 'Calls rejected at once: by a rule, because no rule fits, or by a code.',
          unit: 'ops',
          stacked: true,
          queries: [[sum(rate('rejections'), 'reason'), '{{reason}}']],
        },
        {
          title: 'Time policy takes',
          description: 'CPU time of one decision, without the store.',
          unit: 's',
          exemplars: true,
          queries: [
            [quantile(0.5, 'evaluationSeconds'), 'p50'],
            [quantile(0.99, 'evaluationSeconds'), 'p99'],
          ],
        },
        {
          title: 'Answers given again',
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
          description: 'All planes. 503 means that agents do not execute; 429 that a limit holds.',
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
          description: 'By route. A poll with Prefer: wait is held as long as it asks for.',
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
          title: 'Callers who left',
          description:
            'Requests whose caller was gone before the answer: polls that were given up, or timeouts shorter than ours.',
          unit: 'reqps',
          queries: [[sum(rate('httpAborted'), 'instance'), '{{instance}}']],
        },
        {
          title: 'Requests by instance',
          description: 'One that gets less than the others is not ready, or the front does not see it.',
          unit: 'reqps',
          queries: [[sum(rate('httpRequests'), 'instance'), '{{instance}}']],
        },
        {
          title: 'Refused for a budget',
          description:
            'Requests beyond what one tenant, agent or reviewer may keep, or while the disk is nearly full.',
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
            'How late the process comes to its next piece of work. Above 100 ms it has more than it can do.',
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
            'Seconds of processor time a second. A gateway decides on one core: near 1 it is full.',
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
            'Not answered yet. Held polls and streams are meant to be open; what is beyond them is work.',
          unit: 'short',
          queries: [
            [sum(gauge('httpInFlight')), 'open'],
            [sum(gauge('pollsHeld')), 'held polls'],
            [sum(gauge('streamsOpen')), 'streams'],
          ],
        },
        {
          title: 'Under way, and in the queue',
          description:
            'A queue that becomes empty now and then is a burst. One that never does is an overload: some of it will be shed.',
          unit: 'short',
          queries: [
            [sum(gauge('underWay'), 'kind'), '{{kind}}'],
            [sum(gauge('requestsWaiting'), 'kind'), '{{kind}} in the queue'],
          ],
        },
        {
          title: 'Shed',
          description:
            'Requests refused unread because there was too much to do, by what they asked for. Agents come back after Retry-After.',
          unit: 'reqps',
          queries: [[sum(rate('shed'), 'kind'), '{{kind}}']],
        },
        {
          title: 'Connections and files',
          description: 'Connections of callers, and how much of the allowed file descriptors is used.',
          unit: 'short',
          queries: [
            [sum(gauge('httpConnections'), 'instance'), '{{instance}} connections'],
            [most(chosen('process_open_fds'), 'instance'), '{{instance}} files'],
          ],
        },
        {
          title: 'Garbage collection',
          description: 'Share of the time that is spent on it. Above a tenth memory is short.',
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
            'How many gateways run which version. More than one outside of a rollout is a rollout that got stuck.',
          unit: 'short',
          queries: [[`count by (version) (${gauge('build')})`, '{{version}}']],
        },
        {
          title: 'Clock of the store against Prometheus',
          description:
            'Deadlines and tokens go by the clock of the store. Beyond a few seconds one of the two is wrong.',
          unit: 's',
          queries: [[`timestamp(${gauge('clock')}) - ${gauge('clock')}`, '{{instance}}']],
        },
        {
          title: 'Observations without a series of their own',
          description:
            'Counted under _other because a metric has all the series that it may have: the bundle is very large.',
          unit: 'ops',
          queries: [[sum(rate('folded'), 'instance'), '{{instance}}']],
        },
        {
          title: 'Commits, p99',
          description:
            'Time until an answer is durable: the store is the next place to look when answers are late.',
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
