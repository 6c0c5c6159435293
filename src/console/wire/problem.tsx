import { useEffect } from 'preact/hooks'
import { AgentText } from '../text/agent-text.tsx'
import { answeredAt, type Refusal } from './call.ts'
import { listen } from './stream.ts'

interface ProblemNoteProps {
  readonly problem: Refusal
  /** Reads again; for a page or a part of a page that could not be read. */
  readonly retry?: () => void
  /** Dismisses the note. */
  readonly seen?: () => void
}

/**
 * A refusal: of an act in the gateway's words, and of a read in one sentence. It retries when the connection returns,
 * because the note would then be outdated.
 */
export function ProblemNote({ problem, retry, seen }: ProblemNoteProps) {
  useEffect(() => retry && listen({ stale: retry }), [retry])
  return (
    <div class="note bad" role="alert">
      {retry ? (
        <strong>{sentenceOf(problem, 'this')}</strong>
      ) : (
        <>
          <strong>{problem.title}.</strong> <AgentText text={problem.detail} />
        </>
      )}
      {problem.errors && (
        <ul>
          {problem.errors.map(({ pointer, message }) => (
            <li key={pointer}>
              <code>{pointer || 'the whole'}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {retry && <button onClick={retry}>{again(problem)}</button>}
      {seen && <button onClick={seen}>OK</button>}
    </div>
  )
}

interface ProblemStateProps {
  readonly problem: Refusal
  readonly retry: () => void
  /** The name of the thing that could not be read, such as `the queue`. */
  readonly what: string
}

/** The state of a pane whose content could not be read: one sentence, and what to do. */
export function ProblemState({ problem, retry, what }: ProblemStateProps) {
  useEffect(() => listen({ stale: retry }), [retry])
  return (
    <div class="state" role="alert">
      <h2>{sentenceOf(problem, what)}</h2>
      <p class="acts">
        {problem.status === NOT_FOUND ? (
          <a class="button" href="#/history">
            Search the history
          </a>
        ) : (
          <button onClick={retry}>{again(problem)}</button>
        )}
      </p>
    </div>
  )
}

const FORBIDDEN = 403
const NOT_FOUND = 404

const again = ({ status }: Refusal): string => (status === 0 ? 'Try now' : 'Try again')

/** The problem and the next step, in one sentence. */
function sentenceOf({ status, detail }: Refusal, what: string): string {
  if (status === 0) {
    const since = new Date(answeredAt.value).toLocaleTimeString('en-GB', {
      hour: '2-digit',
      minute: '2-digit',
    })
    return `The gateway has not answered since ${since}; you can read on, and vote as soon as it answers.`
  }
  if (status === NOT_FOUND)
    return 'Nothing has this address: the link may be cut off, or belong to another tenant.'
  if (status === FORBIDDEN) return `You may not read ${what}; ask an administrator (${detail}).`
  return `The gateway could not read ${what} and changed nothing; try again, or tell an administrator (${detail}).`
}
