import type { HeadingView } from '../../contract/heading.ts'
import { formattedIn } from '../../domain/heading.ts'
import { displayedDigest } from '../../domain/digest.ts'
import type { Displayed } from '../../contract/review-requests.ts'
import type { Precedents } from '../../contract/precedents.ts'
import type { Because } from '../../contract/reasons.ts'
import type { ThreadList, ThreadSummary, ThreadView } from '../../contract/reviewer.ts'
import type { Me } from '../../contract/session.ts'
import { setIn, visible } from '../terminal/visible-text.ts'

/** Terminal views of threads. Foreign text is indented, and its control and bidi characters are made visible. */

/** The text for a broken record. */
export const UNREADABLE = 'cannot be read; `countersign store check` says more'

export function printThreadList({ threads, next_cursor, unreadable = [] }: ThreadList, me: Me): string {
  if (threads.length === 0 && unreadable.length === 0) return 'nothing is waiting for review'
  const lines = threads.flatMap((thread) => [
    headline(thread),
    `  ${setIn(thread.heading.line)}`,
    `  ${setIn(thread.message)}`,
    ...(thread.because === undefined ? [] : [`  because ${reasonText(thread.because, thread.heading)}`]),
    ...raisedIn(thread),
  ])
  const more =
    next_cursor === undefined
      ? []
      : ['(there are more: filter by --status, --tool, --risk or --agent, or use the console)']
  const broken = unreadable.map((thread) => `${thread}  ${UNREADABLE}`)
  return visible(
    [...lines, ...broken, ...more, '', `you are ${me.name} (${me.groups.join(', ') || 'no group'})`].join(
      '\n',
    ),
  )
}

/** A value that made a rule fire: `payload.to[29] jo@elsewhere.example (read as elsewhere.example, one of 30)`. */
function reasonText(because: Because, heading: HeadingView): string {
  const { field, value, hidden, state, read, of } = because
  const written = read === undefined ? formattedIn(heading, because) : undefined
  const shown = hidden === true ? '[hidden]' : (state ?? setIn(written ?? String(value)))
  const more = [
    ...(written === undefined ? [] : [`sent as ${String(value)}`]),
    ...(read === undefined ? [] : [`read as ${setIn(String(read))}`]),
    ...(of === undefined ? [] : [`one of ${of}`]),
  ]
  return `${setIn(field)} ${shown}${more.length === 0 ? '' : ` (${more.join(', ')})`}`
}

function headline(thread: ThreadSummary): string {
  const { given, required } = thread.approvals
  const waits =
    thread.status === 'pending_review'
      ? `${given}/${required} approvals from ${[thread.groups.join(' + '), ...thread.escalated_to].join(' or ')}`
      : `${statusOf(thread)}${rejectedBy(thread)}`
  return `${thread.thread_id}  ${thread.risk.toUpperCase()}  ${thread.tool_name}  by ${thread.agent}  ${waits}${until(thread)}`
}

/** `since 2026-03-02 14:05 UTC policy asks for two of security-leads`. */
const raisedIn = ({ raised }: Pick<ThreadSummary, 'raised'>): string[] =>
  raised === undefined
    ? []
    : [`  since ${raised.at.slice(0, 16).replace('T', ' ')} UTC policy asks for ${setIn(raised.asks)}`]

/** The reviewer who rejected the call, or took its approval back. */
const rejectedBy = ({ decided_by = [] }: Pick<ThreadSummary, 'decided_by'>): string => {
  const last = decided_by.at(-1)
  return last?.decision === 'reject' ? ` by ${last.name ?? last.reviewer}` : ''
}

/** The status of the thread; a withdrawn call is not shown as rejected. */
const statusOf = ({ status, withdrawn_at }: { status: string; withdrawn_at?: string }): string =>
  withdrawn_at === undefined ? status : 'withdrawn'

const sourceOf = ({ tool_source }: ThreadView): string[] =>
  tool_source === undefined ? [] : [`tool ${setIn(tool_source.name)} of MCP server ${tool_source.server}`]

function until(thread: { status: string; deadline?: string }): string {
  return thread.status === 'pending_review' && thread.deadline !== undefined
    ? `, until ${thread.deadline}`
    : ''
}

export type Earlier = Pick<Precedents, 'rejections' | 'newer'>

export function printThread(view: ThreadView, earlier: Earlier = { rejections: [] }): string {
  const lines = [
    `${view.thread_id}   ${statusOf(view)}${rejectedBy(view)}, revision ${view.revision}${until(view)}`,
    '',
    `${setIn(view.heading.line)}${exactOf(view)}`,
    `${view.tool_name}   ${setIn(view.tool_description ?? '')}`,
    ...sourceOf(view),
    `by ${view.agent}, task ${setIn(view.task_id)}`,
    '',
    ...under('Ran since', newerText(earlier)),
    ...under('Rejected before', rejectedTexts(earlier)),
    'What policy says',
    `  risk ${view.risk} (policy alone: ${view.policy_risk})${view.reversibility === undefined ? '' : `, ${view.reversibility}`}`,
    ...view.rules.flatMap((rule) => [
      `  ${rule.mode === 'shadow' ? '(shadow) ' : ''}${rule.id}  ${rule.reason}  ${rule.file}:${rule.line}`,
      ...(rule.because ?? []).map((one) => `    because ${reasonText(one, view.heading)}`),
    ]),
    ...raisedIn(view),
    '',
    'Action',
    indent(JSON.stringify(view.payload, null, 2)),
    '',
    ...claims(view),
    ...warnings(view),
    ...votes(view),
    'Who decides',
    ...view.seats.map(
      (seat) => `  ${seat.filled_by.length}/${seat.approvals} ${seat.group}${escalated(seat)}${by(seat)}`,
    ),
    `  can still vote: ${view.who_can_vote.map((one) => one.name).join(', ') || 'no reviewer'}`,
    `  you: ${view.can_vote.allowed ? 'may vote' : (view.can_vote.reason ?? 'may not vote')}${takeBack(view)}`,
    `  displayed: ${displayedBy(view).digest}`,
  ]
  return visible(lines.join('\n'))
}

const takeBack = ({ status, can_reject }: ThreadView): string =>
  status === 'approved' && can_reject ? '; you may reject it, which takes the approval back' : ''

/** The record of a display of the whole thread, for a vote. */
export function displayedBy({ thread_id, revision, display }: ThreadView): Displayed {
  const { parts: seen, ...known } = display
  return { digest: displayedDigest({ thread_id, revision, ...known, seen }), seen, unseen: [] }
}

/** The exact values for the formatted values in the heading. */
function exactOf({ heading: { segments } }: ThreadView): string {
  const exact = segments.flatMap(({ field, exact: sent }) =>
    sent === undefined ? [] : [`${field} ${setIn(sent)}`],
  )
  return exact.length === 0 ? '' : `   (${exact.join(', ')})`
}

const by = (seat: ThreadView['seats'][number]): string =>
  seat.filled_by.length > 0 ? ` (${seat.filled_by.join(', ')})` : ''
const escalated = (seat: ThreadView['seats'][number]): string =>
  seat.escalated_to.length > 0 ? ` or ${seat.escalated_to.join(', ')}` : ''

function claims(view: ThreadView): string[] {
  const { subject, preview, summary, workflow_name, task_label, risk_level } = view
  const said = {
    subject,
    preview,
    summary: summary?.join('\n'),
    workflow: workflow_name,
    label: task_label,
    risk: risk_level,
  }
  const lines = Object.entries(said).flatMap(([name, text]) =>
    text === undefined ? [] : [`  ${name}: ${setIn(text)}`],
  )
  return lines.length === 0 ? [] : ['What the agent claims', ...lines, '']
}

function warnings(view: ThreadView): string[] {
  if (view.warnings.length === 0) return []
  const lines = view.warnings.map(
    ({ place, message, words }) => `  ${setIn(place)}: ${[message, ...words].join(' ')}`,
  )
  return ['Check these warnings', ...lines, '']
}

export function newerText({ newer: one }: Earlier): string[] {
  if (one === undefined) return []
  const { field, value = '(not given)', at, agent, thread_id } = one
  const call = field === undefined ? 'An equal newer call' : `${setIn(field)} ${setIn(value)}`
  return [`${call} of ${agent} ran at ${at} (${thread_id})`]
}

export const rejectedTexts = ({ rejections }: Earlier): string[] =>
  rejections.map(({ reviewer, name, agent, thread_id, at, differs, comment }) => {
    const call = differs.length === 0 ? 'an equal call' : `a call with another ${setIn(differs.join(', '))}`
    const said = comment === undefined ? '' : `: ${setIn(comment)}`
    return `${name ?? reviewer} rejected ${call} of ${agent} at ${at} (${thread_id})${said}`
  })

const under = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`), '']

/** The channel of a vote, where it is not the console. */
const BY: Readonly<Record<string, string>> = { key: ' by key', slack: ' in Slack' }

function votes(view: ThreadView): string[] {
  if (view.votes.length === 0) return []
  const lines = view.votes.map((vote) => {
    const gone = vote.void ? ` (revision ${vote.revision}, void)` : ''
    const comment = vote.comment === undefined ? '' : `: ${setIn(vote.comment)}`
    return `  ${vote.name ?? vote.reviewer} ${vote.decision}${BY[vote.via] ?? ''}${gone}${comment}`
  })
  return ['Votes', ...lines, '']
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ')
}
