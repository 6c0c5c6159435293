import type { JsonValue } from '../../contract/json.ts'
import type { ThreadView } from '../../contract/reviewer.ts'
import { formattedIn } from '../../domain/heading.ts'
import { visible } from '../terminal/visible-text.ts'
import { newerText, type Earlier, rejectedTexts } from './print-thread.ts'

/** A name and its text. Both begin on the same page. */
type Row = readonly [name: string, text: string]

const STYLE = `body { font: 11pt/1.4 system-ui, sans-serif; margin: 2em }
h1 { font-size: 14pt } h2 { font-size: 12pt; break-after: avoid; border-bottom: 1px solid }
dt { font-weight: 600; break-after: avoid } dd { margin: 0 0 .6em 1em; white-space: pre-wrap; overflow-wrap: anywhere }
h1, dd { unicode-bidi: isolate }`

/** Everything about a thread on paper: an HTML page without scripts, whose texts are complete. */
export function sheetOf(view: ThreadView, earlier: Earlier): string {
  const { heading, thread_id, status, risk, revision, tool_name, agent, task_id, created_at, log } = view
  const facts: readonly Row[] = [
    ['Thread', thread_id],
    ['Status', `${status}, revision ${revision}, ${risk} risk`],
    ['Call', `${tool_name} by ${agent}, task ${task_id}, asked ${created_at}`],
  ]
  const body = [
    `<h1>${escaped(heading.line)}</h1>`,
    section('Call', facts),
    section('Warnings', warningsOf(view, earlier)),
    ...view.revisions.flatMap(revisionOf),
    section('Votes and comments', votesOf(view)),
    section('Evidence', [
      ...view.evidence.map(({ number, type, at, actor, says }): Row => [
        `#${number} ${type}`,
        `${at} ${actor}: ${says}`,
      ]),
      ...(log ? [['Head of the log', `${log.size} records, root ${log.root}, at ${log.at}`] as const] : []),
    ]),
  ]
  const title = escaped(`${thread_id}: ${heading.line}`)
  const head = `<meta charset="utf-8"><meta name="format-detection" content="telephone=no"><title>${title}</title>`
  return `<!doctype html>\n<html lang="en" translate="no">${head}<style>${STYLE}</style>\n${body.join('\n')}\n</html>`
}

const escaped = (text: string): string =>
  visible(text).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

function section(title: string, rows: readonly Row[]): string {
  const list = rows.map(([name, text]) => `<dt>${escaped(name)}</dt><dd>${escaped(text)}</dd>`)
  return list.length === 0 ? '' : `<section><h2>${escaped(title)}</h2><dl>${list.join('\n')}</dl></section>`
}

const warningsOf = (view: ThreadView, earlier: Earlier): Row[] => [
  ...view.warnings.map(({ place, message, words }): Row => [place, [message, ...words].join(' ')]),
  ...(view.raised
    ? [['Raised', `since ${view.raised.at} policy asks for ${view.raised.asks}`] as const]
    : []),
  ...newerText(earlier).map((text): Row => ['Newer', text]),
  ...rejectedTexts(earlier).map((text): Row => ['Rejected before', text]),
]

function revisionOf(one: ThreadView['revisions'][number]): string[] {
  const { number, payload, rules, policy_revision, submitted_at, subject, preview, summary, heading } = one
  const claims = { Subject: subject, Preview: preview, Summary: summary?.join('\n') }
  const reasons = rules.map(({ id, verdict, mode, reason, file, line, because = [] }): Row => {
    const values = because.map((why) => {
      const value = why.hidden ? '[hidden]' : (why.state ?? String(why.value))
      return `${why.field} ${formattedIn(heading, why) ?? ''} ${value}`
    })
    return [`${id}, ${mode} ${verdict}, ${file}:${line}`, [reason, ...values].join('\n')]
  })
  return [
    section(`What runs: revision ${number}, ${submitted_at}`, Object.entries(payload as object).map(fieldOf)),
    section(`What policy says of revision ${number}`, [...reasons, ['Bundle', policy_revision]]),
    section(
      `What the agent says of revision ${number}, not checked`,
      Object.entries(claims).flatMap(([name, text]): Row[] => (text ? [[name, text]] : [])),
    ),
  ]
}

/** Text of several lines appears unchanged, and each other value as JSON. */
const fieldOf = ([name, value]: [string, JsonValue]): Row => [
  name,
  typeof value === 'string' && value.includes('\n') ? value : JSON.stringify(value, null, 2),
]

function votesOf({ votes, comments, evidence }: ThreadView): Row[] {
  const displays = evidence.filter(({ type }) => type === 'vote.cast')
  const shown = votes.map((vote): readonly [string, Row] => {
    const { reviewer, name = reviewer, decision, at, revision, via, ms, comment = '' } = vote
    const display = displays.find((one) => one.at === at && one.actor.endsWith(`:${reviewer}`))?.displayed
    const more = [
      `revision ${revision}${vote.void ? ', void' : ''}, by ${via}${ms === undefined ? '' : `, looked ${ms} ms`}`,
      ...(display ? [`displayed: ${display.seen.join(', ')}`] : []),
      ...(display && display.unseen.length > 0 ? [`not displayed: ${display.unseen.join(', ')}`] : []),
      comment,
    ]
    return [at, [`${at} ${name}: ${decision}`, more.filter(Boolean).join('\n')]]
  })
  const said = comments.map(
    ({ reviewer, name = reviewer, at, comment }) => [at, [`${at} ${name}`, comment]] as const,
  )
  return [...shown, ...said].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}
