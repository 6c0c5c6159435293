import { defined } from '../../contract/defined.ts'
import type { ThreadsQuery, VoteRequest } from '../../contract/review-requests.ts'
import type { ThreadList } from '../../contract/reviewer.ts'
import { RISKS } from '../../domain/decision.ts'
import { type Api, createApi } from './api-client.ts'
import { API_FLAGS, reachAsReviewer } from './credentials.ts'
import { command } from '../terminal/command.ts'
import { usage, wholeNumber } from '../terminal/failure.ts'
import { type Asked, parse } from '../terminal/parse.ts'
import { sheetOf } from './print-sheet.ts'
import { displayedBy, printThread, printThreadList } from './print-thread.ts'
import { jsonOf } from '../terminal/visible-text.ts'

const STATUSES = [
  'allow',
  'reject',
  'pending_review',
  'approved',
  'rejected',
  'changes_requested',
  'withdrawn',
  'ended',
] as const satisfies readonly NonNullable<ThreadsQuery['status']>[]
const VOTE = { operands: 'THREAD', flags: ['message', 'revision', 'displayed'] } as const

export const REVIEW = command({
  name: 'review',
  says: 'Reviews threads in the terminal.',
  subcommands: {
    list: {
      flags: ['status', 'tool', 'risk', 'agent', 'sort'],
      says: 'Lists threads: without --status, the waiting ones, most urgent first.',
    },
    show: { operands: 'THREAD', flags: ['html'], says: 'Shows everything about one thread.' },
    approve: { ...VOTE, says: 'Votes for the call. For a revised thread, add --revision.' },
    reject: { ...VOTE, says: 'Votes against the call.' },
    'request-changes': {
      ...VOTE,
      flags: ['revision', 'displayed'],
      needs: ['message'],
      says: 'Asks for changes. The agent gets the comment and may revise the call.',
    },
  },
  flags: {
    status: { takes: 'STATUS', values: STATUSES, default: 'pending_review', says: 'threads of this status' },
    tool: { takes: 'NAME', says: 'threads of this tool' },
    risk: { values: RISKS, says: 'threads of this risk' },
    agent: { takes: 'ID', says: 'threads of this agent' },
    sort: { values: ['urgency', 'oldest', 'newest', 'agent', 'tool'], says: 'the order of the list' },
    message: { takes: 'COMMENT', short: 'm', says: 'the comment of the vote' },
    revision: {
      takes: 'N',
      says: 'the revision that you looked at: the vote counts only if the thread is still there',
    },
    displayed: {
      takes: 'D',
      says: 'the digest that `show` printed: evidence then records that each part was displayed',
    },
    html: { says: 'prints a page for paper, on which nothing is cut' },
    ...API_FLAGS,
  },
  notes: `Needs COUNTERSIGN_REVIEWER_KEY. In the folder of \`countersign dev\`, the default is the key of its reviewer.`,
})

const FILTERS = REVIEW.subcommands.list.flags

const DECISIONS = {
  approve: 'approve',
  reject: 'reject',
  'request-changes': 'request_changes',
} as const

/** `countersign review ...`: reviews threads in the terminal. */
export async function review(args: readonly string[]): Promise<void> {
  const { values, subcommand, operands } = parse(REVIEW, args)
  const [thread = ''] = operands
  if (subcommand === 'list') return list(reviewApi(values.url), values)
  if (subcommand === 'show') return show(reviewApi(values.url), thread, values)
  const revision = values.revision === undefined ? undefined : wholeNumber(values.revision, '--revision')
  return vote(reviewApi(values.url), {
    thread,
    decision: DECISIONS[subcommand],
    comment: values.message,
    revision,
    displayed: values.displayed,
    json: values.json,
  })
}

const reviewApi = (url: string | undefined): Api => createApi(reachAsReviewer(url))

async function list(api: Api, values: Asked<typeof REVIEW>['values']): Promise<void> {
  const filters = FILTERS.flatMap((key) => (values[key] ? [[key, String(values[key])]] : []))
  const found = await pagesOf(api, Object.fromEntries(filters) as ThreadsQuery)
  if (values.json) console.log(jsonOf(found))
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

async function show(api: Api, thread: string, { json, html }: Asked<typeof REVIEW>['values']): Promise<void> {
  const params = { thread_id: thread }
  const view = await api.show_thread({ params })
  if (json) return console.log(jsonOf(view))
  const earlier = await api.precedents({ params })
  console.log(html ? sheetOf(view, earlier) : printThread(view, earlier))
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
