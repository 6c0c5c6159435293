import type { LoadReport } from '../../policy/bundle/feed.ts'
import type { BundleFile, Snapshot } from '../../policy/language/snapshot.ts'
import { onOneLine } from '../terminal/visible-text.ts'

/** Maximum number of files listed in a line. */
const NAMED = 4

/**
 * Describes each load of policies in one line: the changes, or the reason why the old policy stays in force.
 * A load without changes prints no line.
 */
export function createReloadLines(): (
  report: LoadReport,
  inForce: Snapshot | undefined,
) => string | undefined {
  let before: Snapshot | undefined
  let wrong: string | undefined
  return (report, inForce) => {
    if (!report.ok) {
      const failure = failureOf(report)
      const isKnown = failure === wrong
      wrong = failure
      return isKnown ? undefined : onOneLine(failure)
    }
    const isFirst = before === undefined
    const changes = changesBetween(before?.files ?? [], inForce?.files ?? [])
    const isAfterFailure = wrong !== undefined
    before = inForce
    wrong = undefined
    if (isFirst || inForce === undefined || (changes.length === 0 && !isAfterFailure)) return undefined
    const what = changes.length === 0 ? 'as it was before' : listed(changes)
    const warnings = report.diagnostics.length
    return onOneLine(
      `policies reloaded: ${what}; ${inForce.tools.size} tools, ${inForce.ruleCount} rules, ${warnings} warnings, revision ${inForce.revision.slice(0, 12)}`,
    )
  }
}

function failureOf({ diagnostics }: LoadReport): string {
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  const [first] = errors
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  const why = first
    ? `${first.file}:${first.line}:${first.column} ${first.message}${more}`
    : 'they cannot be read'
  return `policies not reloaded: ${why}; the earlier policies stay in force`
}

/** Each file that was added, removed or changed, in path order. */
function changesBetween(before: readonly BundleFile[], after: readonly BundleFile[]): string[] {
  const old = new Map(before.map(({ path, sha256 }) => [path, sha256]))
  const now = new Map(after.map(({ path, sha256 }) => [path, sha256]))
  return [...new Set([...old.keys(), ...now.keys()])].toSorted().flatMap((path) => {
    if (old.get(path) === now.get(path)) return []
    if (!old.has(path)) return `${path} added`
    return now.has(path) ? `${path} changed` : `${path} removed`
  })
}

function listed(changes: readonly string[]): string {
  const more = changes.length - NAMED
  return [...changes.slice(0, NAMED), ...(more > 0 ? [`${more} more files`] : [])].join(', ')
}
