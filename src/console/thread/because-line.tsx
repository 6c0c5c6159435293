import type { HeadingView } from '../../contract/heading.ts'
import type { Because } from '../../contract/reasons.ts'
import { formattedIn } from '../../domain/heading.ts'
import { AgentSpan } from '../text/agent-text.tsx'
import { placeName, STATES } from '../text/because-text.ts'
import { Digits } from '../text/digits.tsx'
import { Marked } from '../text/marked.tsx'

/**
 * A value that made the rule fire, as the summary writes it, with the exact value beside it. The mark covers only what
 * the test read.
 */
export function BecauseLine({ of, heading }: { readonly of: Because; readonly heading: HeadingView }) {
  const { field, value, hidden, state, read, of: judged } = of
  const formatted = read === undefined ? formattedIn(heading, of) : undefined
  return (
    <>
      <p class="because">
        <AgentSpan kind="name" text={placeName(field)} />{' '}
        <span class="value">
          {state && <mark>{STATES[state]}</mark>}
          {hidden && <span class="masked">hidden</span>}
          {value !== undefined && <Marked text={formatted ?? String(value)} read={read} />}
          {formatted !== undefined && (
            <small class="exact">
              {' '}
              <Digits of={String(value)} />
            </small>
          )}
        </span>
      </p>
      {judged !== undefined && judged > 1 && <p class="small quiet">of {judged} entries</p>}
    </>
  )
}
