import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { FieldRoot } from '../language/rule.ts'
import { MISSING } from '../language/reading.ts'
import { type Call, type History, NO_HISTORY } from '../language/snapshot.ts'
import { classify, type Dimension, type Value } from './dimension.ts'
import { addTest, createPlace } from './place.ts'
import type { Leaf } from './side.ts'
import { wholePart } from './subschema.ts'
import { valuesFor } from './values.ts'

/** A trusted fact of a call: its possible values, and a function that sets it. */
export interface Fact {
  readonly schema: JsonObject
  readonly optional: boolean
  readonly put: (call: Call, value: JsonValue) => Call
}

const member =
  (name: 'agent' | 'tenant' | 'workflow' | 'label' | 'subject'): Fact['put'] =>
  (call, value) => ({ ...call, [name]: value })

/**
 * Returns the fact for tools or labels of earlier calls. The fact may contain any string, even if no tool of a bundle
 * has it.
 */
function earlier(name: keyof History): Fact {
  const put: Fact['put'] = (call, value) => ({
    ...call,
    history: { ...(call.history ?? NO_HISTORY), [name]: value },
  })
  return { schema: { type: 'array', items: { type: 'string' } }, optional: false, put }
}

/**
 * The facts that vary. A field root without a row keeps its value, and `diff` then reports the difference as
 * incomplete.
 */
export const FACTS: Partial<Record<FieldRoot, Fact>> = {
  'agent.id': {
    schema: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' },
    optional: false,
    put: member('agent'),
  },
  'agent.tenant': {
    schema: { type: 'string', pattern: '^[a-z0-9-]+$' },
    optional: false,
    put: member('tenant'),
  },
  'task.workflow': { schema: { type: 'string' }, optional: true, put: member('workflow') },
  'task.label': { schema: { type: 'string' }, optional: true, put: member('label') },
  'task.subject': { schema: { type: 'string' }, optional: true, put: member('subject') },
  'task.tools': earlier('taskTools'),
  'task.labels': earlier('taskLabels'),
  'agent.tools': earlier('agentTools'),
  'agent.labels': earlier('agentLabels'),
}

export function factDimension(
  { root, fact, leaves }: { readonly root: FieldRoot; readonly fact: Fact; readonly leaves: readonly Leaf[] },
  base: Call,
): Dimension {
  const wanted = createPlace()
  for (const { field, test } of leaves) if (field !== 'until' && test) addTest(wanted, field, test)
  const { values, exact } = valuesFor(wanted, [wholePart(fact.schema)])
  const place = (call: Call, value: Value): Call => (value === MISSING ? call : fact.put(call, value))
  const classes = classify(fact.optional ? [...values, MISSING] : values, {
    leaves,
    callWith: (value) => place(base, value),
    fits: () => [true, true],
  })
  const doubts = exact ? [] : [`not every kind of ${root} has an example`]
  return { name: root, leaves, classes, named: wanted.looks.texts, doubts, place }
}
