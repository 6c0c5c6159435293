import { readFileSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { parseDocument } from 'yaml'
import type { JsonValue } from '../../contract/json.ts'
import type { LoadFile } from '../../policy/import/references.ts'
import { usage } from '../terminal/failure.ts'
import { inputOf } from '../terminal/input.ts'

/** The JSON or YAML document in a file; `-` is standard input. @throws CliFailure */
export async function readDocument(file: string): Promise<JsonValue> {
  return parse(file, (await inputOf(file)).toString())
}

/** Reads files in or below the directory of the document. Links cannot lead out of this directory. */
export function filesBeside(file: string): LoadFile {
  const directory = realpathSync(dirname(file))
  return (path) => {
    try {
      const place = realpathSync(join(directory, path))
      return isWithin(directory, place) ? parse(path, readFileSync(place, 'utf8')) : undefined
    } catch {
      return undefined
    }
  }
}

function isWithin(directory: string, place: string): boolean {
  const way = relative(directory, place)
  return way !== '' && way.split(sep)[0] !== '..' && !isAbsolute(way)
}

/** Undefined for invalid JSON. */
function parsedJson(content: string): JsonValue | undefined {
  try {
    return JSON.parse(content) as JsonValue
  } catch {
    return undefined
  }
}

/** Maximum depth of nesting, which is far deeper than real documents and safe for the stack. */
const DEEPEST = 1_000

function depthOf(value: JsonValue): number {
  let level: JsonValue[] = [value]
  for (let depth = 0; ; depth++) {
    if (level.length === 0 || depth > DEEPEST) return depth
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
}

/** Tries JSON first, because the JSON parser is much faster than the YAML parser, which can also parse JSON. */
function parse(file: string, content: string): JsonValue {
  const json = parsedJson(content)
  if (json !== undefined && depthOf(json) <= DEEPEST) return json
  if (json !== undefined) throw usage(`\`${file}\` cannot be read: it is nested too deeply`)
  try {
    const document = parseDocument(content, {
      merge: true,
      logLevel: 'silent',
      prettyErrors: false,
      uniqueKeys: false,
    })
    const [problem] = document.errors
    if (problem?.code === 'RESOURCE_EXHAUSTION') throw new RangeError('it is nested too deeply')
    if (problem) throw problem
    return document.toJS({ maxAliasCount: 10_000 }) as JsonValue
  } catch (cause) {
    const verdict = cause instanceof RangeError ? 'cannot be read' : 'is neither JSON nor YAML'
    throw usage(`\`${file}\` ${verdict}: ${(cause as Error).message}`)
  }
}
