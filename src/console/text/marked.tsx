import type { Because } from '../../contract/reasons.ts'
import { AgentMark, AgentSpan, AgentText } from './agent-text.tsx'

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
        <AgentText text={text} /> <AgentMark text={read === undefined ? 'empty text' : String(read)} />
      </>
    )
  }
  return (
    <>
      {at > 0 && <AgentSpan kind="plain-part" text={text.slice(0, at)} />}
      <AgentMark text={part} />
      {at + part.length < text.length && <AgentSpan kind="plain-part" text={text.slice(at + part.length)} />}
    </>
  )
}
