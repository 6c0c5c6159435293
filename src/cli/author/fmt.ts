import { access, chmod, chown, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { BundleText } from '../../policy/bundle/check.ts'
import { printDiagnostics } from '../../policy/report/diagnostics.ts'
import { readBundle } from '../../policy/bundle/directory.ts'
import { formatFile } from '../../policy/format/format.ts'
import { LOCK_FILE } from '../../policy/bundle/lock.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { command } from '../terminal/command.ts'
import { cannotWrite, EXIT } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { onOneLine } from '../terminal/visible-text.ts'

export const FMT = command({
  name: 'fmt',
  operands: '[DIR]',
  says: `Sorts the keys of every file in the order of the grammar, and removes blanks at line ends. Comments move with
    their keys. The meaning of a file never changes. A file that does not parse is left unchanged: exit 3.`,
  flags: { check: { says: 'writes nothing, and exits 5 if a file would change' } },
})

/** `countersign fmt [DIR]`: every file of the bundle in the order of the grammar. */
export async function fmt(args: readonly string[]): Promise<void> {
  const { values, operands } = parse(FMT, args)
  const [dir = DEFAULT_POLICIES] = operands
  const read = await readBundle(dir, { ignoreLock: true })
  if (!read.ok) return refuse(printDiagnostics(read.diagnostics))
  let changed = 0
  for (const file of read.texts) {
    const result = formatFile(file)
    if (!result.ok) refuse(printDiagnostics(result.diagnostics))
    else if (result.text !== file.text) {
      changed++
      if (!values.check) await replaceFile(dir, { path: file.path, text: result.text })
      console.log(onOneLine(`${values.check ? 'would change' : 'changed'} ${file.path}`))
    }
  }
  if (changed === 0) return
  if (values.check) process.exitCode ??= EXIT.changed
  else if (await hasLock(dir)) console.log(`${LOCK_FILE} is out of date: run \`countersign lock\``)
}

export function hasLock(dir: string): Promise<boolean> {
  return access(join(dir, LOCK_FILE)).then(
    () => true,
    () => false,
  )
}

function refuse(findings: string): void {
  console.error(findings)
  process.exitCode = EXIT.doesNotCheck
}

/**
 * Replaces a file in one step, so that readers of the directory see either the old or the new file. Files whose names
 * begin with a dot do not belong to a bundle. The new file has the same readers as the old file.
 */
export async function replaceFile(dir: string, { path, text }: BundleText): Promise<void> {
  try {
    const target = await realpath(join(dir, path)).catch(() => join(dir, path))
    const fresh = join(dirname(target), `.${basename(target)}.${process.pid}`)
    try {
      await writeLike(target, fresh, text)
      await rename(fresh, target)
    } catch (error) {
      await rm(fresh, { force: true })
      throw error
    }
  } catch (cause) {
    throw cannotWrite(path, cause)
  }
}

/** Writes `fresh` with the mode of `old` when `old` exists, and with its owner where the system permits. */
async function writeLike(old: string, fresh: string, text: string): Promise<void> {
  const like = await stat(old).catch(() => undefined)
  if (like === undefined) return writeFile(fresh, text)
  await writeFile(fresh, text, { mode: 0o600 })
  await chown(fresh, like.uid, like.gid).catch(() => undefined)
  await chmod(fresh, like.mode & MODE_BITS)
}

const MODE_BITS = 0o777
