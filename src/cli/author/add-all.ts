import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeDirectory } from '../../system/make-directory.ts'
import type { BundleText } from '../../policy/bundle/check.ts'
import { readBundle } from '../../policy/bundle/directory.ts'
import { toolOfContract, type ImportedFile, type ImportResult } from '../../policy/import/contract.ts'
import { updateContracts } from '../../policy/import/update.ts'
import { SERVER_NAME } from '../../contract/tool-source.ts'
import { filesBeside, readDocument } from './foreign-document.ts'
import { reportNotes } from './import-report.ts'
import { importMcp } from '../../policy/import/mcp.ts'
import { importOpenApi } from '../../policy/import/openapi.ts'
import { DEFAULT_POLICIES } from './default-policies.ts'
import { command } from '../terminal/command.ts'
import { cannotWrite, CliFailure, EXIT, usage } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { usageOf } from '../terminal/usage.ts'
import { replaceFile } from './fmt.ts'
import { onOneLine } from '../terminal/visible-text.ts'

export const IMPORT = command({
  name: 'import',
  operands: 'mcp|openapi FILE',
  says: `Writes a contract into DIR/tools for every tool of an MCP server, or for every operation of an OpenAPI 3 or
    Swagger 2.0 document. FILE is the server's answer to tools/list, or the document in JSON or YAML (- for standard
    input). It counts schema parts that a contract cannot express, and names the place of the first. Exits 4 if it left
    out a tool.`,
  flags: {
    dir: { takes: 'DIR', default: DEFAULT_POLICIES, says: 'the bundle' },
    prefix: { takes: 'TEXT', default: '', says: 'text in front of every tool name' },
    server: { takes: 'NAME', says: 'the MCP server, as in `countersign mcp --server`' },
    force: { says: 'overwrites existing files' },
    update: { says: "shows how the server's tools differ from their contracts, and accepts the differences" },
  },
})

/** `countersign import mcp|openapi FILE`: creates contracts from descriptions of tools. */
export async function importContracts(args: readonly string[]): Promise<void> {
  const { values, operands } = parse(IMPORT, args)
  const [kind = '', file = ''] = operands
  refuseServer(kind, values)
  const document = await readDocument(file)
  const result =
    kind === 'mcp'
      ? importMcp(document, values)
      : importOpenApi(document, { ...values, ...(file === '-' ? {} : { load: filesBeside(file) }) })
  if (!result)
    throw usage(
      `\`${file}\` is not ${kind === 'mcp' ? 'a list of MCP tools' : 'an OpenAPI 3 or Swagger 2.0 document'}`,
    )
  const leftOut = reportNotes(result.notes)
  const counts = values.update
    ? await update(values.dir, result)
    : await write(values.dir, result, values.force)
  const total = leftOut + counts.leftOut
  console.error(`${counts.says}; ${total === 0 ? 'no tool was left out' : `${total} left out`}`)
  if (counts.files + total === 0) throw new CliFailure('no tool was found', { exit: EXIT.usage })
  if (total > 0) process.exitCode = EXIT.leftOut
}

/** @throws CliFailure */
function refuseServer(kind: string, { server, update, force }: Flags): void {
  if (kind !== 'mcp' && (server !== undefined || update))
    throw usage('--server and --update are for `countersign import mcp`', usageOf(IMPORT))
  if (update && force) throw usage('give --update or --force, not both', usageOf(IMPORT))
  if (server !== undefined && !SERVER_NAME.test(server))
    throw usage(`--server must be up to 64 letters, digits, \`_\` and \`-\`, not \`${server}\``)
}

interface Flags {
  readonly server?: string | undefined
  readonly update: boolean
  readonly force: boolean
}

/** Numbers of files by result. */
interface Counts {
  readonly files: number
  readonly leftOut: number
  readonly says: string
}

/** @throws CliFailure */
async function update(dir: string, { files }: ImportResult): Promise<Counts> {
  const read = await readBundle(dir, { ignoreLock: true })
  const there = (read.ok ? read.texts : []).filter(({ path }) => path.startsWith('tools/'))
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

async function writeFile(dir: string, file: BundleText): Promise<void> {
  try {
    makeDirectory(dirname(join(dir, file.path)))
  } catch (cause) {
    throw cannotWrite(join(dir, file.path), cause)
  }
  await replaceFile(dir, { path: file.path, text: file.text })
  console.log(onOneLine(`wrote ${join(dir, file.path)}`))
}

async function write(dir: string, { files }: ImportResult, force: boolean): Promise<Counts> {
  const there = await Promise.all(files.map(({ path }) => exists(join(dir, path))))
  const taken = files.filter((_, index) => there[index])
  if (taken.length > 0 && !force) {
    const names = taken.map(({ path }) => path).join(', ')
    throw new CliFailure(`nothing was written: ${names} exists`, {
      exit: EXIT.usage,
      hint: 'give --update to see and accept the changes, or --force to overwrite',
    })
  }
  await refuseTwins(dir, files)
  for (const file of files) await writeFile(dir, file)
  return { files: files.length, leftOut: 0, says: `${files.length} written` }
}

/**
 * Refuses duplicate contracts: a tool has one contract, and a file one tool. Existing files belong to their authors and
 * stay unchanged.
 */
async function refuseTwins(dir: string, files: readonly ImportedFile[]): Promise<void> {
  const read = await readBundle(dir, { ignoreLock: true })
  const names = new Set(files.map(({ tool }) => tool))
  for (const other of read.ok ? read.texts : []) {
    const tool = other.path.startsWith('tools/') ? toolOfContract(other) : undefined
    const same = files.find(({ path }) => path === other.path)
    if (tool === undefined || same?.tool === tool) continue
    if (same !== undefined)
      throw new CliFailure(`nothing was written: ${other.path} is the contract of \`${tool}\``, {
        exit: EXIT.usage,
      })
    if (names.has(tool))
      throw new CliFailure(`nothing was written: \`${tool}\` has a contract in ${other.path}`, {
        exit: EXIT.usage,
      })
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
