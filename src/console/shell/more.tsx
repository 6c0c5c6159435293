import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'

interface MoreProps {
  /** One of the fields says something. */
  readonly open: boolean
  readonly children: ComponentChildren
}

/** Fields that are folded away until one of them is needed. By itself it opens only: closing would take the focus along. */
export function More({ open, children }: MoreProps) {
  const needed = useRef(open)
  needed.current ||= open
  return (
    <details class="wide" open={needed.current}>
      <summary>More</summary>
      <div class="fields">{children}</div>
    </details>
  )
}
