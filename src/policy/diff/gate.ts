import type { BundleDiff } from './diff.ts'
import type { Direction } from './outcome.ts'

/** Returns true when anything is looser, or differs without being clearly stricter (other reviewers, say). */
export function loosens({ tools, limits, history, directory }: BundleDiff): boolean {
  const moved = (direction: Direction): boolean => direction === 'loosens' || direction === 'changes'
  const opens = tools.some((tool) =>
    tool.changes.some(({ direction, opening }) => moved(direction) && opening),
  )
  const room = limits.some(({ direction, enforced }) => enforced && moved(direction))
  const seen = history.some(({ direction }) => moved(direction))
  return opens || room || seen || directory.some(({ direction }) => direction === 'loosens')
}

/** Returns true when any decision or any permission changes. */
export function changes({ tools, limits, history, directory }: BundleDiff): boolean {
  return (
    directory.length + limits.length + history.length > 0 || tools.some((tool) => tool.changes.length > 0)
  )
}
