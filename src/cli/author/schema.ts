import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from '../../system/make-directory.ts'
import { printDiagnostics } from '../../policy/report/diagnostics.ts'
import { readBundle } from '../../policy/bundle/directory.ts'
import { editorSchemas, type EditorResult } from '../../policy/editor/editor.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { command } from '../terminal/command.ts'
import { cannotWrite, EXIT } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { onOneLine } from '../terminal/visible-text.ts'

export const SCHEMA = command({
  name: 'schema',
  operands: '[DIR]',
  says: `Writes rules, tool, routing and directory.schema.json from the contracts of the bundle. With them, an editor
    completes fields and tests, and underlines errors. Exits 3 if a contract does not check; rule files may be
    incomplete.`,
  flags: { out: { takes: 'FOLDER', needed: true, says: 'the folder of the schemas' } },
})

/**
 * `countersign schema [DIR] --out FOLDER`: JSON Schemas for the YAML language server. Exits with 3 when a contract has
 * errors.
 */
export async function schema(args: readonly string[]): Promise<void> {
  const { values, operands } = parse(SCHEMA, args)
  const { out } = values
  const result = await schemasOf(operands[0] ?? DEFAULT_POLICIES)
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
