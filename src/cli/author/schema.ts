import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeDirectory } from '../../system/make-directory.ts'
import { printDiagnostics } from '../../policy/report/diagnostics.ts'
import { readBundle } from '../../policy/bundle/directory.ts'
import { editorSchemas, type EditorResult } from '../../policy/editor/editor.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { cannotWrite, EXIT, refuseMore, usage } from '../terminal/failure.ts'
import { onOneLine } from '../terminal/visible-text.ts'

export const SCHEMA_USAGE = `countersign schema [DIR] --out FOLDER

  Writes rules, tool, routing and directory.schema.json from the contracts of the bundle. With them, an editor
  completes fields and tests, and underlines errors. Exits 3 if a contract does not check; rule files may be
  incomplete.`

/**
 * `countersign schema [DIR] --out FOLDER`: JSON Schemas for the YAML language server. Exits with 3 when a contract has
 * errors.
 */
export async function schema(args: readonly string[]): Promise<void> {
  const options = { out: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  refuseMore(positionals, 1, SCHEMA_USAGE)
  const { out } = values
  if (out === undefined) throw usage('name the folder: --out FOLDER', SCHEMA_USAGE)
  const result = await schemasOf(positionals[0] ?? DEFAULT_POLICIES)
  if (!result.ok) {
    console.error(printDiagnostics(result.diagnostics))
    process.exitCode = EXIT.doesNotCheck
    return
  }
  for (const [name, one] of Object.entries(result.schemas)) {
    await writeSchema(out, name, one)
    console.log(onOneLine(`wrote ${join(out, name)}`))
  }
}

async function schemasOf(dir: string): Promise<EditorResult> {
  const read = await readBundle(dir, { ignoreLock: true })
  return read.ok ? editorSchemas(read.texts) : read
}

async function writeSchema(folder: string, name: string, one: object): Promise<void> {
  try {
    makeDirectory(folder)
    await writeFile(join(folder, name), `${JSON.stringify(one, null, 2)}\n`)
  } catch (cause) {
    throw cannotWrite(join(folder, name), cause)
  }
}
