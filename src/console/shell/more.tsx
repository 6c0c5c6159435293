import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'

interface MoreProps {
  /** True when one of the fields has a value. */
  readonly open: boolean
  readonly children: ComponentChildren
}

/**
 * Fields that stay folded until a reader needs them. The fold may open automatically but never closes automatically,
 * because closing would lose the focus.
 */
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
