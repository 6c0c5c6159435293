import { ANY_RUN, type Glob } from '../language/glob.ts'

/**
 * A finite automaton over strings. No continuation distinguishes two strings that lead to the same state. So one
 * example per state covers every answer of the tests from which the automaton was built.
 */
export interface Machine {
  readonly start: State
  step(state: State, character: number): State
  /**
   * Code points at which the automaton's behaviour may change. The automaton treats all characters between two
   * boundaries alike.
   */
  readonly boundaries: readonly number[]
}
export type State = readonly number[]

/** Builds one machine for all globs of a field. The state is the set of possible positions in the globs. */
export function globMachine(globs: readonly Glob[]): Machine {
  const starts: number[] = []
  const tokens: (number | undefined)[] = []
  const owners: number[] = []
  for (const [owner, glob] of globs.entries()) {
    starts.push(tokens.length)
    for (const token of [...glob, undefined]) {
      tokens.push(token)
      owners.push(owner)
    }
  }
  const settle = (positions: readonly number[]): State => prune(closed(positions, tokens), { tokens, owners })
  return {
    start: settle(starts),
    step(state, character) {
      const next = state.flatMap((position) => {
        const token = tokens[position]
        if (token === ANY_RUN) return [position]
        return token === character ? [position + 1] : []
      })
      return settle(next)
    },
    boundaries: globs.flat().flatMap((token) => (token === ANY_RUN ? [] : [token, token + 1])),
  }
}

function closed(positions: readonly number[], tokens: readonly (number | undefined)[]): number[] {
  const found = new Set<number>()
  for (const first of positions) {
    for (let position = first; !found.has(position); position++) {
      found.add(position)
      if (tokens[position] !== ANY_RUN) break
    }
  }
  return [...found].sort((a, b) => a - b)
}

/**
 * Removes positions before the last `*` that a glob has reached, because the `*` accepts everything that they accept.
 */
function prune(
  positions: readonly number[],
  {
    tokens,
    owners,
  }: { readonly tokens: readonly (number | undefined)[]; readonly owners: readonly number[] },
): State {
  const floor = new Map<number, number>()
  for (const position of positions) {
    if (tokens[position] === ANY_RUN) floor.set(owners[position] ?? 0, position)
  }
  const kept = positions.filter((position) => position >= (floor.get(owners[position] ?? 0) ?? 0))
  // A final `*` accepts any remaining characters, so the end position after it is redundant.
  return kept.filter((position) => tokens[position] !== undefined || tokens[position - 1] !== ANY_RUN)
}

/** Builds a machine that distinguishes strings by their length, up to `most` characters. */
export function lengthMachine(most: number): Machine {
  return {
    start: [0],
    step: ([length = 0]) => [Math.min(length + 1, most)],
    boundaries: [],
  }
}
