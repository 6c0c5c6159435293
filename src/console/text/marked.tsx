import type { Because } from '../../contract/reasons.ts'
import { AgentText } from './agent-text.tsx'

interface MarkedProps {
  readonly text: string
  /** The part of the text that a test read; the whole text without it. */
  readonly read?: Because['read']
}

/** A value with a highlighter on exactly what a test read of it. */
export function Marked({ text, read }: MarkedProps) {
  const part = typeof read === 'string' && read !== '' ? read : text
  const at = text.lastIndexOf(part)
  if (at === -1 || text === '') {
    return (
      <>
        <AgentText text={text} />{' '}
        <mark>
          <AgentText text={read === undefined ? 'empty text' : String(read)} />
        </mark>
      </>
    )
  }
  return (
    <>
      {at > 0 && (
        <span class="plain-part">
          <AgentText text={text.slice(0, at)} />
        </span>
      )}
      <mark>
        <AgentText text={part} />
      </mark>
      {at + part.length < text.length && (
        <span class="plain-part">
          <AgentText text={text.slice(at + part.length)} />
        </span>
      )}
    </>
  )
}
