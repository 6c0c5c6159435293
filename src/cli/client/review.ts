import { parseArgs } from 'node:util'
import { defined } from '../../contract/defined.ts'
import type { ThreadsQuery, VoteRequest } from '../../contract/review-requests.ts'
import type { ThreadList } from '../../contract/reviewer.ts'
import { type Api, createApi } from './api-client.ts'
import { reachAsReviewer } from './credentials.ts'
import { refuseMore, refuseOptions, usage, wholeNumber } from '../terminal/failure.ts'
import { displayedBy, printThread, printThreadList } from './print-thread.ts'
import { jsonOf } from '../terminal/visible-text.ts'

export const REVIEW_USAGE = `countersign review <command>

  list [--status STATUS] [--tool NAME] [--risk LEVEL] [--agent ID]   list threads (default: the waiting ones)
       [--sort urgency|oldest|newest|agent|tool]                     waiting threads: most urgent first
  show THREAD                                                         show everything about one thread
  approve THREAD [-m COMMENT]                                         vote; for a revised thread, add --revision
  reject THREAD [-m COMMENT]
  request-changes THREAD -m COMMENT                                   the agent gets the comment and may revise

  --revision N   the revision that you looked at: the vote counts only if the thread is still there
  --displayed D  the digest that \`show\` printed: evidence then records that each part was displayed
  --url URL      the gateway (COUNTERSIGN_URL)
  --json         print the API's answer

Needs COUNTERSIGN_REVIEWER_KEY. In the folder of \`countersign dev\`, the default is the key of its reviewer.`

const OPTIONS = {
  status: { type: 'string', default: 'pending_review' },
  tool: { type: 'string' },
  risk: { type: 'string' },
  agent: { type: 'string' },
  sort: { type: 'string' },
  message: { type: 'string', short: 'm' },
  revision: { type: 'string' },
  displayed: { type: 'string' },
  url: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

const FILTERS = ['status', 'tool', 'risk', 'agent', 'sort'] as const

const DECISIONS: Readonly<Record<string, VoteRequest['decision']>> = {
  approve: 'approve',
  reject: 'reject',
  'request-changes': 'request_changes',
}

/** `countersign review ...`: reviews threads in the terminal. */
export async function review(args: readonly string[]): Promise<void> {
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options: OPTIONS,
    allowPositionals: true,
    tokens: true,
  })
  const [command = '', thread] = positionals
  // refuses further arguments, because a second thread would stay undecided
  refuseMore(positionals, command === 'list' ? 1 : 2, REVIEW_USAGE)
  if (command === '') throw usage('name a command', REVIEW_USAGE)
  refuseOptions(tokens, takenBy(command), REVIEW_USAGE)
  if (command === 'list') return list(reviewApi(values.url), values)
  const decision = Object.hasOwn(DECISIONS, command) ? DECISIONS[command] : undefined
  if (decision === undefined && command !== 'show')
    throw usage(`unknown command \`review ${command}\``, REVIEW_USAGE)
  if (thread === undefined) throw usage(`name the thread to ${command}`, REVIEW_USAGE)
  if (decision === undefined) return show(reviewApi(values.url), thread, values.json)
  return vote(reviewApi(values.url), {
    thread,
    decision,
    comment: values.message,
    revision: values.revision === undefined ? undefined : wholeNumber(values.revision, '--revision'),
    displayed: values.displayed,
    json: values.json,
  })
}

function takenBy(command: string): readonly string[] {
  if (command === 'list') return FILTERS
  return command === 'show' ? [] : ['message', 'revision', 'displayed']
}

function reviewApi(url: string | undefined): Api {
  const reach = reachAsReviewer(url)
  return createApi(reach.url, reach.key)
}

async function list(api: Api, values: Record<string, string | boolean | undefined>): Promise<void> {
  const filters = FILTERS.flatMap((key) => (values[key] ? [[key, String(values[key])]] : []))
  const found = await pagesOf(api, Object.fromEntries(filters) as ThreadsQuery)
  if (values['json']) console.log(jsonOf(found))
  else console.log(printThreadList(found, await api.me()))
}

const PAGE = 100
/** Maximum number of pages to print. People do not read more in a terminal, and programs use `next_cursor`. */
const MOST_PAGES = 10

async function pagesOf(api: Api, filters: ThreadsQuery): Promise<ThreadList> {
  const threads: ThreadList['threads'] = []
  const unreadable: string[] = []
  let next_cursor: string | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    const query = { ...filters, limit: String(PAGE), ...defined({ cursor: next_cursor }) }
    const answer = await api.list_threads({ query })
    threads.push(...answer.threads)
    unreadable.push(...(answer.unreadable ?? []))
    next_cursor = answer.next_cursor
    if (next_cursor === undefined) break
  }
  return {
    threads,
    ...(unreadable.length === 0 ? {} : { unreadable }),
    ...(next_cursor === undefined ? {} : { next_cursor }),
  }
}

async function show(api: Api, thread: string, json: boolean): Promise<void> {
  const view = await api.show_thread({ params: { thread_id: thread } })
  console.log(json ? jsonOf(view) : printThread(view))
}

interface Vote {
  readonly thread: string
  readonly decision: VoteRequest['decision']
  readonly comment: string | undefined
  readonly revision: number | undefined
  readonly displayed: string | undefined
  readonly json: boolean
}

/**
 * Votes. Without --revision, the vote is bound to the current revision. The gateway refuses the vote if the revision
 * changes first. An approval must name the revision, because the call may have changed since the reviewer read it.
 */
async function vote(api: Api, { thread, decision, comment, revision, json, ...more }: Vote): Promise<void> {
  if (decision === 'request_changes' && comment === undefined) throw usage('describe the change: -m COMMENT')
  const params = { thread_id: thread }
  const seen = await api.show_thread({ params })
  if (decision === 'approve' && revision === undefined && seen.revision > 1)
    throw usage(
      `the agent has revised this call: it is at revision ${seen.revision} now`,
      `look at it with \`countersign review show ${thread}\`, then approve it with --revision ${seen.revision}`,
    )
  const displayed =
    more.displayed === undefined ? undefined : { ...displayedBy(seen), digest: more.displayed }
  const body = { decision, revision: revision ?? seen.revision, ...defined({ comment, displayed }) }
  const view = await api.vote({ params, body })
  if (json) return console.log(jsonOf(view))
  const missing = view.seats.filter((seat) => seat.filled_by.length < seat.approvals)
  const still = missing.map((seat) => `${seat.approvals - seat.filled_by.length} of ${seat.group}`).join(', ')
  console.log(
    `${view.thread_id} is ${view.status}${view.status === 'pending_review' ? `: still needs ${still}` : ''}`,
  )
}
