import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeDirectory } from '../../system/make-directory.ts'
import type { BundleText } from '../../policy/bundle/check.ts'
import { readBundle } from '../../policy/bundle/directory.ts'
import { toolOfContract, type ImportedFile, type ImportResult } from '../../policy/import/contract.ts'
import { updateContracts } from '../../policy/import/update.ts'
import { cannotWrite, EXIT, usage } from '../terminal/failure.ts'
import { onOneLine } from '../terminal/visible-text.ts'
import { replaceFile } from './fmt.ts'
import { reportNotes } from './import-report.ts'

interface Wish {
  readonly dir: string
  readonly update: boolean
}

/** Numbers of files by result. */
interface Counts {
  readonly files: number
  readonly leftOut: number
  readonly says: string
}

/** `countersign add tool --all`: the contract of each tool that was read. */
export async function addAll(result: ImportResult, { dir, update }: Wish): Promise<void> {
  const leftOut = reportNotes(result.notes)
  const counts = update ? await updated(dir, result) : await written(dir, result)
  const total = leftOut + counts.leftOut
  console.error(`${counts.says}; ${total === 0 ? 'no tool was left out' : `${total} left out`}`)
  if (counts.files + total === 0) throw usage('no tool was found')
  if (total > 0) process.exitCode = EXIT.leftOut
}

/** @throws CliFailure */
async function updated(dir: string, { files }: ImportResult): Promise<Counts> {
  const there = (await textsIn(dir)).filter(({ path }) => path.startsWith('tools/'))
  const { changed, unchanged, gone, leftOut } = updateContracts(there, files)
  for (const one of changed) {
    await writeFile(dir, one)
    for (const line of one.difference) console.log(onOneLine(`  ${line}`))
  }
  for (const path of gone) console.error(onOneLine(`no longer listed by the server, and kept: ${path}`))
  for (const { tool, because } of leftOut) console.error(onOneLine(`left out: ${tool}: ${because}`))
  const says = `${changed.length} written, ${unchanged} unchanged`
  return { files: changed.length + unchanged, leftOut: leftOut.length, says }
}

async function textsIn(dir: string): Promise<readonly BundleText[]> {
  const read = await readBundle(dir, { ignoreLock: true })
  return read.ok ? read.texts : []
}

async function writeFile(dir: string, { path, text }: BundleText): Promise<void> {
  try {
    makeDirectory(dirname(join(dir, path)))
  } catch (cause) {
    throw cannotWrite(join(dir, path), cause)
  }
  await replaceFile(dir, { path, text })
  console.log(onOneLine(`wrote ${join(dir, path)}`))
}

/** @throws CliFailure */
async function written(dir: string, { files }: ImportResult): Promise<Counts> {
  const there = await Promise.all(files.map(({ path }) => exists(join(dir, path))))
  const taken = files.filter((_, index) => there[index])
  if (taken.length > 0)
    throw usage(
      `nothing was written: ${taken.map(({ path }) => path).join(', ')} exists`,
      'give --update to see and accept the changes',
    )
  await refuseTwins(dir, files)
  for (const file of files) await writeFile(dir, file)
  return { files: files.length, leftOut: 0, says: `${files.length} written` }
}

/**
 * Refuses duplicate contracts: a tool has one contract, and a file one tool. Existing files belong to their authors and
 * stay unchanged.
 */
async function refuseTwins(dir: string, files: readonly ImportedFile[]): Promise<void> {
  const names = new Set(files.map(({ tool }) => tool))
  for (const other of await textsIn(dir)) {
    const tool = other.path.startsWith('tools/') ? toolOfContract(other) : undefined
    const same = files.find(({ path }) => path === other.path)
    if (tool === undefined || same?.tool === tool) continue
    if (same !== undefined) throw usage(`nothing was written: ${other.path} is the contract of \`${tool}\``)
    if (names.has(tool)) throw usage(`nothing was written: \`${tool}\` has a contract in ${other.path}`)
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
