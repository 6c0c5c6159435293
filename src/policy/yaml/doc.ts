import type { Mark } from './source.ts'

/** A YAML document reduced to the parts that a policy may contain, each with its position. */
export type Doc = DocText | DocNumber | DocBoolean | DocNull | DocList | DocMap

export interface DocText {
  readonly kind: 'text'
  readonly value: string
  readonly mark: Mark
}
export interface DocNumber {
  readonly kind: 'number'
  readonly value: number
  readonly mark: Mark
}
export interface DocBoolean {
  readonly kind: 'boolean'
  readonly value: boolean
  readonly mark: Mark
}
export interface DocNull {
  readonly kind: 'null'
  readonly mark: Mark
}
export interface DocList {
  readonly kind: 'list'
  readonly items: readonly Doc[]
  readonly mark: Mark
}
export interface DocMap {
  readonly kind: 'map'
  readonly entries: readonly DocEntry[]
  readonly mark: Mark
}
export interface DocEntry {
  readonly key: string
  readonly keyMark: Mark
  readonly value: Doc
}
