import { parseArgs } from 'node:util'
import type { ThreadList, ThreadView } from '../contract/reviewer.ts'
import type { Me } from '../contract/session.ts'
import { type Api, createApi } from './api.ts'
import { reachAsReviewer } from './credentials.ts'
import { refuseMore, usage, wholeNumber } from './failure.ts'
import { printThread, printThreadList } from './print-thread.ts'

export const REVIEW_USAGE = `countersign review <command>

  list [--status STATUS] [--tool NAME] [--risk LEVEL] [--agent ID]   threads, waiting ones by default
  show THREAD                                                         everything about one thread
  approve THREAD [-m COMMENT]                                         vote on the revision it shows now
  reject THREAD [-m COMMENT]
  request-changes THREAD -m COMMENT                                   the agent gets the comment and may revise

  --revision N   vote only if the thread is at this revision
  --url URL      the gateway (COUNTERSIGN_URL)
  --json         print the API's answer

Needs COUNTERSIGN_REVIEWER_KEY; right after \`npm start\` the demo reviewer's key is used.`

const OPTIONS = {
  status: { type: 'string', default: 'pending_review' },
  tool: { type: 'string' },
  risk: { type: 'string' },
  agent: { type: 'string' },
  message: { type: 'string', short: 'm' },
  revision: { type: 'string' },
  url: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

const DECISIONS: Record<string, string> = {
  approve: 'approve',
  reject: 'reject',
  'request-changes': 'request_changes',
}

/** `countersign review ...`: for people, until they open the console. */
export async function review(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  const [command, thread] = positionals
  // one of two that were to be decided would go on waiting
  refuseMore(positionals, command === 'list' ? 1 : 2, REVIEW_USAGE)
  if (command === 'list') return list(reviewApi(values.url), values)
  if (thread === undefined) throw usage('name a command and a thread', REVIEW_USAGE)
  if (command === 'show') return show(reviewApi(values.url), thread, values.json)
  const decision = Object.hasOwn(DECISIONS, command ?? '') ? DECISIONS[command ?? ''] : undefined
  if (decision === undefined) throw usage(`unknown command \`review ${command ?? ''}\``, REVIEW_USAGE)
  return vote(reviewApi(values.url), {
    thread,
    decision,
    comment: values.message,
    revision: values.revision === undefined ? undefined : wholeNumber(values.revision, '--revision'),
    json: values.json,
  })
}

function reviewApi(url: string | undefined): Api {
  const reach = reachAsReviewer(url)
  return createApi(reach.url, reach.key)
}

async function list(api: Api, values: Record<string, string | boolean | undefined>): Promise<void> {
  const query = new URLSearchParams()
  for (const key of ['status', 'tool', 'risk', 'agent']) if (values[key]) query.set(key, String(values[key]))
  const found = await api.get<ThreadList>(`/api/review/threads?${query.toString()}`)
  if (values['json']) console.log(JSON.stringify(found, null, 2))
  else console.log(printThreadList(found, await api.get<Me>('/api/review/me')))
}

async function show(api: Api, thread: string, json: boolean): Promise<void> {
  const view = await api.get<ThreadView>(pathOf(thread))
  console.log(json ? JSON.stringify(view, null, 2) : printThread(view))
}

interface Vote {
  readonly thread: string
  readonly decision: string
  readonly comment: string | undefined
  readonly revision: number | undefined
  readonly json: boolean
}

/** Without --revision the vote is bound to the revision that is current now, and refused if it changes meanwhile. */
async function vote(api: Api, { thread, decision, comment, revision, json }: Vote): Promise<void> {
  if (decision === 'request_changes' && comment === undefined) throw usage('say what to change: -m COMMENT')
  const seen = await api.get<ThreadView>(pathOf(thread))
  const body = {
    decision,
    revision: revision ?? seen.revision,
    ...(comment === undefined ? {} : { comment }),
  }
  const view = await api.post<ThreadView>(`${pathOf(thread)}/votes`, body)
  if (json) return console.log(JSON.stringify(view, null, 2))
  const missing = view.seats.filter((seat) => seat.filled_by.length < seat.approvals)
  const still = missing.map((seat) => `${seat.approvals - seat.filled_by.length} of ${seat.group}`).join(', ')
  console.log(
    `${view.thread_id} is ${view.status}${view.status === 'pending_review' ? `: still needs ${still}` : ''}`,
  )
}

function pathOf(thread: string): string {
  return `/api/review/threads/${encodeURIComponent(thread)}`
}
