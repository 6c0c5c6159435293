import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { printDiagnostics } from '../../policy/report/diagnostics.ts'
import { readBundle } from '../../policy/bundle/directory.ts'
import { LOCK_FILE, printLock } from '../../policy/bundle/lock.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { command } from '../terminal/command.ts'
import { EXIT } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { replaceFile } from './fmt.ts'

export const LOCK = command({
  name: 'lock',
  operands: '[DIR]',
  says: `Writes DIR/${LOCK_FILE}: the SHA-256 of every policy file. From then on, every load (and check, test, ...) refuses
    the bundle if a file is missing, added or changed. Run it again after each change that you mean.`,
  flags: {},
})

/** `countersign lock [DIR]`: writes the manifest of the current bundle. Exits with 3 when the files cannot be read. */
export async function lock(args: readonly string[]): Promise<void> {
  const [dir = DEFAULT_POLICIES] = parse(LOCK, args).operands
  const read = await readBundle(dir, { ignoreLock: true })
  if (!read.ok) {
    console.error(printDiagnostics(read.diagnostics))
    process.exitCode = EXIT.doesNotCheck
    return
  }
  const files = read.texts.map(({ path, text }) => ({
    path,
    sha256: createHash('sha256').update(text).digest('hex'),
  }))
  await replaceFile(dir, { path: LOCK_FILE, text: printLock(files) })
  console.log(`wrote ${join(dir, LOCK_FILE)}: ${files.length} files`)
}
