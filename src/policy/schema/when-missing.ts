import type { JsonValue } from '../../contract/json.ts'
import type { ToolContract } from '../language/snapshot.ts'
import { schemaDefaults } from './defaults.ts'
import { type Member, type MemberMeaning, memberName } from '../language/entries.ts'
import type { Test } from '../language/operators.ts'
import { asksNull } from '../language/test-parts.ts'
import { MISSING, walk, type Defaults, type Reading } from '../language/reading.ts'
import type { FieldIr, RuleFileIr } from '../language/rule.ts'

/**
 * The replacement for a missing field. If undefined, the field has no replacement, and every test of its value is
 * UNKNOWN.
 */
export type WhenMissing =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'value'; readonly value: JsonValue }
  | { readonly kind: 'defaults'; readonly defaults: Defaults }
  | undefined

/**
 * The value of a missing field under `missing_means: nothing`. Every test of this value is FALSE, and a limit on it
 * uses nothing.
 */
export const NOTHING = Symbol('nothing')

/**
 * Returns the replacement for a field of one tool and file: the file's `missing_means`, or else the contract's
 * defaults.
 */
export type WhenMissingOf = (field: FieldIr) => WhenMissing

export function createWhenMissing(
  { inputSchema }: Pick<ToolContract, 'inputSchema'>,
  { missingMeans }: Pick<RuleFileIr, 'missingMeans'>,
): WhenMissingOf {
  const means = new Map(missingMeans.map((one) => [one.field, one]))
  return ({ name, root, path }) => {
    const meaning = means.get(name)
    if (meaning)
      return meaning.value === undefined ? { kind: 'nothing' } : { kind: 'value', value: meaning.value }
    const defaults = root === 'payload' ? schemaDefaults(inputSchema, path) : undefined
    return defaults && { kind: 'defaults', defaults }
  }
}

/**
 * Returns the value of a missing field. `parent` is the value `depth` steps down the path; the next step is missing.
 */
export function valueWhenMissing(
  when: WhenMissing,
  { path }: FieldIr,
  parent: JsonValue,
  depth = 0,
): Reading | typeof NOTHING {
  if (when === undefined) return MISSING
  if (when.kind === 'nothing') return NOTHING
  return when.kind === 'value' ? when.value : walk(parent, path, when.defaults, depth)
}

/**
 * Returns the value of a null field. `missing_means` also replaces null, because agents send null for a missing field.
 */
export function valueWhenNull(when: WhenMissing, test: Test): JsonValue | typeof NOTHING {
  if (when === undefined || when.kind === 'defaults' || asksNull(test)) return null
  return when.kind === 'nothing' ? NOTHING : when.value
}

/** Returns the replacement for a missing member of an entry. `lists` are the paths of lists around the member's own. */
export function meaningOfMember(
  missing: WhenMissingOf,
  {
    field,
    lists,
    member,
  }: {
    readonly field: FieldIr
    readonly lists: readonly FieldIr['path'][]
    readonly member: Member<Test>
  },
): MemberMeaning | undefined {
  const name = [...lists, member.path].reduce(memberName, field.name)
  const before = [...field.path, ...lists.flatMap((path) => [0, ...path]), 0]
  const meaning = missing({ name, root: 'payload', path: [...before, ...member.path] })
  if (meaning === undefined) return undefined
  if (meaning.kind !== 'defaults') return { ...meaning, ofNull: !asksNull(member.test) }
  const defaults = meaning.defaults.slice(before.length)
  const given = defaults.map((value) => value !== undefined)
  return given.includes(true) ? { kind: 'defaults', defaults, given } : undefined
}
