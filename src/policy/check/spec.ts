import type { JsonObject } from '../../contract/json.ts'
import { defined, type NamePattern, readKeys, type Reader } from '../yaml/shape.ts'
import type { Doc, DocMap } from '../yaml/parse.ts'
import type { Change } from './change.ts'

/** The keys of a mapping in a file of the bundle, in the order of fmt. */
export type Spec<Entry, Around = unknown, Asked = unknown> = Readonly<
  Record<string, Key<Entry, Around, Asked>>
>

/** A key, with everything that the language knows of it. */
interface Key<Entry, Around, Asked> {
  readonly required?: true
  /** Returns the members of the entry that the key gives. A member is undefined after a finding. */
  readonly read: (
    reader: Reader,
    doc: Doc,
    around: Around,
  ) => { readonly [K in keyof Entry]?: Entry[K] | undefined }
  /** The schema of the value in editors. */
  readonly schema: JsonObject
  /** The lines of `diff` about a change. */
  readonly diff: (before: Entry, after: Entry, asked: Asked) => readonly Change[]
}

/** Reads the mapping. Returns the members that its keys give. */
export function readSpec<Entry, Around>(
  reader: Reader,
  map: DocMap,
  { what, spec, around }: { what: string; spec: Spec<Entry, Around, never>; around: Around },
): Partial<Entry> {
  const names = Object.keys(spec)
  const required = names.filter((key) => spec[key]?.required)
  const docs = readKeys(reader, map, {
    what,
    required,
    optional: names.filter((key) => !required.includes(key)),
  })
  const parts = names.map((key) => docs[key] && spec[key]?.read(reader, docs[key], around))
  return defined(Object.assign({}, ...parts) as Partial<Entry>) as Partial<Entry>
}

export const schemaOf = (
  spec: Readonly<Record<string, { readonly required?: true; readonly schema: JsonObject }>>,
): JsonObject =>
  closed(
    Object.keys(spec).filter((key) => spec[key]?.required),
    Object.fromEntries(Object.entries(spec).map(([key, { schema }]) => [key, schema])),
  )

export const diffOf = <Entry, Asked>(
  spec: Spec<Entry, never, Asked>,
  [before, after]: readonly [Entry, Entry],
  asked: Asked,
): readonly Change[] => Object.values(spec).flatMap(({ diff }) => diff(before, after, asked))

/** Schemas of values. */
export const text = (description: string): JsonObject => ({ type: 'string', minLength: 1, description })
export const name = ({ pattern, hint }: NamePattern): JsonObject => ({
  type: 'string',
  pattern: pattern.source,
  description: hint,
})
export const list = (items: JsonObject): JsonObject => ({ type: 'array', items })
export const closed = (required: readonly string[], properties: JsonObject): JsonObject => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
})
export const DURATION: JsonObject = {
  type: 'string',
  pattern: '^[1-9][0-9]{0,8}[smhd]$',
  description: 'Digits and s, m, h or d, at most 31 days.',
}
