import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { isTyping } from '../keyboard/keyboard.ts'

/** The first page after loading leaves the focus where the browser has it. */
let visited = false

/** Gives the focus to what has come, unless somebody writes: the keys that follow would be shortcuts. */
export function takeFocus(element: HTMLElement | null | undefined): void {
  if (!isTyping()) element?.focus()
}

/** Reading starts again at the top: what was pressed is gone, or what it brought stands there. */
export function startReading(): void {
  if (isTyping()) return
  // what has the focus already is not scrolled to
  scrollTo(0, 0)
  document.querySelector('h1')?.focus()
}

/** The heading of a page: it takes the focus when one comes to the page, so that reading starts there. */
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
