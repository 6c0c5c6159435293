import type { JsonObject } from '../../contract/json.ts'
import { stepsOf } from '../../domain/place.ts'
import { payloadPlace, placeName, WARNINGS } from '../text/because-text.ts'
import { AgentText } from '../text/agent-text.tsx'
import { Part } from '../seen/part.tsx'
import type { ThreadState } from '../call/thread-state.ts'

export const ACKNOWLEDGE = 'acknowledge'

const PAYLOAD = 'payload'

/** The name of a warning's place: `to[2]` for `payload/to/2`. */
const placed = (place: string, payload: JsonObject): string =>
  place.startsWith(PAYLOAD) ? placeName(payloadPlace(stepsOf(payload, place.slice(PAYLOAD.length)))) : place

/** The places of this call that could deceive a reader. A reviewer must acknowledge these places before approving. */
export function Acknowledge({ thread }: { readonly thread: ThreadState }) {
  const warnings = thread.warnings.value
  const payload = (thread.view.value?.payload ?? {}) as JsonObject
  if (warnings.length === 0) return null
  return (
    <section class="note warn" aria-labelledby="warnings">
      <Part name={WARNINGS}>
        <h2 id="warnings">Check these warnings</h2>
        <ul>
          {warnings.map(({ place, message, words }) => (
            <li key={place}>
              <code>
                <AgentText text={placed(place, payload)} />
              </code>{' '}
              {message}
              {words.map((word) => (
                <span key={word} class="spelled">
                  {word}
                </span>
              ))}
            </li>
          ))}
        </ul>
      </Part>
      {thread.view.value?.can_vote.allowed && (
        <label class="check">
          <input
            id={ACKNOWLEDGE}
            type="checkbox"
            checked={!thread.mustAcknowledge.value}
            onChange={(event) => thread.acknowledge(event.currentTarget.checked)}
          />
          I have seen this, and it may be approved nevertheless.
        </label>
      )}
    </section>
  )
}
