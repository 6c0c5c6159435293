import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: string
  /** True for a dialog with a table. */
  readonly wider?: boolean
  readonly close: () => void
  readonly children: ComponentChildren
}

/**
 * A modal dialog of the browser. The dialog keeps the focus and closes on Escape. The focus then returns to the earlier
 * element. `cancel` fires with the key, and `close` a moment later, perhaps after the next key.
 */
export function Dialog({ title, wider = false, close, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const before = document.activeElement
    element.current?.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={element}
      class={wider ? 'wider' : undefined}
      aria-labelledby="dialog-title"
      onCancel={close}
      onClose={close}
    >
      <h2 id="dialog-title" tabIndex={-1} autofocus>
        {title}
      </h2>
      {children}
    </dialog>
  )
}
