import type { BundleDiff } from './diff.ts'
import type { Direction } from './outcome.ts'

/** Anything is looser than before, or so different that nobody can say which is stricter: other reviewers, say. */
export function loosens({ tools, limits, history, directory }: BundleDiff): boolean {
  const moved = (direction: Direction): boolean => direction === 'loosens' || direction === 'changes'
  const opens = tools.some((tool) =>
    tool.changes.some(({ direction, opening }) => moved(direction) && opening),
  )
  const room = limits.some(({ direction, enforced }) => enforced && moved(direction))
  const seen = history.some(({ direction }) => moved(direction))
  return opens || room || seen || directory.some(({ direction }) => direction === 'loosens')
}

/** Any call is decided otherwise, or anybody may do something else. */
export function changes({ tools, limits, history, directory }: BundleDiff): boolean {
  return (
    directory.length + limits.length + history.length > 0 || tools.some((tool) => tool.changes.length > 0)
  )
}
