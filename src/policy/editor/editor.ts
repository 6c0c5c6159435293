import type { JsonObject } from '../../contract/json.ts'
import type { BundleText } from '../bundle/check.ts'
import { checkDirectory } from '../check/directory.ts'
import { isListFile, listNameOf } from '../check/list-file.ts'
import { checkRouting } from '../check/routing.ts'
import { checkTool } from '../check/tool.ts'
import type { Diagnostic } from '../report/diagnostics.ts'
import { ruleFileSchema, type EditorWorld } from './rules.ts'
import { directorySchema, routingSchema, toolSchema } from './static.ts'
import { parseSource, type Doc } from '../yaml/parse.ts'
import { createReader, type Reader } from '../yaml/shape.ts'
import { createFindings, createSource } from '../yaml/source.ts'

/** JSON Schemas by file name, in draft-07, which every editor supports. */
export type EditorSchemas = Readonly<Record<string, JsonObject>>

export type EditorResult =
  | { readonly ok: true; readonly schemas: EditorSchemas }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

/**
 * Returns the schemas for an editor, from the contracts of a bundle. Does not read rule files, and ignores errors in
 * routing.yaml and directory.yaml, because the author may be editing them.
 */
export function editorSchemas(texts: readonly BundleText[]): EditorResult {
  const findings = createFindings()
  const tools = texts.filter(({ path }) => path.startsWith('tools/'))
  const contracts = tools.flatMap((file) => read(file, checkTool, findings)?.contract ?? [])
  if (findings.failed) return { ok: false, diagnostics: findings.sorted() }
  const world = { tools: contracts.toSorted((a, b) => (a.name < b.name ? -1 : 1)), ...namesIn(texts) }
  return {
    ok: true,
    schemas: {
      'rules.schema.json': ruleFileSchema(world),
      'tool.schema.json': toolSchema(),
      'routing.schema.json': routingSchema(world),
      'directory.schema.json': directorySchema(),
    },
  }
}

/** Returns the lists of routing.yaml and lists/, and the groups of reviewers. Skips files with errors. */
function namesIn(texts: readonly BundleText[]): Pick<EditorWorld, 'lists' | 'groups'> {
  const routing = texts.find(({ path }) => path === 'routing.yaml')
  const directory = texts.find(({ path }) => path === 'directory.yaml')
  const lists = routing && read(routing, checkRouting)?.lists
  const people = [...((directory && read(directory, checkDirectory))?.tenants.values() ?? [])]
  const groups = people.flatMap((tenant) => [...tenant.reviewers.values()].flatMap((person) => person.groups))
  const inFiles = texts.filter(({ path }) => isListFile(path))
  const all = [...(lists ?? []), ...inFiles.map(({ path }) => [listNameOf(path), undefined] as const)]
  return {
    lists: new Map(all.toSorted(([a], [b]) => (a < b ? -1 : 1))),
    groups: [...new Set(groups)].toSorted(),
  }
}

function read<T>(
  { path, text }: BundleText,
  check: (reader: Reader, doc: Doc) => T | undefined,
  findings = createFindings(),
): T | undefined {
  const source = createSource(path, text)
  const doc = parseSource(source, findings)
  return doc && check(createReader(source, findings), doc)
}
