import type { Mark } from './source.ts'

/** A YAML document reduced to the parts that a policy may contain, each with its position. */
export type Doc = DocText | DocNumber | DocBoolean | DocNull | DocList | DocMap

interface Marked<Kind> {
  readonly kind: Kind
  readonly mark: Mark
}
export type DocText = Marked<'text'> & { readonly value: string }
export type DocNumber = Marked<'number'> & { readonly value: number }
export type DocBoolean = Marked<'boolean'> & { readonly value: boolean }
export type DocNull = Marked<'null'>
export interface DocList extends Marked<'list'> {
  readonly items: readonly Doc[]
}
export interface DocMap extends Marked<'map'> {
  readonly entries: readonly DocEntry[]
}
export interface DocEntry {
  readonly key: string
  readonly keyMark: Mark
  readonly value: Doc
}
