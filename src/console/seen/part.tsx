import type { ComponentChildren } from 'preact'
import { createContext } from 'preact'
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Hinder, PartContext } from '../text/hindrance.ts'
import type { Parts } from './parts.ts'

/** The parts of the open call; absent where the reviewer decides nothing. */
export const PartsContext = createContext<Parts | undefined>(undefined)

interface PartProps {
  readonly name: string
  readonly children: ComponentChildren
}

/** Makes an element a part to see. Returns its reference, and the context of its content. */
export function usePart<E extends HTMLElement>(name: string) {
  const parts = useContext(PartsContext)
  const element = useRef<E>(null)
  const [hinder, setHinder] = useState<Hinder | undefined>(undefined)
  useLayoutEffect(() => {
    if (!parts || !element.current) return undefined
    const part = parts.add(name, element.current)
    setHinder(() => part.hinder)
    return part.remove
  }, [parts, name])
  return { element, hinder, parts }
}

/** A part to see, with a sign while it was not seen. */
export function Part({ name, children }: PartProps) {
  const { element, hinder, parts } = usePart<HTMLDivElement>(name)
  return (
    <div class="part" ref={element}>
      {parts?.missing.value.includes(name) && <span class="seen not">not seen</span>}
      <PartContext.Provider value={hinder}>{children}</PartContext.Provider>
    </div>
  )
}
