import { createHash } from 'node:crypto'
import { fileBounds } from '../text/file-bounds.ts'
import { checkDirectory } from '../check/directory.ts'
import type { CaseIr } from '../check/case.ts'
import { checkGroupNames, checkLevelPairs, checkLevelQuorums, checkRuleQuorums } from '../check/quorum.ts'
import { toolsOfAgents, type ToolUse } from '../check/tool-names.ts'
import { checkSensitiveFields } from '../check/path.ts'
import { checkSummaryFields } from '../check/summary-fields.ts'
import { checkPatternCost } from '../check/patterns.ts'
import { isListFile, withListFiles } from '../check/list-file.ts'
import { checkRetentionOfLimits, checkRetentionOfTasks } from '../check/retention.ts'
import { checkRouting, type CheckedRouting } from '../check/routing.ts'
import type { World } from '../check/rule-context.ts'
import { checkRuleFile, type CheckedRuleFile } from '../check/rules.ts'
import { checkTool, type CheckedTool } from '../check/tool.ts'
import { uniqueSources } from '../check/tool-source.ts'
import type { Diagnostic } from '../report/diagnostics.ts'
import { createFieldValues, type FieldValues } from '../schema/possible-fields.ts'
import type { BundleIr, ToolIr } from '../language/rule.ts'
import { lintBundle } from '../lint/lint.ts'
import { editDistance } from '../text/nearest.ts'
import { parseSource, type Doc } from '../yaml/parse.ts'
import { createReader, type Reader } from '../yaml/shape.ts'
import type { BundleFile, BundleText, Directory } from '../language/snapshot.ts'
import { createFindings, createSource, fileDiagnostic, type Findings } from '../yaml/source.ts'

export type { BundleText }

export interface CheckedBundle {
  readonly ir: BundleIr
  readonly cases: readonly CaseIr[]
  /** The findings so far. The inline tests run later and add more findings. */
  readonly findings: Findings
  /** The rule files with their positions, in the order of `ir.ruleFiles`. */
  readonly rules: readonly CheckedRuleFile[]
}

export type CheckResult =
  | { readonly ok: true; readonly bundle: CheckedBundle }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[]; readonly revision: string }

/** Checks a whole bundle: first each file separately, then all references. */
export function checkBundle(
  texts: readonly BundleText[],
  { commit, now }: { readonly commit?: string | undefined; readonly now?: number | undefined } = {},
): CheckResult {
  const sorted = texts.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const files = sorted.map(describeFile)
  const revision = revisionOf(sorted)
  const findings = createFindings()
  const parsed = sorted.map((file) => {
    const source = createSource(file.path, file.text)
    const reader = createReader(source, findings)
    return {
      path: file.path,
      reader,
      doc: isTooLarge(reader, file) || isListFile(file.path) ? undefined : parseSource(source, findings),
    }
  })
  const missing = ['routing.yaml', 'directory.yaml'].filter(
    (path) => !sorted.some((file) => file.path === path),
  )
  const checked = checkParsed(parsed, now)
  if (missing.length > 0 || findings.failed || !checked) {
    const absent = missing.map((path) => fileDiagnostic('missing-file', path, `a bundle needs ${path}`))
    return { ok: false, diagnostics: [...absent, ...findings.sorted()], revision }
  }
  lintBundle(checked)
  const head = {
    revision,
    files,
    diagnostics: findings.sorted(),
    directory: checked.directory,
    routing: checked.routing.routing,
    ruleCount: checked.rules.reduce((sum, { file }) => sum + file.rules.length + file.limits.length, 0),
  }
  const ir: BundleIr = {
    head: commit === undefined ? head : { ...head, commit },
    tools: linkTools(checked.tools, checked.rules),
    ruleFiles: checked.rules.map((rules) => rules.file),
    texts: sorted,
  }
  const cases = checked.rules.flatMap((rules) => rules.cases)
  return { ok: true, bundle: { ir, cases, findings, rules: checked.rules } }
}

/**
 * Returns the SHA-256 (hex) of the files in path order. The hash input for each file is its path, NUL, the size of its
 * content, NUL, and its content.
 */
export function revisionOf(sorted: readonly BundleText[]): string {
  const hash = createHash('sha256')
  for (const { path, text } of sorted) hash.update(`${path}\0${Buffer.byteLength(text)}\0`).update(text)
  return hash.digest('hex')
}

function isTooLarge(reader: Reader, { path, text }: BundleText): boolean {
  const bytes = Buffer.byteLength(text)
  const most = fileBounds(path).bytes
  if (bytes <= most) return false
  reader.report(
    'file-too-large',
    { mark: { start: 0, end: 1 } },
    `the file has ${bytes} bytes, more than ${most}`,
  )
  return true
}

function describeFile({ path, text }: BundleText): BundleFile {
  return { path, sha256: createHash('sha256').update(text).digest('hex'), bytes: Buffer.byteLength(text) }
}

interface Parsed {
  readonly path: string
  readonly reader: Reader
  readonly doc: Doc | undefined
}

interface Checked {
  readonly routing: CheckedRouting
  readonly directory: Directory
  readonly tools: readonly CheckedTool[]
  readonly rules: readonly CheckedRuleFile[]
  readonly fieldValues: FieldValues
  readonly permitted: { readonly reader: Reader; readonly uses: readonly ToolUse[] } | undefined
}

function checkParsed(parsed: readonly Parsed[], now: number | undefined): Checked | undefined {
  const at = (path: string): Parsed | undefined => parsed.find((file) => file.path === path)
  const under = (folder: string): readonly Parsed[] => parsed.filter((file) => file.path.startsWith(folder))
  const routingFile = at('routing.yaml')
  const directoryFile = at('directory.yaml')
  const listFiles = under('lists/').filter(({ path }) => isListFile(path))
  let lists: World['lists'] | undefined
  const withFiles = (inRouting: World['lists']): World['lists'] =>
    (lists ??= withListFiles(inRouting, listFiles))
  const routing = checkFile(routingFile, (reader, doc) => checkRouting(reader, doc, withFiles))
  const directory = checkFile(directoryFile, checkDirectory)
  const tools = under('tools/').flatMap((file) => checkFile(file, checkTool) ?? [])
  const world: World = {
    tools: uniqueTools(tools),
    refused: refusedTools(under('tools/'), tools),
    lists: withFiles(new Map()),
    listsUnknown: routing === undefined,
    timezone: routing?.routing.timezone ?? 'UTC',
    allowUpTo: routing?.routing.allowUpTo ?? 'critical',
    ids: new Map(),
    fieldValues: createFieldValues(),
    now,
  }
  const rules = under('rules/').flatMap(
    (file) => checkFile(file, (reader, doc) => checkRuleFile(reader, doc, world)) ?? [],
  )
  checkLabels(tools)
  for (const tool of tools) {
    checkSensitiveFields(tool, world.fieldValues)
    checkSummaryFields(tool, world.fieldValues)
  }
  checkPatternCost(tools, rules)
  if (!routing || !directory || !routingFile) return undefined
  checkRetentionOfLimits(routingFile.reader, routing.retention, rules)
  checkRetentionOfTasks(routingFile.reader, routing.retention, rules)
  checkGroupNames(routingFile.reader, routing.groups, directory)
  for (const file of rules) checkGroupNames(file.reader, file.groups, directory)
  checkLevelQuorums(routingFile.reader, routing, directory)
  const staffing = { tools: world.tools, routing: routing.routing, directory }
  checkLevelPairs(routingFile.reader, routing.groups, { ...staffing, files: rules })
  checkRuleQuorums(rules, staffing)
  const permitted = checkFile(directoryFile, (reader, doc) => ({ reader, uses: toolsOfAgents(doc) }))
  return { routing, directory, tools, rules, fieldValues: world.fieldValues, permitted }
}

function checkFile<T>(
  file: Parsed | undefined,
  check: (reader: Reader, doc: Doc) => T | undefined,
): T | undefined {
  return file?.doc && check(file.reader, file.doc)
}

function uniqueTools(tools: readonly CheckedTool[]): World['tools'] {
  const unique = new Map<string, CheckedTool>()
  for (const tool of tools) {
    const first = unique.get(tool.contract.name)
    if (!first) unique.set(tool.contract.name, tool)
    else
      tool.reader.report(
        'duplicate-tool',
        tool.nameAt,
        `tool \`${tool.contract.name}\` has another contract in ${first.reader.source.path}`,
      )
  }
  uniqueSources([...unique.values()])
  return new Map([...unique].map(([name, tool]) => [name, tool.contract]))
}

const NAME_IN_TEXT = /^[ {]*["']?tool["']?[ ]*:[ ]*["']?([A-Za-z0-9_.:/-]+)/m

/** Returns the probable tools of contracts with errors, based on the contracts' text and file names. */
function refusedTools(files: readonly Parsed[], tools: readonly CheckedTool[]): ReadonlySet<string> {
  const usable = new Set(tools.map((tool) => tool.reader.source.path))
  const names = files
    .filter(({ path }) => !usable.has(path))
    .flatMap(({ path, reader }) => {
      const ofFile = path.replace(/^.*\//, '').replace(/\.\w+$/, '')
      return [ofFile, NAME_IN_TEXT.exec(reader.source.text)?.[1] ?? ofFile]
    })
  return new Set(names)
}

/** The maximum number of distinct labels to compare with each other. */
const MAX_COMPARED_LABELS = 300
const SHORTEST_COMPARED_LABEL = 4

function checkLabels(tools: readonly CheckedTool[]): void {
  const seen: string[] = []
  for (const { labelsAt, reader } of tools) {
    for (const at of labelsAt) {
      if (at.kind !== 'text' || seen.includes(at.value)) continue
      const twin = seen.find((label) => isNear(label, at.value))
      if (twin !== undefined)
        reader.report(
          'near-duplicate-label',
          at,
          `label \`${at.value}\` is almost \`${twin}\``,
          'a rule about one of them does not see the other',
        )
      if (seen.length < MAX_COMPARED_LABELS) seen.push(at.value)
    }
  }
}

function isNear(a: string, b: string): boolean {
  if (a.toLowerCase() === b.toLowerCase()) return true
  const long = Math.min(a.length, b.length) >= SHORTEST_COMPARED_LABEL
  return long && Math.abs(a.length - b.length) <= 1 && editDistance(a, b) === 1
}

function linkTools(tools: readonly CheckedTool[], rules: readonly CheckedRuleFile[]): readonly ToolIr[] {
  const files = new Map<string, number[]>(tools.map((tool) => [tool.contract.name, []]))
  rules.forEach((file, index) => {
    for (const name of file.tools) files.get(name)?.push(index)
  })
  return tools.map(({ contract }) => ({ contract, ruleFiles: files.get(contract.name) ?? [] }))
}
