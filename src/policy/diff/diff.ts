import type { BundleIr, LimitIr } from '../language/rule.ts'
import { contractNotes } from './contracts.ts'
import type { Change } from '../check/change.ts'
import { diffDirectories } from './directories.ts'
import { diffHistory } from './history.ts'
import { diffRouting } from './routing.ts'
import { diffLimits, type LimitChange } from './limits.ts'
import type { Bundle } from './side.ts'
import { diffTool, type ToolDiff } from './tool.ts'

/** The decisions that differ between two bundles. Plain data, which `countersign diff --format json` prints. */
export interface BundleDiff {
  readonly before: BundleName
  readonly after: BundleName
  /** True when no change can be missing. */
  readonly complete: boolean
  readonly cells: number
  /** The tools with differences, in code unit order. */
  readonly tools: readonly (ToolDiff & { readonly notes: readonly string[] })[]
  readonly routing: readonly Change[]
  readonly limits: readonly LimitChange[]
  readonly history: readonly Change[]
  readonly directory: readonly Change[]
}

export interface BundleName {
  readonly revision: string
  readonly commit?: string
}

/** Compares two bundles by meaning. Evaluates one example of every kind of call with both bundles. */
export async function diffBundles(before: Bundle, after: Bundle): Promise<BundleDiff> {
  const names = [before, after].flatMap(({ ir }) => ir.tools.map(({ contract }) => contract.name))
  const tools: (ToolDiff & { readonly notes: readonly string[] })[] = []
  for (const tool of [...new Set(names)].sort()) {
    if (fingerprint(before.ir, tool) === fingerprint(after.ir, tool)) continue
    const notes = contractNotes(before.snapshot.tools.get(tool), after.snapshot.tools.get(tool))
    tools.push({ ...(await diffTool([before, after], tool)), notes })
  }
  return {
    before: nameOf(before.ir),
    after: nameOf(after.ir),
    complete: tools.every(({ doubts }) => doubts.length === 0),
    cells: tools.reduce((sum, { cells }) => sum + cells, 0),
    tools: tools.filter(({ changes, notes, doubts }) => changes.length + notes.length + doubts.length > 0),
    routing: diffRouting(before.ir, after.ir),
    limits: diffLimits(before.ir, after.ir),
    history: diffHistory(before, after),
    directory: diffDirectories(before.ir, after.ir),
  }
}

function nameOf({ head: { revision, commit } }: BundleIr): BundleName {
  return commit === undefined ? { revision } : { revision, commit }
}

/**
 * Returns everything that affects decisions about one tool, as text. A tool with equal fingerprints needs no
 * evaluation.
 */
function fingerprint(ir: BundleIr, name: string): string {
  const tool = ir.tools.find(({ contract }) => contract.name === name)
  if (!tool) return ''
  const { revision: _, ...contract } = tool.contract
  const files = tool.ruleFiles.map((index) => {
    const file = ir.ruleFiles[index]
    return (
      file && {
        ...file,
        path: '',
        rules: file.rules.map((rule) => ({ ...rule, line: 0 })),
        limits: file.limits.map(measureOf),
      }
    )
  })
  return JSON.stringify([contract, files, ir.head.routing])
}

/** Returns the members of a limit except its amount and period, which diffLimits compares. */
function measureOf({ verdict, mode, risk, sum, per }: LimitIr): Partial<LimitIr> {
  return { verdict, mode, per, ...(risk && { risk }), ...(sum && { sum }) }
}
