import { type JsonObject, type JsonValue, isObject, pointerStep } from '../../contract/json.ts'
import { type ImportNote, withoutPercent } from './schema.ts'

/**
 * Reads a file by its path relative to the document's directory. Returns undefined when the read fails or the file is
 * outside that directory.
 */
export type LoadFile = (path: string) => JsonValue | undefined

/** The key under which the combined document contains the loaded files. */
const FILES = 'x-countersign-files'
/** The maximum number of files to load, which stops an endless chain of files. */
const MOST_FILES = 20_000
/**
 * Keys whose values are data, in which `$ref` is not a reference. Below a key in NAMING, these keys are ordinary names.
 */
const DATA = ['example', 'examples', 'default', 'enum', 'const', 'value']
const NAMING = ['properties', 'patternProperties', '$defs', 'definitions', 'schemas', 'parameters', 'paths']

interface Bundling {
  readonly load: LoadFile
  readonly notes: ImportNote[]
  readonly files: Map<string, JsonValue>
  readonly queue: string[]
}

/**
 * Returns the document with copies of all files that it refers to, directly or indirectly. References point to the
 * copies.
 */
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
  /** The key of the value; '' for the root and for items of a list. */
  readonly key: string
  /** The key of the object or list that contains the value. */
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

/**
 * Returns the reference into FILES. Unchanged when it does not lead to a file; the import reports this when it follows
 * the reference.
 */
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

const placeOf = (file: string, fragment: string): string => `#/${FILES}${pointerStep(file)}${fragment}`

/**
 * Returns the path relative to the document's directory; undefined for a URL, and for a path outside that directory.
 */
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
