import { RISKS, type Risk } from '../../domain/decision.ts'
import { MAX_DURATION_MS } from '../text/bounds.ts'
import { didYouMean } from '../text/nearest.ts'
import type { DiagnosticCode } from '../report/diagnostics.ts'
import type { Doc, DocEntry, DocMap } from './parse.ts'
import type { Findings, Mark, Source } from './source.ts'
import { DAY_MS, parseDuration, showForeign } from '../text/text.ts'

/** Collects the findings about one file. `report`, and every `read...` below after a finding, returns undefined. */
export interface Reader {
  readonly source: Source
  readonly findings: Findings
  report(code: DiagnosticCode, at: { readonly mark: Mark }, message: string, hint?: string): undefined
}

export function createReader(source: Source, findings: Findings): Reader {
  return {
    source,
    findings,
    report(code, { mark }, message, hint) {
      findings.add(code, { source, mark }, message, hint)
      return undefined
    },
  }
}

const KIND_NAMES: Readonly<Record<Doc['kind'], string>> = {
  text: 'text',
  number: 'a number',
  boolean: 'true or false',
  null: 'nothing',
  list: 'a list',
  map: 'a mapping',
}

export function wrongType(reader: Reader, doc: Doc, what: string, wanted: string): undefined {
  const hint =
    wanted === 'text' && (doc.kind === 'number' || doc.kind === 'boolean') ? 'put it in quotes' : undefined
  reader.report('wrong-type', doc, `${what} must be ${wanted}, found ${KIND_NAMES[doc.kind]}`, hint)
}

export function readMap(reader: Reader, doc: Doc, what: string): DocMap | undefined {
  return doc.kind === 'map' ? doc : wrongType(reader, doc, what, 'a mapping')
}

export function readList(reader: Reader, doc: Doc, what: string): readonly Doc[] | undefined {
  return doc.kind === 'list' ? doc.items : wrongType(reader, doc, what, 'a list')
}

export function readText(reader: Reader, doc: Doc, what: string): string | undefined {
  if (doc.kind !== 'text') return wrongType(reader, doc, what, 'text')
  if (doc.value.trim() === '') return reader.report('bad-value', doc, `${what} must not be empty`)
  return doc.value
}

export function readBoolean(reader: Reader, doc: Doc, what: string): boolean | undefined {
  return doc.kind === 'boolean' ? doc.value : wrongType(reader, doc, what, 'true or false')
}

export function readTexts(reader: Reader, doc: Doc, what: string): readonly string[] | undefined {
  const items = readList(reader, doc, what)
  return items?.flatMap((item) => readText(reader, item, `each entry of ${what}`) ?? [])
}

/** Reads a whole number from 1 to `max`. */
export function readCount(reader: Reader, doc: Doc, what: string, max: number): number | undefined {
  if (doc.kind !== 'number') return wrongType(reader, doc, what, 'a whole number')
  if (Number.isInteger(doc.value) && doc.value >= 1 && doc.value <= max) return doc.value
  return reader.report('bad-value', doc, `${what} must be a whole number from 1 to ${max}`)
}

/** Reads a DURATION as ms, at most 31 days unless `mostMs` is given. */
export function readDuration(
  reader: Reader,
  doc: Doc,
  what: string,
  mostMs = MAX_DURATION_MS,
): number | undefined {
  const text = readText(reader, doc, what)
  if (text === undefined) return undefined
  const ms = parseDuration(text)
  if (ms !== undefined && ms <= mostMs) return ms
  const hint = `write digits and s, m, h or d, such as \`30m\`, at most ${mostMs / DAY_MS} days`
  return reader.report('bad-value', doc, `\`${text}\` is not a duration`, hint)
}

export function readOneOf<T extends string>(
  reader: Reader,
  doc: Doc,
  what: string,
  allowed: readonly T[],
): T | undefined {
  const text = readText(reader, doc, what)
  if (text === undefined) return undefined
  const found = allowed.find((one) => one === text)
  if (found !== undefined) return found
  const hint = didYouMean(text, allowed) ?? `one of ${allowed.join(', ')}`
  return reader.report('bad-value', doc, `\`${text}\` is not a value for ${what}`, hint)
}

export function readRisk(reader: Reader, doc: Doc): Risk | undefined {
  return readOneOf(reader, doc, 'a risk', RISKS)
}

/** Reads a string that matches a name pattern. */
export function readName(reader: Reader, doc: Doc, what: string, name: NamePattern): string | undefined {
  const text = readText(reader, doc, what)
  return text === undefined || checkName(reader, doc, text, name) ? text : undefined
}

export function checkName(
  reader: Reader,
  at: { readonly mark: Mark },
  text: string,
  name: NamePattern,
): boolean {
  if (name.pattern.test(text)) return true
  reader.report('bad-value', at, `\`${showForeign(text)}\` is not a ${name.what}`, name.hint)
  return false
}

export interface NamePattern {
  readonly what: string
  readonly pattern: RegExp
  readonly hint: string
}

export const TENANT_NAME: NamePattern = {
  what: 'tenant name',
  pattern: /^[a-z0-9-]{1,32}$/,
  hint: 'use 1 to 32 of a-z, 0-9 and -',
}
export const PERSON_NAME: NamePattern = {
  what: 'valid id',
  pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  hint: 'use up to 64 of letters, digits, `.`, `_` and `-`, a letter or digit first',
}
export const TOOL_NAME: NamePattern = {
  what: 'tool name',
  pattern: /^(?:[A-Za-z0-9][A-Za-z0-9_.:/-]{0,126}[A-Za-z0-9]|[A-Za-z0-9])$/,
  hint: 'use up to 128 of letters, digits and `_.:/-`, a letter or digit first and last',
}
export const RULE_ID: NamePattern = {
  what: 'rule id',
  pattern: /^[a-z0-9]+(?:-[a-z0-9]+)*$/,
  hint: 'use kebab-case, such as `refund-small`',
}
export const WORD: NamePattern = {
  what: 'valid name',
  pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  hint: 'use up to 64 of letters, digits, `.`, `_` and `-`',
}
/** A glob over tool names. */
export const TOOL_GLOB: NamePattern = {
  what: 'tool name or glob',
  pattern: /^[A-Za-z0-9_.:/*-]{1,128}$/,
  hint: 'use a tool name in which `*` stands for any characters',
}

/** Returns the entries by key. Reports each unknown key with the nearest known key. */
export function readKeys<K extends string>(
  reader: Reader,
  map: DocMap,
  keys: {
    readonly required?: readonly K[]
    readonly optional?: readonly K[]
    readonly what: string
    /** Hints for keys that authors write by mistake. */
    readonly hints?: Readonly<Record<string, string>>
  },
): Readonly<Partial<Record<K, Doc>>> {
  const known = [...(keys.required ?? []), ...(keys.optional ?? [])]
  const found: Partial<Record<K, Doc>> = {}
  for (const entry of map.entries) {
    const key = known.find((one) => one === entry.key)
    if (key === undefined) reportUnknownKey(reader, entry, keys, known)
    else found[key] = entry.value
  }
  for (const key of keys.required ?? []) {
    if (found[key] === undefined) reader.report('missing-key', map, `${keys.what} needs \`${key}:\``)
  }
  return found
}

function reportUnknownKey(
  reader: Reader,
  entry: DocEntry,
  { what, hints = {} }: { readonly what: string; readonly hints?: Readonly<Record<string, string>> },
  known: readonly string[],
): void {
  const own = Object.hasOwn(hints, entry.key) ? hints[entry.key] : undefined
  const hint = own ?? didYouMean(entry.key, known) ?? `${what} may have ${known.join(', ')}`
  reader.report(
    'unknown-key',
    { mark: entry.keyMark },
    `unknown key \`${showForeign(entry.key)}\` in ${what}`,
    hint,
  )
}

/** Reads a part if it is present. */
export function given<T>(doc: Doc | undefined, read: (doc: Doc) => T | undefined): T | undefined {
  return doc === undefined ? undefined : read(doc)
}
