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

interface SelectProps extends Pick<Attributes, 'set'> {
  readonly value: string | number | undefined
  readonly options: readonly (readonly [value: string | number, name: string])[]
  readonly id?: string
  readonly 'aria-label'?: string
}

/** One of several values. */
export const Select = ({ value = '', set, options, ...attributes }: SelectProps) => (
  <select {...attributes} value={value} onChange={(event) => set(event.currentTarget.value)}>
    {options.map(([one, name]) => (
      <option key={one} value={one}>
        {name}
      </option>
    ))}
  </select>
)
