import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: string
  readonly close: () => void
  readonly children: ComponentChildren
}

/**
 * A modal dialog of the browser: it keeps the focus, Escape closes it, and the focus goes back where it was. `cancel` comes with the key itself,
 * `close` a moment later: by then the next key may have been pressed.
 */
export function Dialog({ title, close, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const before = document.activeElement
    element.current?.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog ref={element} aria-labelledby="dialog-title" onCancel={close} onClose={close}>
      <h2 id="dialog-title" tabIndex={-1} autofocus>
        {title}
      </h2>
      {children}
    </dialog>
  )
}
