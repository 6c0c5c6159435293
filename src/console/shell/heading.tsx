import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { isTyping } from '../keyboard/keyboard.ts'

/** False for the first page after loading, on which the browser sets the focus. */
let visited = false

/** Focuses an element, unless the person is typing, because the next keys would then act as shortcuts. */
export function takeFocus(element: HTMLElement | null | undefined): void {
  if (!isTyping()) element?.focus()
}

/** Moves the focus to the top, when the pressed button has disappeared or its result appears there. */
export function startReading(): void {
  if (isTyping()) return
  // the browser does not scroll to an element that already has the focus
  scrollTo(0, 0)
  document.querySelector('.call > .scroll')?.scrollTo(0, 0)
  const heading = document.getElementById(CALL) ?? document.querySelector('h1')
  heading?.focus()
}

/** The id of the heading of a call, which may have the list beside it. */
export const CALL = 'call-title'

interface HeadingProps {
  readonly children: ComponentChildren
  readonly id?: string
  /** True when the focus stays where it is. */
  readonly quiet?: boolean
}

/** The heading of a page. The heading receives the focus when the page opens, so that reading starts there. */
export function Heading({ children, id, quiet = false }: HeadingProps) {
  const element = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    if (visited && !quiet) element.current?.focus()
    visited = true
  }, [])
  return (
    <h1 tabIndex={-1} ref={element} id={id}>
      {children}
    </h1>
  )
}
