import type { BundleDiff } from './diff.ts'
import type { Direction } from './outcome.ts'

/** Anything is looser than before, or so different that nobody can say which is stricter: other reviewers, say. */
export function loosens({ tools, directory }: BundleDiff): boolean {
  const moved = (direction: Direction): boolean => direction === 'loosens' || direction === 'changes'
  const opens = tools.some((tool) =>
    tool.changes.some(({ direction, opening }) => moved(direction) && opening),
  )
  return opens || directory.some(({ direction }) => direction === 'loosens')
}

/** Any call is decided otherwise, or anybody may do something else. */
export function changes({ tools, directory }: BundleDiff): boolean {
  return directory.length > 0 || tools.some((tool) => tool.changes.length > 0)
}
