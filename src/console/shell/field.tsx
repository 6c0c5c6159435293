import { useLayoutEffect, useRef } from 'preact/hooks'

interface Attributes {
  readonly value: string | undefined
  readonly set: (value: string) => void
  readonly placeholder?: string
  readonly required?: boolean
}
type Kind =
  | { readonly type: 'date' }
  | { readonly type: 'datetime-local' }
  | { readonly type: 'search' }
  | { readonly type: 'text' }

/**
 * An input that keeps its unsent text when the page is drawn again. With the `value` property, Preact would restore the
 * old text.
 */
export function Field({ value = '', set, ...attributes }: Attributes & Kind) {
  const element = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    if (element.current) element.current.value = value
  }, [value])
  return <input {...attributes} ref={element} onChange={(event) => set(event.currentTarget.value.trim())} />
}
