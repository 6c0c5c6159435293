import type { BundleDiff } from './diff.ts'
import type { Direction } from '../check/change.ts'

/**
 * Returns true when a decision, an enforced limit or the history loosens or otherwise changes (for example, to other
 * reviewers), or when the directory does. A reject that became an invalid payload, or the reverse, does not count. A
 * part that may loosen decisions counts when no example shows its effect.
 */
export function loosens({ tools, routing, limits, history, directory }: BundleDiff): boolean {
  const moved = (direction: Direction): boolean => direction === 'loosens' || direction === 'changes'
  const opens = tools.some((tool) =>
    tool.changes.some(({ direction, opening }) => moved(direction) && opening),
  )
  const unsure = tools.some((tool) => tool.unsure.some(({ kind }) => kind !== 'may tighten'))
  const room = limits.some(({ direction, enforced }) => enforced && moved(direction))
  return (
    opens ||
    unsure ||
    room ||
    [...routing, ...history, ...directory].some(({ direction }) => moved(direction))
  )
}

/** Returns true when a decision, a limit, the history or a permission changes, or may change. */
export function changes({ tools, routing, limits, history, directory }: BundleDiff): boolean {
  return (
    directory.length + routing.length + limits.length + history.length > 0 ||
    tools.some((tool) => tool.changes.length + tool.unsure.length > 0)
  )
}
