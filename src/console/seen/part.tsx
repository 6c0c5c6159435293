import type { ComponentChildren } from 'preact'
import { createContext } from 'preact'
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Hinder, PartContext } from '../text/hindrance.ts'
import type { Parts } from './parts.ts'

/** The parts of the open call; absent where the reviewer decides nothing. */
export const PartsContext = createContext<Parts | undefined>(undefined)

interface PartProps {
  readonly name: string
  /** The parts whose whole value this part shows as well. */
  readonly shows?: readonly string[]
  readonly children: ComponentChildren
}

/** Makes an element a part to see, by each of its names. Returns its reference, and the context of its content. */
export function usePart<E extends HTMLElement>(names: readonly string[]) {
  const parts = useContext(PartsContext)
  const element = useRef<E>(null)
  const [hinder, setHinder] = useState<Hinder | undefined>(undefined)
  useLayoutEffect(() => {
    if (!parts || !element.current || names.length === 0) return undefined
    const part = parts.add(names, element.current)
    setHinder(() => part.hinder)
    return part.remove
  }, [parts, ...names])
  return { element, hinder, parts }
}

/** A part to see, with a sign while it was not seen. */
export function Part({ name, shows = [], children }: PartProps) {
  const { element, hinder, parts } = usePart<HTMLDivElement>([name, ...shows])
  return (
    <div class="part" ref={element}>
      {parts?.missing.value.includes(name) && <span class="seen not">not seen</span>}
      <PartContext.Provider value={hinder}>{children}</PartContext.Provider>
    </div>
  )
}
