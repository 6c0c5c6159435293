import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { parseDocument } from 'yaml'
import type { JsonValue } from '../../../src/contract/json.ts'
import { importOpenApi } from '../../../src/policy/import/openapi.ts'

/**
 * Documents that the public reads, from a directory that COUNTERSIGN_TEST_OPENAPI names: all `.json` files there, and files `openapi.yaml` below it. Each
 * imports whole. They are large, belong to others and change, so none is here.
 */
const directory = process.env['COUNTERSIGN_TEST_OPENAPI']
const documents =
  directory === undefined
    ? []
    : readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(
        (path) => /(?:^|\/)openapi\.yaml$/.test(path) || /^[^/]*\.json$/.test(path),
      )

const read = (path: string): JsonValue => {
  const text = readFileSync(path, 'utf8')
  if (path.endsWith('.json')) return JSON.parse(text) as JsonValue
  return parseDocument(text, { merge: true, logLevel: 'silent' }).toJS({ maxAliasCount: 10_000 }) as JsonValue
}

it.skipIf(documents.length === 0).each(documents.length === 0 ? [''] : documents)(
  'imports whole: %s',
  { timeout: 600_000 },
  (name) => {
    const path = join(directory ?? '', name)
    const load = (file: string): JsonValue | undefined => {
      try {
        return read(join(dirname(path), file))
      } catch {
        return undefined
      }
    }
    const result = importOpenApi(read(path), { prefix: '', load })
    const leftOut = result?.notes.filter((note) => note.leftOut !== undefined) ?? []
    console.log(`${name}: ${result?.files.length ?? 0} contracts`)
    expect(leftOut.map((note) => `${note.leftOut ?? ''}: ${note.message}`)).toEqual([])
    expect(result?.files.length).toBeGreaterThan(10)
  },
)
