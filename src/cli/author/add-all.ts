import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeDirectory } from '../../system/make-directory.ts'
import type { BundleText } from '../../policy/bundle/check.ts'
import { toolOfContract, type ImportedFile, type ImportResult } from '../../policy/import/contract.ts'
import { updateContracts } from '../../policy/import/update.ts'
import { cannotWrite, EXIT, usage } from '../terminal/failure.ts'
import { onOneLine } from '../terminal/visible-text.ts'
import { replaceFile } from './fmt.ts'
import { reportNotes } from './import-report.ts'

interface Wish {
  readonly dir: string
  /** The files of the bundle. */
  readonly there: readonly BundleText[]
  readonly update: boolean
}

/** Numbers of files by result. */
interface Counts {
  readonly files: number
  readonly leftOut: number
  readonly says: string
}

/** `countersign add tool --all`: the contract of each tool that was read. */
export async function addAll({ files, notes }: ImportResult, { dir, there, update }: Wish): Promise<void> {
  const leftOut = reportNotes(notes)
  const contracts = there.filter(({ path }) => path.startsWith('tools/'))
  const counts = await (update ? updated : written)(dir, contracts, files)
  const total = leftOut + counts.leftOut
  console.error(`${counts.says}; ${total === 0 ? 'no tool was left out' : `${total} left out`}`)
  if (counts.files + total === 0) throw usage('no tool was found')
  if (total > 0) process.exitCode = EXIT.leftOut
}

/** @throws CliFailure */
async function updated(
  dir: string,
  contracts: readonly BundleText[],
  files: readonly ImportedFile[],
): Promise<Counts> {
  const { changed, unchanged, gone, leftOut } = updateContracts(contracts, files)
  for (const one of changed) {
    await writeFile(dir, one)
    for (const line of one.difference) console.log(onOneLine(`  ${line}`))
  }
  for (const path of gone) console.error(onOneLine(`no longer listed by the server, and kept: ${path}`))
  for (const { tool, because } of leftOut) console.error(onOneLine(`left out: ${tool}: ${because}`))
  const says = `${changed.length} written, ${unchanged} unchanged`
  return { files: changed.length + unchanged, leftOut: leftOut.length, says }
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
async function written(
  dir: string,
  contracts: readonly BundleText[],
  files: readonly ImportedFile[],
): Promise<Counts> {
  const there = await Promise.all(files.map(({ path }) => exists(join(dir, path))))
  const taken = files.filter((_, index) => there[index])
  if (taken.length > 0)
    throw usage(
      `nothing was written: ${taken.map(({ path }) => path).join(', ')} exists`,
      'give --update to see and accept the changes',
    )
  refuseTwins(contracts, files)
  for (const file of files) await writeFile(dir, file)
  return { files: files.length, leftOut: 0, says: `${files.length} written` }
}

/**
 * Refuses duplicate contracts: a tool has one contract, and a file one tool. Existing files belong to their authors and
 * stay unchanged.
 */
function refuseTwins(contracts: readonly BundleText[], files: readonly ImportedFile[]): void {
  const names = new Set(files.map(({ tool }) => tool))
  for (const other of contracts) {
    const tool = toolOfContract(other)
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
