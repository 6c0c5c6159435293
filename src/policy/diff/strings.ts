import {
  type ListFunction,
  type FunctionName,
  givesEntries,
  givesList,
  isClauseFunction,
} from '../language/function-names.ts'
import { FUNCTIONS } from '../language/functions.ts'
import { inputsOf } from './inputs.ts'
import { globMachine, lengthMachine, type Machine } from './machines.ts'
import { patternMachine } from './pattern-machine.ts'
import { listsFor, type Found } from './lists.ts'
import { createPlace, type Looks, type Place } from './place.ts'
import { keyword, numberKeyword, type Part } from './subschema.ts'
import { textsOfLength } from './long-texts.ts'
import { linesOf } from './lines.ts'
import { entriesFor, queriesOf, statementsOf } from './statements.ts'
import { searchTexts } from './texts.ts'

/** Returns one string for each kind that the tests and the contracts distinguish. */
export function textsFor(place: Place, parts: readonly Part[]): Found<string> {
  const edges = edgesOf(parts)
  const raw = textsOf(place.looks, parts, edges)
  const results = [...place.functions].map(([fn, looks]) => resultsOf(place, fn, looks))
  const inputs = [...place.functions.keys()].flatMap((fn, i) =>
    inputsOf(fn, results[i]?.values ?? [], raw.values),
  )
  return {
    values: [
      ...new Set([
        ...raw.values,
        ...inputs,
        ...combinedQueries(place),
        ...FORMAT_SAMPLES,
        ...stretched(inputs, edges),
        ...place.looks.texts,
      ]),
    ],
    exact: [raw, ...results].every(({ exact }) => exact) && (edges.length === 0 || inputs.length === 0),
  }
}

/** Returns the shortest length in every range of lengths that two differing contracts may treat differently. */
function edgesOf(parts: readonly Part[]): readonly number[] {
  if (parts.length < 2) return []
  const starts = parts.flatMap((part) => [
    ...numberKeyword(part, 'minLength'),
    ...numberKeyword(part, 'maxLength').map((most) => most + 1),
  ])
  const fits = (length: number): boolean =>
    parts.some((part) => numberKeyword(part, 'maxLength').every((most) => length <= most))
  return [...new Set(starts.map(Math.floor))].filter((length) => length > 0 && fits(length))
}

/** Lengthens function inputs to each edge, because no automaton relates a function to the length of its input. */
function stretched(texts: readonly string[], edges: readonly number[]): readonly string[] {
  return edges.flatMap((edge) =>
    texts.flatMap((text) => {
      const more = 'x'.repeat(Math.max(0, Math.min(edge, MAX_EDGE_LENGTH) - text.length))
      return more === ''
        ? []
        : [text + more, more + text, `${text} ${more.slice(1)}`, `${text}/${more.slice(1)}`]
    }),
  )
}

const MAX_EDGE_LENGTH = 50_000

/** Sample strings that fit a format in contracts. */
export const FORMAT_SAMPLES = ['a@example.com', 'https://example.com/', '2027-01-31', '2027-01-31T12:00:00Z']

/** The maximum length of a string that is built character by character. */
const MAX_COUNTED_LENGTH = 8

function textsOf(looks: Looks, parts: readonly Part[], edges: readonly number[]): Found<string> {
  const patterns = [...looks.patterns, ...parts.flatMap((part) => textKeyword(part, 'pattern'))]
  const least = Math.max(1, ...parts.flatMap((part) => numberKeyword(part, 'minLength')))
  const counted = Math.min(least, MAX_COUNTED_LENGTH)
  const found = search(looks, patterns, { more: [lengthMachine(counted)], edges })
  const formats = parts.flatMap((part) => textKeyword(part, 'format'))
  const shaped = formats.flatMap((format) =>
    found.values.slice(0, MAX_SHAPED).flatMap(SHAPES[format] ?? (() => [])),
  )
  const longer = least > counted ? found.values.map((text) => text.padEnd(least, 'x')) : []
  // No automaton covers formats or a long minimum length.
  const followed = formats.length === 0 && least === counted
  const asked = looks.globs.length > 0 || looks.patterns.size > 0
  return { values: [...found.values, ...shaped, ...longer], exact: found.exact && (followed || !asked) }
}

const MAX_SHAPED = 200

/** Functions that return strings of a format that contain a given string. */
const SHAPES: Readonly<Record<string, ((text: string) => readonly string[]) | undefined>> = {
  email: (text) => [`a${text}`, `${text}@example.com`, `a@${text}`],
  uri: (text) => [`https://${text}/`, `https://example.com/${text}`],
}

interface Wanted {
  readonly more: readonly Machine[]
  /** Lengths that the strings must also cover. */
  readonly edges?: readonly number[]
}

function search({ globs }: Looks, patterns: readonly string[], { more, edges = [] }: Wanted): Found<string> {
  const machines = [...new Set(patterns)].map(patternMachine)
  const known = machines.filter((machine) => machine !== undefined)
  const all = [globMachine(globs), ...known]
  const found = [searchTexts([...all, ...more]), ...edges.map((length) => textsOfLength(all, length))]
  return {
    values: found.flatMap(({ texts }) => texts),
    exact: found.every(({ complete }) => complete) && known.length === machines.length,
  }
}

/** Returns one result of the function for each kind that the tests distinguish. */
function resultsOf(place: Place, fn: FunctionName, looks: Looks): Found<string> {
  // The clauses of a statement, its tables and its functions combine in more ways than the examples have.
  if (isClauseFunction(fn)) return { values: [], exact: false }
  if (givesEntries(fn)) return { values: linesOf(looks.members), exact: false }
  const language = patternMachine(FUNCTIONS[fn].pattern)
  if (language === undefined) return { values: [], exact: false }
  if (givesList(fn)) {
    const { values, exact } = entryLists(place, fn)
    const items = entriesAsked(place, fn)
    const statements = values.flatMap((list) => statementsOf(fn, list, items))
    return { values: statements, exact: exact && fn !== 'sql_tables' }
  }
  const found = search(looks, [...looks.patterns], { more: [language] })
  return { ...found, values: [...new Set([...found.values, ...looks.texts])] }
}

/** Returns lists of entries that together produce every set of entries that the tests distinguish. */
function entryLists(place: Place, fn: ListFunction): Found<readonly string[]> {
  const looks = place.functions.get(fn)
  const language = patternMachine(FUNCTIONS[fn].pattern)
  if (looks === undefined || language === undefined) return { values: [[]], exact: false }
  const entries = search(looks, [...looks.patterns], { more: [language] })
  const elements = { values: entriesFor(fn, entries.values), exact: entries.exact }
  const items = entriesAsked(place, fn)
  const { values, exact } = listsFor({ items, elements, fixed: [], lengths: around(looks.counts) })
  return { values: values.filter((list) => Array.isArray(list)) as readonly (readonly string[])[], exact }
}

/**
 * Returns the place of the function's entries. For a plain string, `items` contains the tests of its entries. For a
 * string in a list, the string's own place contains these tests.
 */
function entriesAsked(place: Place, fn: ListFunction): Place {
  const items = createPlace()
  const asked = [...(place.items?.tests ?? []), ...place.tests].filter((one) => one.each && one.fn === fn)
  for (const { test } of asked) items.tests.push({ fn: undefined, test, each: true })
  return items
}

/** Returns queries that combine the functions, tables and clauses that tests ask of one text. */
function combinedQueries(place: Place): readonly string[] {
  const lists = (['sql_functions', 'sql_tables'] as const).filter((fn) => place.functions.has(fn))
  const clauses = [...place.functions.keys()].some(isClauseFunction)
  if (lists.length + Number(clauses) < 2) return []
  return queriesOf(entryLists(place, 'sql_functions').values, entryLists(place, 'sql_tables').values)
}

/** Returns the counts and the adjacent numbers on both sides, sorted. */
export function around(counts: ReadonlySet<number>): readonly number[] {
  const near = [...counts].flatMap((count) => [
    Math.ceil(count) - 1,
    Math.floor(count),
    Math.floor(count) + 1,
  ])
  return [...new Set(near)].filter((length) => length >= 0).sort((a, b) => a - b)
}

function textKeyword(part: Part, name: string): readonly string[] {
  const value = keyword(part, name)
  return typeof value === 'string' ? [value] : []
}
