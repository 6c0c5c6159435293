import type { JsonObject } from '../../contract/json.ts'
import { LIMITS } from '../../contract/limits.ts'
import { longTextError, longTextsIn, type TextPlace } from '../../contract/long-texts.ts'
import type { PayloadProblem } from '../language/snapshot.ts'
import { schemaValues } from './values.ts'

/** Reports strings that exceed the general limit (docs/limits.md), unless the contract has a larger `maxLength`. */
export function longTextProblems(schema: JsonObject, payload: JsonObject): readonly PayloadProblem[] {
  return longTextsIn(payload)
    .filter((place) => !permitsLong(schema, place))
    .map(longTextError)
}

/** True when the contract's `maxLength` exceeds the general limit. Every branch for the field needs a `maxLength`. */
function permitsLong(schema: JsonObject, place: TextPlace): boolean {
  const most = schemaValues(schema, place).texts?.max ?? 0
  return most > LIMITS.STRING_BYTES && Number.isFinite(most)
}
