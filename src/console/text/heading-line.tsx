import type { HeadingView } from '../../contract/heading.ts'
import { AgentText } from './agent-text.tsx'
import { oneLine } from './because-text.ts'
import { Digits } from './digits.tsx'

interface HeadingLineProps {
  readonly of: HeadingView
  /** True for a row, whose values must fit on one line. */
  readonly short?: boolean
}

/**
 * The heading of a call. Words of the policy appear unchanged. Values are text from the agent, with the exact value
 * next to each formatted value.
 */
export function HeadingLine({ of: { segments }, short = false }: HeadingLineProps) {
  return (
    <span class="does">
      {segments.map((segment, i) => (
        <Segment key={i} of={short ? inRow(segment) : segment} />
      ))}
    </span>
  )
}

type Segment = HeadingView['segments'][number]

/** A value that fits on the line of a row. Quotes stay around it. */
function inRow({ text, ...segment }: Segment): Segment {
  if (segment.field === undefined) return { text }
  const [, quoted] = /^"(.*)"$/su.exec(text) ?? []
  return { ...segment, text: quoted === undefined ? oneLine(text) : `"${oneLine(quoted)}"` }
}

function Segment({ of }: { readonly of: Segment }) {
  const { text, field, exact, sensitive, missing } = of
  const said = <AgentText text={text} />
  const isCount = /^\d+$/.test(text) && exact?.startsWith('[') === true
  if (field === undefined) return said
  if (sensitive) return <span class="tag">{said}</span>
  if (missing) return <i>{said}</i>
  return (
    <>
      <b>{said}</b>
      {exact !== undefined && !isCount && (
        <small class="exact">
          {' '}
          {/^-?\d+$/.test(exact) ? <Digits of={exact} /> : <AgentText text={exact} />}
        </small>
      )}
    </>
  )
}
