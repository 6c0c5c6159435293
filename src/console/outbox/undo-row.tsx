import { AgentText } from '../text/agent-text.tsx'
import { now } from '../time/clock.ts'
import { canSendAgain, drop, type Held, isRevised, outbox, send, undo } from './outbox.ts'

const SAID = { approve: 'approved', reject: 'rejected', request_changes: 'asked for changes to' } as const
const WORDS = { approve: 'approve', reject: 'reject', request_changes: 'request changes to' } as const

/** The votes that have not arrived: the newest that can be taken back, and each that was not sent or not counted. */
export function UndoRow() {
  const waiting = outbox.value.filter(({ problem, refused }) => problem === undefined && !refused)
  const newest = waiting.at(-1)
  return (
    <div class="undo-rows">
      {outbox.value.map((vote) => vote.problem && <NotSent key={vote.thread} vote={vote} />)}
      {outbox.value.map((vote) => vote.refused && <PartlyRefused key={`of ${vote.thread}`} vote={vote} />)}
      {newest && <Waiting key="newest" vote={newest} others={waiting.length - 1} />}
    </div>
  )
}

function Waiting({ vote: { body, line, sentAt }, others }: { readonly vote: Held; readonly others: number }) {
  // draws the seconds again
  void now.value
  const seconds = sentAt === undefined ? 0 : Math.max(0, Math.ceil((sentAt - Date.now()) / 1_000))
  return (
    <div class="undo">
      <p>
        <b>You {SAID[body.decision]}</b> <AgentText text={line} />
        {others > 0 && `, and ${others} more`}.{' '}
        <span class="secs">{seconds > 0 ? `Sent in ${seconds} s.` : 'Sending…'}</span>
      </p>
      {sentAt !== undefined && (
        <button aria-keyshortcuts="u" onClick={undo}>
          Undo <kbd aria-hidden="true">u</kbd>
        </button>
      )}
    </div>
  )
}

function NotSent({ vote }: { readonly vote: Held }) {
  const { thread, body, line, problem, several } = vote
  const link = `#/thread/${thread}`
  if (isRevised(vote)) {
    return (
      <div class="undo bad" role="alert">
        <p>
          <b>Your vote was not counted.</b> <AgentText text={line} /> has changed since you looked at it.
        </p>
        <a class="button" href={link} onClick={() => drop(thread)}>
          Look at it
        </a>
      </div>
    )
  }
  return (
    <div class="undo bad" role="alert">
      <p>
        <b>
          {several ? `${several.length} votes were` : '1 vote was'} not{' '}
          {canSendAgain(vote) ? 'sent' : 'counted'}:
        </b>{' '}
        {WORDS[body.decision]} <AgentText text={line} />. {problem?.title}.
      </p>
      {canSendAgain(vote) ? (
        <button onClick={() => void send(thread)}>Send it</button>
      ) : (
        <a class="button" href={link}>
          Show it
        </a>
      )}
      <button onClick={() => drop(thread)}>Drop it</button>
    </div>
  )
}

const MOST_NAMED = 3

/** A vote on several calls, of which the gateway refused some. */
function PartlyRefused({
  vote: { thread, body, line, several = [], refused = [] },
}: {
  readonly vote: Held
}) {
  const counted = several.length - refused.length
  return (
    <div class="undo bad" role="alert">
      <p>
        <b>
          You {SAID[body.decision]} {counted} of <AgentText text={line} />, and {refused.length}{' '}
          {refused.length === 1 ? 'was' : 'were'} refused:
        </b>{' '}
        <AgentText text={[...new Set(refused.map(({ why }) => why))].slice(0, MOST_NAMED).join('; ')} />.
      </p>
      <a class="button" href={`#/thread/${refused[0]?.thread}`} onClick={() => drop(thread)}>
        Show {refused.length === 1 ? 'it' : 'the first'}
      </a>
      <button onClick={() => drop(thread)}>OK</button>
    </div>
  )
}
