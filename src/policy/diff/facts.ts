import type { FieldRoot } from '../ir.ts'
import { MISSING } from '../fields.ts'
import type { Call } from '../snapshot.ts'
import { classify, type Dimension, type Value } from './dimension.ts'
import { addTest, createPlace } from './place.ts'
import type { Leaf } from './side.ts'
import { wholePart } from './subschema.ts'
import { valuesFor } from './values.ts'

/** A trusted fact of a call: what it may be, and how a call gets it. */
export interface Fact {
  readonly schema: { readonly type: 'string' | 'array'; readonly pattern?: string }
  readonly optional: boolean
  put(call: Call, value: string): Call
}

/** The facts that are varied. A field root without a row is kept as it is, and the difference is not called complete. */
export const FACTS: Partial<Record<FieldRoot, Fact>> = {
  'agent.id': {
    schema: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' },
    optional: false,
    put: (call, agent) => ({ ...call, agent }),
  },
  'agent.tenant': {
    schema: { type: 'string', pattern: '^[a-z0-9-]+$' },
    optional: false,
    put: (call, tenant) => ({ ...call, tenant }),
  },
  'task.workflow': {
    schema: { type: 'string' },
    optional: true,
    put: (call, workflow) => ({ ...call, workflow }),
  },
  'task.label': { schema: { type: 'string' }, optional: true, put: (call, label) => ({ ...call, label }) },
  'task.subject': {
    schema: { type: 'string' },
    optional: true,
    put: (call, subject) => ({ ...call, subject }),
  },
}

export function factDimension(
  { root, fact, leaves }: { readonly root: FieldRoot; readonly fact: Fact; readonly leaves: readonly Leaf[] },
  base: Call,
): Dimension {
  const wanted = createPlace()
  for (const { field, test } of leaves) if (field !== 'until' && test) addTest(wanted, field, test)
  const { values, exact } = valuesFor(wanted, [wholePart({ ...fact.schema })])
  const place = (call: Call, value: Value): Call => (typeof value === 'string' ? fact.put(call, value) : call)
  const classes = classify(fact.optional ? [...values, MISSING] : values, {
    leaves,
    callWith: (value) => place(base, value),
    fits: () => [true, true],
  })
  const doubts = exact ? [] : [`not every kind of ${root} has an example`]
  return { name: root, leaves, classes, named: wanted.looks.texts, doubts, place }
}
