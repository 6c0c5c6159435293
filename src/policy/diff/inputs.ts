import type { FunctionName } from '../language/function-names.ts'
import { FUNCTIONS } from '../language/functions.ts'

/** The maximum number of raw strings to combine with each result. */
const MAX_COMPANIONS = 24

/**
 * Returns inputs that the function turns into these results, each alone and combined with `raw`, and inputs that it
 * cannot read.
 */
export function inputsOf(
  fn: FunctionName,
  results: readonly string[],
  raw: readonly string[],
): readonly string[] {
  const row = FUNCTIONS[fn]
  const few = raw.slice(0, MAX_COMPANIONS)
  return [
    ...[...results, ...row.seeds].flatMap((result) => row.inputs(result, few)),
    ...row.unreadable,
    ...few.map((text) => `${text} '`),
  ]
}
