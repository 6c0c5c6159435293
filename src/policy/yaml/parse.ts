import type { JsonValue } from '../../contract/json.ts'
import { MOST_MARKS, toNfc } from '../../domain/normal-form.ts'
import {
  Composer,
  isMap,
  isScalar,
  isSeq,
  Parser,
  type CST,
  type Document,
  type Node,
  type Pair,
  type ParsedNode,
  type Scalar,
  type YAMLError,
} from 'yaml'
import { MAX_YAML_DEPTH } from '../text/bounds.ts'
import type { Doc, DocEntry } from './doc.ts'
import { warnOfLookAlikes } from './look-alikes.ts'
import type { Findings, Mark, Source } from './source.ts'
import { scanTokens } from './scan.ts'
import { findHidden, nameOf } from '../text/text.ts'

export type { Doc, DocBoolean, DocEntry, DocList, DocMap, DocNull, DocNumber, DocText } from './doc.ts'

interface Reading {
  readonly source: Source
  readonly findings: Findings
}

export const PARSE_OPTIONS = {
  version: '1.2',
  schema: 'core',
  strict: true,
  merge: false,
  logLevel: 'silent',
  prettyErrors: false,
  // The library's check takes quadratic time; readEntries finds duplicate keys in linear time.
  uniqueKeys: false,
} as const

/**
 * Reads one YAML (or JSON) file. Warnings from the YAML parser count as errors. Returns undefined when the text cannot
 * be used at all.
 */
export function parseSource(source: Source, findings: Findings): Doc | undefined {
  const doc = readDocument(source, findings)
  if (doc) warnOfLookAlikes(doc, source, findings)
  return doc
}

function readDocument(source: Source, findings: Findings): Doc | undefined {
  const lexemes = scanTokens(source, findings)
  const tokens = lexemes && parseTokens({ source, findings }, lexemes)
  const document = tokens && composeDocument(tokens, source.text.length)
  if (!document) return undefined
  for (const problem of causesOf([...document.errors, ...document.warnings])) {
    const mark = { start: problem.pos[0], end: Math.max(problem.pos[1], problem.pos[0] + 1) }
    findings.add('yaml-syntax', { source, mark }, sentence(problem.message))
  }
  if (document.errors.length > 0 || document.warnings.length > 0) return undefined
  const root = document.contents
  if (root === null || (isScalar(root) && root.value === null)) {
    findings.add('empty-file', { source, mark: { start: 0, end: 1 } }, 'the file says nothing')
    return undefined
  }
  return readNode({ source, findings }, root)
}

/** Problems up to the first tab: the tabs of later lines have the same cause, and make the structure unreadable. */
function causesOf(problems: readonly YAMLError[]): readonly YAMLError[] {
  const tab = problems.findIndex(({ code }) => code === 'TAB_AS_INDENT')
  return tab === -1 ? problems : problems.slice(0, tab + 1)
}

/** Composes a document as the library's `parseDocument` does, without reading the text again. */
function composeDocument(tokens: readonly CST.Token[], length: number): Document.Parsed | undefined {
  // Composes all tokens, because text after the document may be erroneous.
  const documents = [...new Composer(PARSE_OPTIONS).compose(tokens, true, length)]
  return documents[0]
}

/**
 * The maximum number of open nodes in the parser. The scan counts collections at the same column once, such as a list
 * below its key.
 */
const MAX_OPEN = 2 * MAX_YAML_DEPTH + 4

/**
 * Parses tokens, and limits the number of open nodes. The scan measures depth by columns and brackets. For invalid
 * YAML, the parser may open more nodes (`: : :` is a map in a map), and closing or composing them uses stack space.
 */
function parseTokens({ source, findings }: Reading, lexemes: readonly string[]): CST.Token[] | undefined {
  const parser = new Parser()
  const tokens: CST.Token[] = []
  for (const lexeme of lexemes) {
    const start = parser.offset
    tokens.push(...parser.next(lexeme))
    if (parser.stack.length <= MAX_OPEN) continue
    const mark = { start, end: start + 1 }
    findings.add('yaml-depth', { source, mark }, `the nesting is deeper than ${MAX_YAML_DEPTH}`)
    return undefined
  }
  tokens.push(...parser.end())
  return tokens
}

/** @param at position of an absent value, as in `{ allow }` */
function readNode(reading: Reading, node: Node | null, at?: Mark): Doc {
  const mark = node === null && at ? at : markOf(node)
  if (isMap(node))
    return { kind: 'map', entries: readEntries(reading, node.items as Pair<ParsedNode, ParsedNode>[]), mark }
  if (isSeq(node))
    return { kind: 'list', items: node.items.map((item) => readNode(reading, item as Node)), mark }
  if (isScalar(node)) return readScalar(reading, node, mark)
  return { kind: 'null', mark }
}

function readEntries(reading: Reading, pairs: readonly Pair<ParsedNode, ParsedNode | null>[]): DocEntry[] {
  const seen = new Set<string>()
  const entries: DocEntry[] = []
  for (const { key, value } of pairs) {
    const keyMark = markOf(key)
    const place = { source: reading.source, mark: keyMark }
    if (!isScalar(key) || typeof key.value !== 'string') {
      reading.findings.add('key-not-text', place, 'a key must be text', 'put it in quotes')
      continue
    }
    if (key.value === '__proto__') {
      reading.findings.add('bad-value', place, '`__proto__` is not a name a policy may use')
      continue
    }
    checkText(reading, key.value, keyMark)
    if (seen.has(key.value)) reading.findings.add('duplicate-key', place, `\`${key.value}\` is given twice`)
    seen.add(key.value)
    entries.push({ key: key.value, keyMark, value: readNode(reading, value, keyMark) })
  }
  return entries
}

function readScalar(reading: Reading, node: Scalar, mark: Mark): Doc {
  const { value } = node
  if (typeof value === 'string') {
    checkText(reading, value, mark)
    return { kind: 'text', value, mark }
  }
  if (typeof value === 'number') {
    checkNumber(reading, value, node.source ?? '', mark)
    return { kind: 'number', value, mark }
  }
  if (typeof value === 'boolean') return { kind: 'boolean', value, mark }
  return { kind: 'null', mark }
}

/** Checks a string after decoding its escapes (`"\u202e"`), which the scan of the raw text does not decode. */
function checkText({ source, findings }: Reading, text: string, mark: Mark): void {
  const at = findHidden(text)
  if (at >= 0)
    findings.add('hidden-character', { source, mark }, `hidden character ${nameOf(text, at)} in text`)
  const normal = toNfc(text)
  if (normal === undefined) {
    findings.add('not-nfc', { source, mark }, `the text has more than ${MOST_MARKS} combining marks in a row`)
  } else if (normal !== text) {
    findings.add(
      'not-nfc',
      { source, mark },
      'the text is not in Unicode normal form NFC',
      'compare would miss its usual spelling; retype it',
    )
  }
}

function checkNumber({ source, findings }: Reading, value: number, written: string, mark: Mark): void {
  const place = { source, mark }
  if (!Number.isFinite(value)) findings.add('unsafe-number', place, `\`${written}\` is not a finite number`)
  else if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    findings.add('unsafe-number', place, `\`${written}\` is beyond 2^53-1 and may have been rounded`)
  } else if (/^[-+]?0[0-9xob]/i.test(written)) {
    findings.add(
      'unsafe-number',
      place,
      `\`${written}\` can be read in two ways`,
      'write a decimal number, or put text in quotes',
    )
  }
}

function markOf(node: unknown): Mark {
  const range = (node as { range?: readonly [number, number, number] | null } | null)?.range
  return range ? { start: range[0], end: Math.max(range[1], range[0] + 1) } : { start: 0, end: 1 }
}

/** Returns the parser's message as one lower-case sentence, without its excerpt. */
function sentence(message: string): string {
  const first = message.split('\n')[0] ?? message
  return (first.charAt(0).toLowerCase() + first.slice(1)).replace(/:$/, '')
}

export function toJson(doc: Doc): JsonValue {
  switch (doc.kind) {
    case 'null':
      return null
    case 'list':
      return doc.items.map(toJson)
    case 'map':
      return Object.fromEntries(doc.entries.map((entry) => [entry.key, toJson(entry.value)]))
    case 'text':
    case 'number':
    case 'boolean':
      return doc.value
  }
}
