import type { JsonObject } from '../../contract/json.ts'
import { RISKS } from '../../domain/decision.ts'
import type { Doc, DocEntry, DocMap } from '../yaml/parse.ts'
import {
  checkName,
  type NamePattern,
  readBoolean,
  readCount,
  readDuration,
  readKeys,
  readList,
  readMap,
  readName,
  readOneOf,
  readRisk,
  readText,
  type Reader,
  WORD,
} from '../yaml/shape.ts'
import type { Change } from './change.ts'

/** The parts of a bundle that schemas of editors name. */
export interface Names {
  readonly groups: readonly string[]
  /** The schemas that depend on the tool of a rule file. */
  readonly parts?: Readonly<Record<Part, JsonObject>>
}
type Part = 'tool' | 'match' | 'sum' | 'per' | 'payload'

/** The names of no bundle in particular. */
export const NO_NAMES: Names = { groups: [] }

export type Schema = JsonObject | ((names: Names) => JsonObject)

/** Returns undefined after a finding. */
type Read<T, Around> = (reader: Reader, doc: Doc, what: string, around: Around) => T | undefined

/** A kind of value: its reader, and its schema in editors. */
export interface Value<T, Around = unknown> {
  readonly read: Read<T, Around>
  readonly schema: Schema
}

export const value = <T, Around>(read: Read<T, Around>, schema: Schema): Value<T, Around> => ({
  read,
  schema,
})

/** The members of an entry that were read before. */
export interface SoFar<Entry> {
  readonly soFar: Partial<Entry>
}

interface Said {
  readonly required?: true
  /** The text of editors. */
  readonly doc: string
  readonly schema: Schema
}

/**
 * A key of a mapping, with everything that the language knows of it. Its value becomes the member `to` of the entry.
 * So each key needs a member that takes it, or the row does not compile.
 */
type Row<Entry, Around, Asked> = {
  readonly [M in keyof Entry]-?: Said &
    Value<Exclude<Entry[M], undefined>, Around & SoFar<Entry>> & {
      readonly to: M
      /** Read after the rows without it, because its value depends on theirs. */
      readonly late?: true
      /** The lines of `diff` about a change. */
      readonly diff: (before: Entry[M], after: Entry[M], asked: Asked) => readonly Change[]
    }
}[keyof Entry]

/** A row: the member, the kind of its value, the text of editors, and the lines of `diff`. */
export const key = <const To, V, Diff>(to: To, kind: V, doc: string, diff: Diff) =>
  ({ to, ...kind, doc, diff }) as const

/** The row of a key that each file needs. */
export const need = <const To, V, Diff>(to: To, kind: V, doc: string, diff: Diff) =>
  ({ ...key(to, kind, doc, diff), required: true }) as const

/** The keys of a mapping in a file of the bundle, in the order of fmt. */
export interface Spec<Entry, Around = unknown, Asked = unknown, K extends string = string> {
  /** `an agent`, in findings. */
  readonly what: string
  readonly rows: Readonly<Record<K, Row<Entry, Around, Asked>>>
  /** Hints for keys that authors write by mistake. */
  readonly hints: Readonly<Record<string, string>>
}

/** Returns a maker of a spec, whose entry has these members. */
export const specOf =
  <Entry, Around = unknown, Asked = unknown>() =>
  <K extends string>(
    what: string,
    rows: Readonly<Record<K, Row<Entry, Around, Asked>>>,
    hints: Readonly<Record<string, string>> = {},
  ): Spec<Entry, Around, Asked, K> => ({ what, rows, hints })

interface AnySpec {
  readonly rows: Readonly<Record<string, Said>>
}

const requiredOf = ({ rows }: AnySpec): readonly string[] =>
  Object.keys(rows).filter((name) => rows[name]?.required)

/** Reads the mapping. Returns the members that its keys give, and the place of each key. */
export function readSpec<Entry, Around, K extends string>(
  reader: Reader,
  map: DocMap,
  spec: Spec<Entry, Around, never, K>,
  around: Around,
): {
  readonly entry: Partial<Entry>
  readonly at: Readonly<Partial<Record<K, Doc>>>
} {
  const names = Object.keys(spec.rows) as K[]
  const required = requiredOf(spec) as K[]
  const optional = names.filter((one) => !required.includes(one))
  const at = readKeys(reader, map, { what: spec.what, hints: spec.hints, required, optional })
  const entry: Partial<Entry> = {}
  const late = (one: K): number => (spec.rows[one].late ? 1 : 0)
  for (const one of names.toSorted((a, b) => late(a) - late(b))) {
    const [row, doc] = [spec.rows[one], at[one]]
    const read = doc && row.read(reader, doc, `\`${one}\``, { ...around, soFar: entry })
    if (read !== undefined) entry[row.to] = read
  }
  return { entry, at }
}

/** Returns true when the entry has these members. */
export const has = <Entry, M extends keyof Entry>(
  entry: Partial<Entry>,
  ...members: readonly M[]
): entry is Partial<Entry> & Pick<Entry, M> => members.every((one) => entry[one] !== undefined)

export const schemaOf = (spec: AnySpec, names: Names = NO_NAMES): JsonObject => {
  const parts = Object.entries(spec.rows).map(([name, { schema, doc }]): [string, JsonObject] => [
    name,
    { ...resolve(schema, names), ...(doc !== '' && { description: doc }) },
  ])
  return closed(requiredOf(spec), Object.fromEntries(parts))
}

export const partOf =
  (part: Part): Schema =>
  ({ parts }) =>
    parts?.[part] ?? {}

export const resolve = (schema: Schema, names: Names): JsonObject =>
  typeof schema === 'function' ? schema(names) : schema

/** Compares the entries, key by key. */
export const diffOf = <Entry, Asked>(
  spec: Spec<Entry, never, Asked>,
  [before, after]: readonly [Entry, Entry],
  asked: Asked,
): readonly Change[] =>
  Object.values<Row<Entry, never, Asked>>(spec.rows).flatMap(({ to, diff }) =>
    diff(before[to], after[to], asked),
  )

/** Schemas of values. */
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

/** Kinds of values. */
export const TEXT = value(readText, { type: 'string', minLength: 1 })
export const BOOLEAN = value(readBoolean, { type: 'boolean' })
/** True, or nothing. */
export const ON = value((reader, doc, what) => readBoolean(reader, doc, what) || undefined, BOOLEAN.schema)
export const RISK = value(readRisk, { enum: RISKS })
export const DURATION = value((reader, doc, what) => readDuration(reader, doc, what), {
  type: 'string',
  pattern: '^[1-9][0-9]{0,8}[smhd]$',
  description: 'Digits and s, m, h or d, at most 31 days.',
})
export const count = (maximum: number): Value<number> =>
  value((reader, doc, what) => readCount(reader, doc, what, maximum), {
    type: 'integer',
    minimum: 1,
    maximum,
  })
export const oneOf = <const T extends string>(allowed: readonly T[]): Value<T> =>
  value((reader, doc, what) => readOneOf(reader, doc, what, allowed), { enum: allowed })
/** @param noun `a group`, in findings; the key when it is absent */
export const named = (pattern: NamePattern, noun?: string): Value<string> =>
  value((reader, doc, what) => readName(reader, doc, noun ?? what, pattern), name(pattern))
export const GROUP = value(named(WORD, 'a group').read, ({ groups }) =>
  groups.length > 0 ? { enum: groups } : name(WORD),
)
export const each = <T>(item: Value<T>): Value<readonly T[]> =>
  value(
    (reader, doc, what, ...rest) =>
      readList(reader, doc, what)?.flatMap((one) => item.read(reader, one, what, ...rest) ?? []),
    (names) => list(resolve(item.schema, names)),
  )
/** A mapping inside. */
export const inside = <Entry, Around>(spec: Spec<Entry, Around>) => ({
  read(reader: Reader, doc: Doc, what: string, around: Around) {
    const map = readMap(reader, doc, what)
    return map && readSpec(reader, map, spec, around).entry
  },
  schema: (names: Names) => schemaOf(spec, names),
})
/** A mapping from names to values. Any name is right without a pattern. */
export const mapOf = <T, Around>(
  pattern: NamePattern | undefined,
  read: (reader: Reader, entry: DocEntry, around: Around) => T | undefined,
  of: Schema,
): Value<ReadonlyMap<string, T>, Around> => ({
  read(reader, doc, what, around) {
    const found = new Map<string, T>()
    for (const entry of readMap(reader, doc, what)?.entries ?? []) {
      if (pattern) checkName(reader, { mark: entry.keyMark }, entry.key, pattern)
      const one = read(reader, entry, around)
      if (one !== undefined) found.set(entry.key, one)
    }
    return found
  },
  schema: (names) => ({
    type: 'object',
    ...(pattern && { propertyNames: { pattern: pattern.pattern.source } }),
    additionalProperties: resolve(of, names),
  }),
})
