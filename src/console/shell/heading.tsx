import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { isTyping } from '../keyboard/keyboard.ts'

/** The first page after loading leaves the focus to the browser. */
let visited = false

/** Focuses an element, unless the person is typing: the keys that follow would be shortcuts. */
export function takeFocus(element: HTMLElement | null | undefined): void {
  if (!isTyping()) element?.focus()
}

/** Continues reading at the top, when the pressed button has disappeared or its result is there. */
export function startReading(): void {
  if (isTyping()) return
  // the browser does not scroll to an element that already has the focus
  scrollTo(0, 0)
  document.querySelector('h1')?.focus()
}

/** The heading of a page. It takes the focus when the page opens, so that reading starts there. */
export function Heading({ children }: { readonly children: ComponentChildren }) {
  const element = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    if (visited) element.current?.focus()
    visited = true
  }, [])
  return (
    <h1 tabIndex={-1} ref={element}>
      {children}
    </h1>
  )
}
