import { useEffect } from 'preact/hooks'
import { AgentText } from '../text/agent-text.tsx'
import type { Refusal } from './call.ts'
import { listen } from './stream.ts'

interface ProblemNoteProps {
  readonly problem: Refusal
  readonly retry?: () => void
  /** Dismisses the note. */
  readonly seen?: () => void
}

/**
 * A refusal in the gateway's words. It retries when the connection returns, because the note would then be outdated.
 */
export function ProblemNote({ problem, retry, seen }: ProblemNoteProps) {
  useEffect(() => retry && listen({ stale: retry }), [retry])
  return (
    <div class="note bad" role="alert">
      <strong>{problem.title}.</strong> <AgentText text={problem.detail} />
      {problem.errors && (
        <ul>
          {problem.errors.map(({ pointer, message }) => (
            <li key={pointer}>
              <code>{pointer || 'the whole'}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {retry && <button onClick={retry}>Try again</button>}
      {seen && <button onClick={seen}>OK</button>}
    </div>
  )
}
