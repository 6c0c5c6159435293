import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import type { CompiledTest } from './compiled-test.ts'
import { type FunctionName, functionText } from './function-names.ts'
import { applyFunction } from './functions.ts'
import { payloadName } from './payload-path.ts'
import { MISSING, walk, type Defaults } from './reading.ts'
import type { Tree } from './tree.ts'
import { allOf, anyOf, FALSE, not, UNKNOWN, type Truth } from './truth.ts'

/** A match about one entry of a list. Its fields begin with a dot: `.sku`. `T` is the type of a test. */
export type EntryMatch<T> = Tree<Member<T>>

/** A test of one member of an entry. */
export interface Member<T> {
  readonly kind: 'leaf'
  readonly path: readonly (string | number)[]
  readonly fn?: FunctionName | undefined
  readonly test: T
  /** The replacement of a missing member, for the contract and the rule file of a program. */
  readonly whenMissing?: MemberMeaning | undefined
}

/** `ofNull` is true when `missing_means` also replaces null. `given` tells a default of null from no default. */
export type MemberMeaning =
  | { readonly kind: 'nothing'; readonly ofNull: boolean }
  | { readonly kind: 'value'; readonly ofNull: boolean; readonly value: JsonValue }
  | { readonly kind: 'defaults'; readonly defaults: Defaults; readonly given: readonly boolean[] }

/** Returns the field of an entry as a policy author writes it. */
export function memberText({ path, fn }: Pick<Member<unknown>, 'path' | 'fn'>): string {
  const steps = payloadName(path).slice('payload'.length)
  const name = steps.startsWith('.') ? steps : `.${steps}`
  return fn === undefined ? name : functionText(fn, name)
}

/** Returns the name of a member of every entry, which `missing_means` uses: `payload.lines[].sku`. */
export function memberName(list: string, path: readonly (string | number)[]): string {
  return `${list}[]${payloadName(path).slice('payload'.length)}`
}

/** Compiles a match. UNKNOWN for an entry that is not an object. */
export function compileEntry<T>(node: EntryMatch<T>, compile: (test: T) => CompiledTest): CompiledTest {
  const ask = compileNode(node, compile)
  return (value) => (isObject(value) ? ask(value) : UNKNOWN)
}

type AskEntry = (entry: JsonObject) => Truth

const askOne = (ask: AskEntry, entry: JsonObject): Truth => ask(entry)

function compileNode<T>(node: EntryMatch<T>, compile: (test: T) => CompiledTest): AskEntry {
  if (node.kind === 'leaf') return compileMember(node, compile(node.test))
  if (node.kind === 'not') {
    const inner = compileNode(node.item, compile)
    return (entry) => not(inner(entry))
  }
  const asks = node.items.map((item) => compileNode(item, compile))
  const join = node.kind === 'all' ? allOf : anyOf
  return (entry) => join(asks, askOne, entry)
}

/** Compiles the test of one member. The result is FALSE for a missing member that means `nothing`. */
export function compileMember<T>({ path, fn, whenMissing }: Member<T>, check: CompiledTest): AskEntry {
  const defaults = whenMissing?.kind === 'defaults' ? whenMissing.defaults : undefined
  const meaning = whenMissing?.kind === 'defaults' ? undefined : whenMissing
  return (entry) => {
    let value = walk(entry, path, defaults)
    if (meaning !== undefined && (value === MISSING || (value === null && meaning.ofNull))) {
      if (meaning.kind === 'nothing') return FALSE
      value = meaning.value
    }
    return check(fn === undefined ? value : applyFunction(fn, value))
  }
}

/** Describes a match in words: `(.sku starts_with X- and .cents over 10000)`. */
export function describeEntry<T>(node: EntryMatch<T>, describe: (test: T) => string): string {
  if (node.kind === 'leaf') return `${memberText(node)} ${describe(node.test)}`
  if (node.kind === 'not') return `not ${inBrackets(describeEntry(node.item, describe))}`
  const parts = node.items.map((item) =>
    item.kind === 'leaf' || item.kind === 'not'
      ? describeEntry(item, describe)
      : inBrackets(describeEntry(item, describe)),
  )
  return parts.join(node.kind === 'all' ? ' and ' : ' or ')
}

const inBrackets = (text: string): string => `(${text})`
