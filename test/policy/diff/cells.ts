import { RISKS } from '../../../src/domain/decision.ts'
import type { Box } from '../../../src/policy/diff/boxes.ts'
import type { Dimension } from '../../../src/policy/diff/dimension.ts'
import type { Call } from '../../../src/policy/language/snapshot.ts'

/** The class of a call, by the answers of the tests alone. */
function classOf(dimension: Dimension, at: Call): number | undefined {
  if (dimension.name === 'risk_level') return RISKS.indexOf(at.riskLevel ?? 'low')
  return dimension.classes.find(({ truths }) =>
    dimension.leaves.every((leaf) => truths.get(leaf.key) === leaf.truth(at)),
  )?.number
}

/** Is the call in the box. */
export function holds(box: Box, dimensions: readonly Dimension[], at: Call): boolean {
  return [...box].every(([number, classes]) => {
    const found = classOf(dimensions[number] as Dimension, at)
    return found !== undefined && classes.includes(found)
  })
}
