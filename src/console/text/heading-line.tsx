import type { HeadingView } from '../../contract/heading.ts'
import { AgentText } from './agent-text.tsx'

interface HeadingLineProps {
  readonly of: HeadingView
}

/**
 * The heading of a call. Words of the policy appear unchanged. Values are text from the agent, with the exact value
 * next to each formatted value.
 */
export function HeadingLine({ of: { segments } }: HeadingLineProps) {
  return (
    <span class="does">
      {segments.map((segment, i) => (
        <Segment key={i} of={segment} />
      ))}
    </span>
  )
}

function Segment({ of }: { readonly of: HeadingView['segments'][number] }) {
  const { text, field, exact, sensitive, missing } = of
  const said = <AgentText text={text} />
  if (field === undefined) return said
  if (sensitive) return <span class="tag">{said}</span>
  if (missing) return <i>{said}</i>
  return (
    <>
      <b>{said}</b>
      {exact !== undefined && (
        <small class="exact">
          {' '}
          <AgentText text={exact} />
        </small>
      )}
    </>
  )
}
