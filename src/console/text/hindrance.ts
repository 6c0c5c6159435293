import { createContext } from 'preact'
import { useContext, useLayoutEffect, useRef } from 'preact/hooks'

/** A place inside a part whose content is not on the page: a fold, or a hidden value. */
export interface Hindrance {
  /** Shows the content; absent when that needs an act of its own. */
  readonly open?: () => void
  readonly element: HTMLElement
}

/** Reports a hindrance of the surrounding part, and returns the act that takes it back. */
export type Hinder = (hindrance: Hindrance) => () => void
export const PartContext = createContext<Hinder | undefined>(undefined)

/** Marks the surrounding part as not wholly on the page while `closed`. The reference belongs on the control. */
export function useHindrance<E extends HTMLElement>(closed: boolean, open?: () => void) {
  const element = useRef<E>(null)
  const hinder = useContext(PartContext)
  useLayoutEffect(() => {
    if (closed && element.current) return hinder?.({ element: element.current, ...(open && { open }) })
    return undefined
  }, [closed, hinder])
  return element
}
