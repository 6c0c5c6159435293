import type { CommentView, ThreadView, VoteView } from '../../contract/reviewer.ts'
import { LongText } from '../text/long-text.tsx'
import { Ago } from '../time/countdown.tsx'
import { lookOf } from '../time/elapsed.ts'
import { Panel } from '../shell/panel.tsx'

const SAID = { approve: 'approved', reject: 'rejected', request_changes: 'asked for changes' } as const

type Entry = (VoteView | CommentView) & {
  readonly decision?: VoteView['decision']
  readonly void?: boolean
  readonly ms?: number
}

/** The channel of a vote, where it is not the console. */
const BY: Readonly<Record<string, string>> = { key: ' · by key', slack: ' · in Slack' }

/** Votes and comments in order of time. A vote on an earlier revision is void, and is marked as void. */
export function Discussion({ view }: { readonly view: ThreadView }) {
  const entries: Entry[] = [...view.votes, ...view.comments].sort((a, b) => (a.at < b.at ? -1 : 1))
  if (entries.length === 0) return null
  return (
    <Panel title="Votes and comments">
      <ul class="plain talk">
        {entries.map((entry, i) => (
          <li key={i} class={entry.void ? 'void' : ''}>
            <b>{entry.name ?? entry.reviewer}</b> {entry.decision ? SAID[entry.decision] : 'said'}{' '}
            <small>
              revision {entry.revision}
              {entry.void && ', void: the agent revised since'} · <Ago at={entry.at} />
              {BY[entry.via]}
              {entry.ms !== undefined && ` · ${lookOf(entry.ms).text}`}
            </small>
            {entry.comment && (
              <p>
                <LongText text={entry.comment} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
