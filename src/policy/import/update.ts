import { isMap, parseDocument } from 'yaml'
import { RISKS } from '../../domain/decision.ts'
import type { BundleText } from '../bundle/check.ts'
import { type Effect, type ImportedFile, problemOf } from './contract.ts'

/** The differences between existing contracts and a new import. */
export interface Update {
  /** The contracts to write: changed contracts, and contracts of new tools. */
  readonly changed: readonly Changed[]
  readonly unchanged: number
  /** The paths of contracts whose tools these servers no longer list. These contracts are kept. */
  readonly gone: readonly string[]
  readonly leftOut: readonly { readonly tool: string; readonly because: string }[]
}

export interface Changed extends BundleText {
  readonly tool: string
  /** The changed lines, prefixed with `-` or `+`; empty for a new contract. */
  readonly difference: readonly string[]
}

/** A contract with its own tool name, its server, and the server's name for the tool. */
interface Known {
  readonly file: BundleText
  readonly tool: string | undefined
  readonly server: string | undefined
  readonly name: string | undefined
}

/** Updates contracts from a new import. Keeps the author's own parts: labels, sensitive fields, a higher risk. */
export function updateContracts(existing: readonly BundleText[], imported: readonly ImportedFile[]): Update {
  const known = existing.map(knownOf)
  const paths = new Set(existing.map(({ path }) => path.toLowerCase()))
  const results = imported.map((one) => updated(one, known, paths))
  const changed = results.flatMap((one) => (one !== 'unchanged' && 'text' in one ? [one] : []))
  return {
    changed,
    unchanged: results.filter((one) => one === 'unchanged').length,
    gone: goneFrom(known, imported),
    leftOut: results.flatMap((one) => (one !== 'unchanged' && 'because' in one ? [one] : [])),
  }
}

type Updated = Changed | 'unchanged' | { readonly tool: string; readonly because: string }

function updated(one: ImportedFile, known: readonly Known[], paths: Set<string>): Updated {
  const { source, tool } = one
  const own =
    known.find(({ server, name }) => source && server === source.server && name === source.name) ??
    known.find((other) => other.server === undefined && other.tool === tool)
  if (own === undefined) {
    const twin = known.find((other) => other.tool === tool)
    if (twin !== undefined) return { tool, because: `\`${tool}\` has a contract in ${twin.file.path}` }
    return { path: freePath(one.path, paths), text: one.text, tool, difference: [] }
  }
  const text = merged(own.file.text, one)
  const file = { path: own.file.path, text }
  if (text === own.file.text) return 'unchanged'
  const problem = problemOf(file)
  if (problem !== undefined) return { tool, because: `its contract would not check: ${problem}` }
  return { ...file, tool: own.tool ?? tool, difference: differenceOf(own.file.text, text) }
}

function knownOf(file: BundleText): Known {
  const document = parseDocument(file.text, { logLevel: 'silent' })
  const text = (...path: string[]): string | undefined => {
    const value: unknown = isMap(document.contents) ? document.getIn(path) : undefined
    return typeof value === 'string' ? value : undefined
  }
  return {
    file,
    tool: text('tool'),
    server: text('source', 'server'),
    name: text('source', 'name'),
  }
}

function freePath(path: string, paths: Set<string>): string {
  let free = path
  for (let n = 2; paths.has(free.toLowerCase()); n++) free = path.replace(/\.yaml$/, `_${n}.yaml`)
  paths.add(free.toLowerCase())
  return free
}

/** Returns the contract with the server's current description and schema; the same text when these did not change. */
function merged(before: string, { text, effect, source }: ImportedFile): string {
  const [own, fresh] = [parseDocument(before), parseDocument(text)]
  const isSame = (key: string): boolean =>
    JSON.stringify(own.toJS()[key]) === JSON.stringify(fresh.toJS()[key])
  const keys = ['description', 'source', 'input_schema'].filter((key) => !isSame(key))
  const sameDigest = own.getIn(['source', 'digest']) === source?.digest
  if (keys.length === 0 || (sameDigest && source?.digest !== undefined)) return before
  for (const key of keys) own.set(key, fresh.get(key, true))
  raise(own, effect)
  return own.toString({ lineWidth: 0 })
}

const HARMLESS_FIRST = ['read_only', 'reversible', 'external', 'irreversible']

/** Raises risk and reversibility to the server's current values. Deletes a reversibility that the server dropped. */
function raise(own: ReturnType<typeof parseDocument>, { risk, reversibility }: Effect): void {
  const risks: readonly string[] = RISKS
  if (risks.indexOf(risk) > risks.indexOf(String(own.get('risk')))) own.set('risk', risk)
  const [before, now] = [own.get('reversibility'), reversibility]
  if (before === undefined) return
  if (now === undefined) own.delete('reversibility')
  else if (HARMLESS_FIRST.indexOf(now) > HARMLESS_FIRST.indexOf(String(before))) own.set('reversibility', now)
}

function goneFrom(known: readonly Known[], imported: readonly ImportedFile[]): string[] {
  const servers = new Set(imported.map(({ source }) => source?.server))
  const listed = new Set(imported.map(({ source }) => JSON.stringify([source?.server, source?.name])))
  return known
    .filter(({ server }) => server !== undefined && servers.has(server))
    .filter(({ server, name }) => !listed.has(JSON.stringify([server, name])))
    .map(({ file }) => file.path)
}

/** Returns the lines that differ, without the common beginning and end of both texts. */
function differenceOf(before: string, after: string): string[] {
  const [old, fresh] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < old.length && old[start] === fresh[start]) start++
  let end = 0
  const most = Math.min(old.length, fresh.length) - start
  while (end < most && old.at(-1 - end) === fresh.at(-1 - end)) end++
  return [
    ...old.slice(start, old.length - end).map((line) => `- ${line}`),
    ...fresh.slice(start, fresh.length - end).map((line) => `+ ${line}`),
  ]
}
