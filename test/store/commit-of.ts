import type { Commit, Store } from '../../src/store/store.ts'

let commits = 0

/** A commit with everything left out that does not matter. */
export function commitOf(store: Store, parts: Partial<Commit>): Commit {
  commits += 1
  return {
    commitId: `c${commits}`,
    deadline: store.now() + 30_000,
    guards: [],
    writes: [],
    events: [],
    ...parts,
  }
}
