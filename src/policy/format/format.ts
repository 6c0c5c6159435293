import { isMap, isScalar, isSeq, parseDocument, type Node, type YAMLMap, type YAMLSeq } from 'yaml'
import { type JsonValue, isObject } from '../../contract/json.ts'
import type { BundleText } from '../bundle/check.ts'
import type { Diagnostic } from '../report/diagnostics.ts'
import { orderInside, orderOf, type KeyOrder } from './format-order.ts'
import { PARSE_OPTIONS, parseSource, toJson } from '../yaml/parse.ts'
import { createFindings, createSource } from '../yaml/source.ts'

export type FormatResult =
  | { readonly ok: true; readonly text: string }
  /** The file does not parse, so it remains unchanged. */
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

/**
 * Formats a file of a bundle: orders keys by the grammar, strips trailing blanks, and ends with one line feed. Only
 * whole entries move, with the comments above and after them. Everything else is unchanged, including alignment and
 * quotes.
 */
export function formatFile({ path, text }: BundleText): FormatResult {
  if (path.startsWith('lists/')) return { ok: true, text }
  const meaning = meaningOf(path, text)
  if (!meaning.ok) return meaning
  const lines = `${text.replaceAll('\r\n', '\n').trimEnd()}\n`
  // Blanks can be part of a multi-line string. A candidate that changes the meaning is dropped.
  for (const from of [lines.replaceAll(/[ \t]+$/gm, ''), lines]) {
    const candidate = orderKeys(from, orderOf(path))
    const found = meaningOf(path, candidate)
    if (found.ok && sameMeaning(found.value, meaning.value)) return { ok: true, text: candidate }
  }
  return { ok: true, text }
}

function meaningOf(
  path: string,
  text: string,
):
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] } {
  const findings = createFindings()
  const doc = parseSource(createSource(path, text), findings)
  return doc && !findings.failed
    ? { ok: true, value: toJson(doc) }
    : { ok: false, diagnostics: findings.sorted() }
}

/** Returns true when the values are equal except for the order of keys. */
function sameMeaning(a: JsonValue, b: JsonValue): boolean {
  return sorted(a) === sorted(b)
}

function sorted(value: JsonValue): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

function orderKeys(text: string, order: KeyOrder): string {
  const { contents } = parseDocument(text, PARSE_OPTIONS)
  return contents === null ? text : render(text, contents, { start: 0, end: text.length, order })
}

/** A part of the text, and the key order that applies to it. */
interface Region {
  readonly start: number
  readonly end: number
  readonly order: KeyOrder | undefined
}

/** Formats a region that contains one node. */
function render(text: string, node: Node, region: Region): string {
  const { start, end, order } = region
  if (order === undefined) return text.slice(start, end)
  if (isSeq(node)) return renderList(text, node, region)
  if (!isMap(node)) return text.slice(start, end)
  return node.flow === true ? renderFlow(text, node, region) : renderBlock(text, node, region)
}

/** Formats a list, whose entries keep their places. */
function renderList(text: string, list: YAMLSeq, { start, end, order }: Region): string {
  let at = start
  let result = ''
  list.items.forEach((item, index) => {
    const next = list.items[index + 1]
    const stop = next === undefined ? end : list.flow === true ? endOf(item) : lineStart(text, startOf(next))
    result +=
      text.slice(at, startOf(item)) + render(text, item as Node, { start: startOf(item), end: stop, order })
    at = stop
  })
  return result + text.slice(at, end)
}

interface Entry {
  readonly key: string
  readonly text: string
}

/**
 * Orders entries between the commas. With a comment inside, the entries keep their order, because the comment's entry
 * is unclear.
 */
function renderFlow(text: string, map: YAMLMap, { start, end, order }: Region): string {
  const places = map.items.map(({ key, value }) => ({ start: startOf(key), end: endOf(value ?? key) }))
  const entries = map.items.map(({ key, value }, index): Entry => {
    const place = places[index] as Region
    return { key: keyOf(key), text: renderEntry(text, { key, value, ...place }, order) }
  })
  const gaps = places.map((place, index) =>
    text.slice(index === 0 ? start : (places[index - 1]?.end ?? start), place.start),
  )
  const rest = text.slice(places.at(-1)?.end ?? start, end)
  const commented = [...gaps.slice(1), rest.slice(0, rest.indexOf('}'))].some((gap) => gap.includes('#'))
  const moved = commented ? entries : inOrder(entries, order)
  return gaps.map((gap, index) => gap + (moved[index]?.text ?? '')).join('') + rest
}

/** Orders entries, which are groups of lines. Comment lines move with the key below them. */
function renderBlock(text: string, map: YAMLMap, { start, end, order }: Region): string {
  const top = startOf(map.items[0]?.key)
  const column = top - lineStart(text, top)
  const starts = map.items.map(({ key }, index) =>
    index === 0 ? startOf(key) : leadStart(text, startOf(key), column),
  )
  const tail = tailStart(text, map, end)
  const entries = map.items.map(({ key, value }, index): Entry => {
    const region = { start: starts[index] ?? start, end: starts[index + 1] ?? tail }
    const rendered = renderEntry(text, { key, value, ...region }, order)
    // The first entry may follow a dash, so its indentation is added here to match the others.
    return { key: keyOf(key), text: index === 0 ? ' '.repeat(column) + rendered : rendered }
  })
  const moved = inOrder(entries, order).map((entry) => entry.text)
  const first = starts[0] ?? start
  const head = text.slice(start, first)
  const body = moved
    .join('')
    .replace(/^\n+/, '')
    .slice(moved === undefined ? 0 : column)
  return head + body + text.slice(tail, end)
}

interface EntryRegion {
  readonly key: unknown
  readonly value: unknown
  readonly start: number
  readonly end: number
}

function renderEntry(
  text: string,
  { key, value, start, end }: EntryRegion,
  order: KeyOrder | undefined,
): string {
  const inner = order && orderInside(order, keyOf(key))
  if (!inner || !(isMap(value) || isSeq(value))) return text.slice(start, end)
  return text.slice(start, startOf(value)) + render(text, value, { start: startOf(value), end, order: inner })
}

function inOrder(entries: readonly Entry[], order: KeyOrder | undefined): readonly Entry[] {
  const known = order?.keys ?? []
  const place = ({ key }: Entry): number => (known.includes(key) ? known.indexOf(key) : known.length)
  return entries.toSorted((a, b) => place(a) - place(b))
}

function keyOf(key: unknown): string {
  return isScalar(key) ? String(key.value) : ''
}

function startOf(node: unknown): number {
  return (node as { readonly range?: readonly [number, number, number] | null } | null)?.range?.[0] ?? 0
}

function endOf(node: unknown): number {
  return (node as { readonly range?: readonly [number, number, number] | null } | null)?.range?.[1] ?? 0
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

/** Returns the start of the blank lines and comment lines above a key, at the key's own column. */
function leadStart(text: string, key: number, column: number): number {
  let at = lineStart(text, key)
  while (at > 0) {
    const above = lineStart(text, at - 1)
    const line = text.slice(above, at - 1)
    if (line.trim() !== '' && line.search(/\S/) !== column) break
    if (line.trim() !== '' && !line.trimStart().startsWith('#')) break
    at = above
  }
  return at
}

/** Returns the end of the last entry. Comments and blank lines below the last entry stay at the end of the mapping. */
function tailStart(text: string, map: YAMLMap, end: number): number {
  const last = map.items.at(-1)
  const close = endOf(last?.value ?? last?.key)
  const lineEnd = text.indexOf('\n', Math.max(close - 1, 0)) + 1
  return Math.min(lineEnd === 0 ? end : lineEnd, end)
}
