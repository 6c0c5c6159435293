import { AgentText } from '../text/agent-text.tsx'
import type { Refusal } from './call.ts'

/** A refusal, in its own words. */
export function ProblemNote({ problem, retry }: { problem: Refusal; retry?: () => void }) {
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
    </div>
  )
}
