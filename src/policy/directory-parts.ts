import type { Diagnostic } from './diagnostics.ts'
import type { BundleHead, BundleIr, RuleFileIr, ToolIr } from './ir.ts'

/** What the worker thread sends; the host answers each part with `next`, so that receiving never blocks its event loop for long. */
export type LoadPart =
  | { readonly kind: 'head'; readonly head: BundleHead }
  | { readonly kind: 'tools'; readonly tools: readonly ToolIr[] }
  | { readonly kind: 'rules'; readonly ruleFiles: readonly RuleFileIr[] }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly diagnostics: readonly Diagnostic[]; readonly revision: string }

/** Rules, or contracts, in one part. */
const PART_SIZE = 200

/** A checked bundle in parts of bounded size. */
export function* splitBundle(ir: BundleIr): Generator<LoadPart> {
  yield { kind: 'head', head: ir.head }
  for (const tools of chunk(ir.tools, () => 1)) yield { kind: 'tools', tools }
  for (const ruleFiles of chunk(ir.ruleFiles, (file) => file.rules.length)) yield { kind: 'rules', ruleFiles }
  yield { kind: 'done' }
}

/** Puts the parts together again. */
export function createAssembly(): { add(part: LoadPart): void; bundle(): BundleIr | undefined } {
  let head: BundleHead | undefined
  const tools: ToolIr[] = []
  const ruleFiles: RuleFileIr[] = []
  return {
    add(part) {
      if (part.kind === 'head') head = part.head
      else if (part.kind === 'tools') tools.push(...part.tools)
      else if (part.kind === 'rules') ruleFiles.push(...part.ruleFiles)
    },
    bundle: () => head && { head, tools, ruleFiles },
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
