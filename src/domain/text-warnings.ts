import { type JsonValue, pointerStep } from '../contract/json.ts'
import { deceptiveWords, inspectText, spelled, type TextWarning, WARNINGS } from './hidden-text.ts'
import { LONGEST_VALUE, mixesDirections } from './letter-order.ts'

/** A place in an agent's text that may deceive a reader, and its warnings. */
export interface PlaceWarning {
  /** The place: the name of a claim, `image 2`, or `payload` and a JSON Pointer (RFC 6901). */
  readonly place: string
  readonly kinds: TextWarning[]
  readonly message: string
  /** Words that look like other words, with their foreign letters as code points. */
  readonly words: string[]
}

export interface Placed {
  readonly place: string
  readonly text: string
  /** True for a value that made a rule fire. */
  readonly read?: boolean
  /** Present for the name of a member: whether a name beside it reads the same. */
  readonly alike?: boolean
}

/** Maximum number of places to list. Further places are combined into one entry. */
const PLACES = 100
const WORDS = 20

/** Returns the warnings of these texts, each place once. */
export function warningsOf(texts: Iterable<Placed>): PlaceWarning[] {
  const found = new Map<string, { kinds: Set<TextWarning>; words: Set<string> }>()
  for (const one of texts) {
    const { place, text } = one
    const warnings = kindsOf(one)
    if (warnings.length === 0) continue
    const here = found.size < PLACES || found.has(place) ? place : 'more places'
    const { kinds, words } = found.get(here) ?? { kinds: new Set(), words: new Set() }
    warnings.forEach((kind) => kinds.add(kind))
    if (words.size < WORDS) deceptiveWords(text, WORDS).forEach((word) => words.add(spelled(word)))
    found.set(here, { kinds, words })
  }
  return [...found].map(([place, { kinds, words }]) => ({
    place,
    kinds: [...kinds],
    message: [...kinds].map((kind) => WARNINGS[kind]).join(' '),
    words: [...words],
  }))
}

function kindsOf({ text, read, alike }: Placed): TextWarning[] {
  const kinds = [...inspectText(text).warnings]
  if (alike) kinds.push('names')
  // a tool reads another name, or none
  if (alike !== undefined && text !== text.trim()) kinds.push('space')
  // a reader of mail in Hebrew must not learn to ignore the warning
  if ((read || text.length <= LONGEST_VALUE) && mixesDirections(text)) kinds.push('order')
  return kinds
}

/** Yields every text of a JSON value, including member names, with its JSON Pointer. */
export function* textsIn(value: JsonValue, place: string): Generator<Placed> {
  if (typeof value === 'string') yield { place, text: value }
  if (typeof value !== 'object' || value === null) return
  const known = new Map<string, number>()
  const isObject = !Array.isArray(value)
  if (isObject) for (const name of Object.keys(value)) known.set(read(name), (known.get(read(name)) ?? 0) + 1)
  for (const [name, one] of Object.entries(value)) {
    const below = `${place}${pointerStep(name)}`
    if (isObject) yield { place: below, text: name, alike: (known.get(read(name)) ?? 0) > 1 }
    yield* textsIn(one as JsonValue, below)
  }
}

/** A name as people and many parsers read it. */
const read = (name: string): string => name.toLowerCase().replaceAll(/\s+/g, '')
