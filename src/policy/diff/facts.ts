import { FACTS, type FactName } from '../language/facts.ts'
import { MISSING } from '../language/reading.ts'
import type { Call } from '../language/snapshot.ts'
import { classify, type Dimension, type Value } from './dimension.ts'
import { addTest, createPlace } from './place.ts'
import type { Leaf } from './side.ts'
import { wholePart } from './subschema.ts'
import { valuesFor } from './values.ts'

export function factDimension(name: FactName, leaves: readonly Leaf[], base: Call): Dimension {
  const { schema, optional, put } = FACTS[name]
  const wanted = createPlace()
  for (const { field, test } of leaves) if (field !== 'date' && test) addTest(wanted, field, test)
  const { values, exact } = valuesFor(wanted, [wholePart(schema)])
  const place = (call: Call, value: Value): Call =>
    value === MISSING || typeof put === 'string' ? call : put(call, value)
  const classes = classify(optional ? [...values, MISSING] : values, {
    leaves,
    callWith: (value) => place(base, value),
    fits: () => [true, true],
  })
  const doubts = exact ? [] : [`not every kind of ${name} has an example`]
  return { name, leaves, classes, named: wanted.looks.texts, doubts, place }
}
