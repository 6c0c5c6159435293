import { type Component, options, type VNode } from 'preact'
import { useMemo } from 'preact/hooks'

/** A value that redraws the components that have read it, and no others, when it changes. */
export interface Signal<T> {
  value: T
}

type Drawn = VNode & { readonly __c?: Component | null }
type Listener = ((node: Drawn) => void) | undefined
/** Preact says at `__r` which component it is about to draw; its own hooks listen at the same place, by the same name. */
const hooks = options as { __r: Listener; diffed: Listener; unmount: Listener }
const { __r: beforeDrawing, diffed, unmount } = hooks

let drawing: Component | undefined
/** Where each component is noted as a reader: when it goes, it is forgotten there. */
const notes = new WeakMap<Component, Set<Set<Component>>>()

hooks.__r = (node) => {
  beforeDrawing?.(node)
  drawing = node.__c ?? undefined
}
hooks.diffed = (node) => {
  drawing = undefined
  diffed?.(node)
}
hooks.unmount = (node) => {
  unmount?.(node)
  if (node.__c) notes.get(node.__c)?.forEach((readers) => readers.delete(node.__c as Component))
}

function note(readers: Set<Component>, reader: Component): void {
  readers.add(reader)
  const places = notes.get(reader) ?? new Set()
  notes.set(reader, places.add(readers))
}

export function signal<T>(first: T): Signal<T> {
  let value = first
  const readers = new Set<Component>()
  return {
    get value() {
      if (drawing) note(readers, drawing)
      return value
    },
    set value(next) {
      if (Object.is(next, value)) return
      value = next
      readers.forEach((one) => one.forceUpdate())
    },
  }
}

/** A value made of others whenever it is read. */
export const computed = <T>(of: () => T): { readonly value: T } => ({
  get value() {
    return of()
  },
})

/** A signal that lives as long as the component. */
export const useSignal = <T>(first: T): Signal<T> => useMemo(() => signal(first), [])
