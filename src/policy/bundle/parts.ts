import type { JsonObject } from '../../contract/json.ts'
import type { Diagnostic } from '../report/diagnostics.ts'
import type { BundleHead, BundleIr, RuleFileIr, ToolIr } from '../language/rule.ts'
import type { BundleFile, BundleText, NewerDirectory, ToolContract } from '../language/snapshot.ts'

/**
 * A message of the child process. The host requests each part with `next`, so that its event loop never blocks for
 * long.
 */
export type LoadPart =
  | { readonly kind: 'head'; readonly head: Omit<BundleHead, 'files' | 'diagnostics'> }
  | { readonly kind: 'files'; readonly files: readonly BundleFile[] }
  | { readonly kind: 'diagnostics'; readonly diagnostics: readonly Diagnostic[] }
  | { readonly kind: 'tools'; readonly tools: readonly PackedTool[] }
  | { readonly kind: 'rules'; readonly ruleFiles: readonly PackedFile[] }
  | { readonly kind: 'texts'; readonly texts: readonly BundleText[] }
  | { readonly kind: 'done' }
  | {
      readonly kind: 'failed'
      readonly diagnostics: readonly Diagnostic[]
      readonly revision: string
      readonly newer: NewerDirectory | undefined
    }

/** A tool whose schema, its largest member, is JSON text. */
type PackedTool = Omit<ToolIr, 'contract'> & {
  readonly contract: Omit<ToolContract, 'inputSchema'>
  readonly inputSchema: string
}

/** A rule file as JSON text, parsed on the first use of a tool that it applies to. */
type PackedFile = string

/** The number of rules, contracts, files or findings in one part. */
const PART_SIZE = 100
/** Characters of texts that count as one rule. */
const CHARACTERS_OF_RULE = 1_000

/** Splits a checked bundle into parts of bounded size. */
export function* splitBundle(ir: BundleIr): Generator<LoadPart> {
  const { files, diagnostics, ...head } = ir.head
  yield { kind: 'head', head }
  for (const some of chunk(files, () => 1)) yield { kind: 'files', files: some }
  for (const some of chunk(diagnostics, () => 1)) yield { kind: 'diagnostics', diagnostics: some }
  for (const some of chunk(ir.tools, () => 1)) yield { kind: 'tools', tools: some.map(packTool) }
  for (const some of chunk(ir.ruleFiles, (file) => file.rules.length))
    yield { kind: 'rules', ruleFiles: some.map((file) => JSON.stringify(file)) }
  for (const some of chunk(ir.texts, ({ text }) => text.length / CHARACTERS_OF_RULE))
    yield { kind: 'texts', texts: some }
  yield { kind: 'done' }
}

/** Joins the parts of a bundle. */
export function createAssembly(): { add(part: LoadPart): void; bundle(): BundleIr | undefined } {
  let head: Omit<BundleHead, 'files' | 'diagnostics'> | undefined
  const files: BundleFile[] = []
  const diagnostics: Diagnostic[] = []
  const tools: ToolIr[] = []
  const ruleFiles: RuleFileIr[] = []
  const texts: BundleText[] = []
  return {
    add(part) {
      if (part.kind === 'head') head = part.head
      else if (part.kind === 'files') files.push(...part.files)
      else if (part.kind === 'diagnostics') diagnostics.push(...part.diagnostics)
      else if (part.kind === 'tools') tools.push(...part.tools.map(unpackedTool))
      else if (part.kind === 'rules') ruleFiles.push(...part.ruleFiles.map(unpacked))
      else if (part.kind === 'texts') texts.push(...part.texts)
    },
    bundle: () => head && { head: { ...head, files, diagnostics }, tools, ruleFiles, texts },
  }
}

function packTool({ contract, ...rest }: ToolIr): PackedTool {
  const { inputSchema, ...described } = contract
  return { ...rest, contract: described, inputSchema: JSON.stringify(inputSchema) }
}

function unpackedTool({ contract, inputSchema: text, ...rest }: PackedTool): ToolIr {
  let schema: JsonObject | undefined
  return {
    ...rest,
    contract: {
      ...contract,
      get inputSchema() {
        return (schema ??= JSON.parse(text) as JsonObject)
      },
    },
  }
}

/**
 * Parses a rule file on first use. If ten thousand rules were objects, the garbage collector would copy, traverse and
 * move them at every load. The collector does not traverse strings.
 */
function unpacked(text: PackedFile): RuleFileIr {
  let file: RuleFileIr | undefined
  const open = (): RuleFileIr => (file ??= JSON.parse(text) as RuleFileIr)
  return {
    get path() {
      return open().path
    },
    get catchAll() {
      return open().catchAll
    },
    get missingMeans() {
      return open().missingMeans
    },
    get rules() {
      return open().rules
    },
    get limits() {
      return open().limits
    },
  }
}

function* chunk<T>(items: readonly T[], size: (item: T) => number): Generator<readonly T[]> {
  let part: T[] = []
  let filled = 0
  for (const item of items) {
    part.push(item)
    filled += size(item)
    if (filled < PART_SIZE) continue
    yield part
    part = []
    filled = 0
  }
  if (part.length > 0) yield part
}
