import { rank } from '../check/change.ts'
import type { BundleDiff } from './diff.ts'
import type { Change, ToolDiff } from './tool.ts'
import type { Unsure } from './unsure.ts'
import { showExample } from './words.ts'

/** The maximum number of places to print for one change. The output counts the others. */
const MAX_PLACES = 8

/** Prints the difference as text, with loosened decisions first and a summary at the end. */
export function printDiff(diff: BundleDiff): string {
  const entries = [
    ...diff.tools.flatMap((tool) =>
      shownChanges(tool).map((change) => ({ order: rank(change), text: changeText(tool, change) })),
    ),
    ...[...diff.routing, ...diff.limits, ...diff.history, ...diff.directory].map((change) => ({
      order: rank(change),
      text: [`${change.direction.toUpperCase()} ${change.text}`],
    })),
  ].sort((a, b) => a.order - b.order)
  const notes = diff.tools.flatMap((tool) => [
    ...tool.notes.map((note) => `${tool.tool}: ${note}`),
    ...hiddenText(tool),
  ])
  const doubts = diff.tools.flatMap((tool) =>
    tool.doubts.map((doubt) => `${tool.tool}: not complete: ${doubt}`),
  )
  const unsure = diff.tools.flatMap(({ tool, unsure: parts }) =>
    parts.flatMap((one) => [unsureText(tool, one), `    - ${one.before}`, `    + ${one.after}`]),
  )
  return [...entries.flatMap(({ text }) => text), ...unsure, ...notes, ...doubts, summaryOf(diff)].join('\n')
}

export function unsureText(tool: string, { kind, part }: Unsure): string {
  const wanted = kind === 'may tighten' ? 'stricter' : 'looser'
  return `${tool} ${kind.toUpperCase()} ${part}: it differs, and no example has a ${wanted} decision by it`
}

/**
 * Returns the changes to print. Changes that require a claimed risk_level mostly repeat other changes, so they appear
 * only when they are worse than all others.
 */
export function shownChanges({ changes }: ToolDiff): readonly Change[] {
  const worst = Math.min(...changes.filter(({ raised }) => !raised).map(rank))
  return changes.filter((change) => !change.raised || rank(change) < worst)
}

export function hiddenText(tool: ToolDiff): readonly string[] {
  const hidden = tool.changes.length - shownChanges(tool).length
  const changes = hidden === 1 ? '1 more change shows' : `${hidden} more changes show`
  return hidden === 0
    ? []
    : [`${tool.tool}: ${changes} only when the agent claims a higher risk_level (--format json lists all)`]
}

export function headline(tool: string, { direction, before, after }: Change): string {
  return `${tool} ${direction.toUpperCase()} ${before} -> ${after}`
}

function changeText({ tool }: ToolDiff, change: Change): readonly string[] {
  const [first = 'always', ...others] = placesOf(change)
  const head = `${headline(tool, change)} ${first}`
  return [head, ...others.map((place) => `    or ${place}`), `    ${exampleText(change)}`]
}

export function placesOf({ where, rough }: Change): readonly string[] {
  const shown = where.slice(0, MAX_PLACES)
  const more = where.length - shown.length
  const all = more > 0 ? [...shown, `in ${more} more places (--format json lists them)`] : shown
  return rough ? all.map((place) => `in some calls ${place}`) : all
}

export function exampleText({ example: { call, beforeBy, afterBy } }: Change): string {
  const facts = [call.riskLevel && `risk_level ${call.riskLevel}`].filter((fact) => fact !== undefined)
  const by = [beforeBy, afterBy].map((ids) => ids.join(', ') || 'contract')
  return `e.g. ${[showExample(call.payload), ...facts].join(', ')}: by ${by.join(' -> ')}`
}

export function summaryOf({
  complete,
  cells,
  tools,
  routing,
  limits,
  history,
  directory,
}: BundleDiff): string {
  const changes = [...tools.flatMap((tool) => tool.changes), ...routing, ...limits, ...history, ...directory]
  const count = (direction: Change['direction']): number =>
    changes.filter((change) => change.direction === direction).length
  const unsure = tools.flatMap((tool) => tool.unsure.map(({ kind }) => kind))
  const counts = [
    `${count('loosens')} loosened`,
    `${count('tightens')} tightened`,
    ...(changes.length > 0 ? [`${count('changes')} changed otherwise`] : []),
    ...[...new Set(unsure)].map((kind) => `${unsure.filter((one) => one === kind).length} ${kind}`),
  ]
  const found = changes.length + unsure.length === 0 ? 'no change of any decision' : counts.join(', ')
  return `${found}; ${complete ? 'complete' : 'sampled'}: ${cells.toLocaleString('en-US')} cells`
}
