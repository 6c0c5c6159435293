import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { escapePointer, isObject, type ImportNote } from './schema.ts'

/**
 * Reads a file beside the document, by its path from the document's directory. Undefined when it cannot, or may not: nothing outside that directory, and nothing
 * over the network.
 */
export type LoadFile = (path: string) => JsonValue | undefined

/** Where the other files stand in the document that has all of them. */
const FILES = 'x-countersign-files'
/** Nobody reads more files than that, and a description that leads on for ever ends. */
const MOST_FILES = 20_000
/** What is data, and no part of the description, unless it is the name of something that is described. */
const DATA = ['example', 'examples', 'default', 'enum', 'const', 'value']
const NAMING = ['properties', 'patternProperties', '$defs', 'definitions', 'schemas', 'parameters', 'paths']

interface Bundling {
  readonly load: LoadFile
  readonly notes: ImportNote[]
  readonly files: Map<string, JsonValue>
  readonly queue: string[]
}

/** The document with all files that it refers to, directly or not, inside it; references lead to them there. */
export function withReferredFiles(document: JsonObject, load: LoadFile, notes: ImportNote[]): JsonObject {
  const bundling: Bundling = { load, notes, files: new Map(), queue: [] }
  const own = rewritten(bundling, document, { file: '', key: '', within: '' }) as JsonObject
  if (bundling.queue.length === 0) return document
  for (const path of bundling.queue) {
    const loaded = bundling.files.size > MOST_FILES ? undefined : load(path)
    if (loaded !== undefined)
      bundling.files.set(path, rewritten(bundling, loaded, { file: path, key: '', within: '' }))
  }
  const found = [...bundling.files].filter(([, value]) => value !== UNREAD)
  return { ...own, [FILES]: Object.fromEntries(found) }
}

const UNREAD = null

interface Here {
  readonly file: string
  /** Under which key it is, and under which that is. */
  readonly key: string
  readonly within: string
}

function rewritten(bundling: Bundling, value: JsonValue, { file, key, within }: Here): JsonValue {
  if (DATA.includes(key) && !NAMING.includes(within)) return value
  if (Array.isArray(value))
    return (value as readonly JsonValue[]).map((one) =>
      rewritten(bundling, one, { file, key: '', within: key }),
    )
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([name, one]): [string, JsonValue] => {
    if (name === '$ref' && typeof one === 'string') return [name, referenceTo(bundling, one, file)]
    return [name, rewritten(bundling, one, { file, key: name, within: key })]
  })
  return Object.fromEntries(entries)
}

/** As it is where it leads to no file: then it is said where it is followed. */
function referenceTo(bundling: Bundling, ref: string, file: string): string {
  const [target = '', ...fragments] = ref.split('#')
  const fragment = fragments.join('#')
  if (target === '') return file === '' ? ref : placeOf(file, fragment)
  const path = pathTo(target, file)
  if (path === undefined) return ref
  if (!bundling.files.has(path)) {
    bundling.files.set(path, UNREAD)
    bundling.queue.push(path)
  }
  return placeOf(path, fragment)
}

const placeOf = (file: string, fragment: string): string => `#/${FILES}/${escapePointer(file)}${fragment}`

/** From the directory of the document; undefined for an address, and for what leads out of it. */
function pathTo(target: string, file: string): string | undefined {
  if (/^[a-z][a-z0-9+.-]*:|^[\\/]|\\/i.test(target)) return undefined
  const parts = file.split('/').slice(0, -1)
  for (const part of withoutPercent(target).split('/')) {
    if (part === '..' && parts.length === 0) return undefined
    if (part === '..') parts.pop()
    else if (part !== '.' && part !== '') parts.push(part)
  }
  return parts.length === 0 ? undefined : parts.join('/')
}

function withoutPercent(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
