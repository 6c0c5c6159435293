import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { parseDocument } from 'yaml'
import type { JsonValue } from '../../contract/json.ts'
import { makeDirectory } from '../../system/make-directory.ts'
import type { BundleText } from '../../policy/check/check.ts'
import { readBundle } from '../../policy/bundle/directory.ts'
import { toolOfContract, type ImportResult } from '../../policy/import/contract.ts'
import { importMcp } from '../../policy/import/mcp.ts'
import { importOpenApi } from '../../policy/import/openapi.ts'
import { DEFAULT_POLICIES } from './check.ts'
import { cannotWrite, CliFailure, EXIT, refuseMore, usage } from '../terminal/failure.ts'
import { replaceFile } from './fmt.ts'
import { onOneLine } from '../terminal/visible-text.ts'

export const IMPORT_USAGE = `countersign import mcp|openapi FILE [--dir DIR] [--prefix TEXT] [--force]

  Writes a contract into DIR/tools for every tool of an MCP server (the result of tools/list) or every operation of an OpenAPI 3 document
  (JSON or YAML). FILE may be - for standard input. --prefix stands in front of every name. Files that exist
  are never overwritten without --force. What a contract cannot say is named with its place.`

/** `countersign import mcp|openapi FILE`: contracts from what a tool says of itself. */
export async function importContracts(args: readonly string[]): Promise<void> {
  const options = {
    dir: { type: 'string', default: DEFAULT_POLICIES },
    prefix: { type: 'string', default: '' },
    force: { type: 'boolean', default: false },
  } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  refuseMore(positionals, 2, IMPORT_USAGE)
  const [kind, file] = positionals
  if ((kind !== 'mcp' && kind !== 'openapi') || file === undefined)
    throw usage('say what to import', IMPORT_USAGE)
  const document = parse(file, await read(file))
  const result = kind === 'mcp' ? importMcp(document, values) : importOpenApi(document, values)
  if (!result)
    throw usage(
      `\`${file}\` is not ${kind === 'mcp' ? 'a list of MCP tools' : 'an OpenAPI 3.0 or 3.1 document'}`,
    )
  for (const { pointer, message } of result.notes) console.error(onOneLine(`${pointer || '/'}: ${message}`))
  await write(values.dir, result, values.force)
}

async function read(file: string): Promise<string> {
  if (file === '-') return text(process.stdin)
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw new CliFailure(`cannot read \`${file}\`: ${(cause as Error).message}`, { exit: EXIT.usage, cause })
  })
}

/** JSON is YAML. */
function parse(file: string, content: string): JsonValue {
  try {
    const document = parseDocument(content, {
      merge: false,
      logLevel: 'silent',
      prettyErrors: false,
      uniqueKeys: false,
    })
    const [problem] = document.errors
    if (problem?.code === 'RESOURCE_EXHAUSTION') throw new RangeError('it is nested too deeply')
    if (problem) throw problem
    return document.toJS({ maxAliasCount: 100 }) as JsonValue
  } catch (cause) {
    const verdict = cause instanceof RangeError ? 'cannot be read' : 'is neither JSON nor YAML'
    throw usage(`\`${file}\` ${verdict}: ${(cause as Error).message}`)
  }
}

async function write(dir: string, { files }: ImportResult, force: boolean): Promise<void> {
  const there = await Promise.all(files.map(({ path }) => exists(join(dir, path))))
  const taken = files.filter((_, index) => there[index])
  if (taken.length > 0 && !force) {
    const names = taken.map(({ path }) => path).join(', ')
    throw new CliFailure(`nothing was written: ${names} exists`, {
      exit: EXIT.usage,
      hint: 'say --force to overwrite',
    })
  }
  await refuseTwins(dir, files)
  for (const file of files) {
    try {
      makeDirectory(dirname(join(dir, file.path)))
    } catch (cause) {
      throw cannotWrite(join(dir, file.path), cause)
    }
    await replaceFile(dir, file)
    console.log(onOneLine(`wrote ${join(dir, file.path)}`))
  }
  if (files.length === 0) throw new CliFailure('no tool was found', { exit: EXIT.usage })
}

/** A tool has one contract. Another file that has it is somebody's work, and stays. */
async function refuseTwins(dir: string, files: readonly BundleText[]): Promise<void> {
  const read = await readBundle(dir, { ignoreLock: true })
  const names = new Set(files.map(toolOfContract))
  for (const other of read.ok ? read.texts : []) {
    if (!other.path.startsWith('tools/') || files.some(({ path }) => path === other.path)) continue
    const tool = toolOfContract(other)
    if (tool !== undefined && names.has(tool))
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
