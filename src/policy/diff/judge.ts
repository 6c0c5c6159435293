import type { Call } from '../language/snapshot.ts'
import type { Dimension } from './dimension.ts'
import type { Result } from './outcome.ts'
import type { Side } from './side.ts'

/** Returns an example call for a path, with the first example of the path's class in each dimension. */
export function callAt(base: Call, dimensions: readonly Dimension[], path: readonly number[]): Call {
  return dimensions.reduce<Call>((call, dimension, i) => {
    const [value = null] = dimension.classes[path[i] ?? 0]?.members ?? []
    return dimension.place(call, value)
  }, base)
}

/** Returns the result of a call under one bundle, from that bundle's own contract check and evaluator. */
export async function resultOf({ bundle: { snapshot } }: Side, call: Call): Promise<Result> {
  if (snapshot.checkPayload(call.tool, call.payload).length > 0) return { kind: 'refused' }
  const { verdict, risk, requirement, by, fired } = await snapshot.judge(call)
  const enforced = fired.filter(({ mode }) => mode === 'enforced')
  const ids = new Map(enforced.map(({ id, unknown }) => [id, unknown]))
  return { kind: 'decided', verdict, risk, by, fired: ids, ...(requirement && { requirement }) }
}
