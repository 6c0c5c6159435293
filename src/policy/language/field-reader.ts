import { MISSING, UNREADABLE, walk, type Reading } from './reading.ts'
import type { FieldIr, FieldRoot } from './rule.ts'
import type { Facts } from './facts.ts'
import type { FieldRead } from './snapshot.ts'

/** Reads one field of a call. */
export type Read = (facts: Facts) => Reading

/** Compiles a reader for a field. Trusted facts come from the call and the contract, never from the payload. */
export function compileRead(field: FieldIr): Read {
  return field.root === 'payload' ? compilePayloadRead(field.path) : FACTS[field.root]
}

const FACTS: Readonly<Record<Exclude<FieldRoot, 'payload'>, Read>> = {
  'agent.id': ({ call }) => call.agent,
  'agent.tenant': ({ call }) => call.tenant,
  'tool.name': ({ tool }) => tool.name,
  'tool.labels': ({ tool }) => tool.labels,
  'tool.reversibility': ({ tool }) => tool.reversibility ?? MISSING,
  'task.workflow': ({ call }) => call.workflow ?? MISSING,
  'task.label': ({ call }) => call.label ?? MISSING,
  'task.subject': ({ call }) => call.subject ?? MISSING,
  // Without a history, tests of the history are UNKNOWN. An empty history is `[]`.
  'agent.tools': ({ call }) => call.history?.agentTools ?? UNREADABLE,
  'agent.labels': ({ call }) => call.history?.agentLabels ?? UNREADABLE,
  'task.tools': ({ call }) => call.history?.taskTools ?? UNREADABLE,
  'task.labels': ({ call }) => call.history?.taskLabels ?? UNREADABLE,
  'time.weekday': ({ call, clock }) => clock(call.at).weekday,
  'time.hour': ({ call, clock }) => clock(call.at).hour,
}

function compilePayloadRead(path: readonly (string | number)[]): Read {
  const [first] = path
  if (path.length !== 1 || typeof first !== 'string') return ({ call }) => walk(call.payload, path)
  return ({ call: { payload } }) => {
    const value = Object.hasOwn(payload, first) ? payload[first] : undefined
    return value === undefined ? MISSING : value
  }
}

/** Compiles a reader that records a field with a decision. The reader records an unreadable value as null. */
export function compileFieldRead(field: FieldIr, sensitive: boolean): (facts: Facts) => FieldRead {
  const read = compileRead(field)
  const missing: FieldRead = { field: field.name, state: 'missing', sensitive }
  return (facts) => {
    const value = read(facts)
    if (value === MISSING) return missing
    return { field: field.name, state: 'value', value: value === UNREADABLE ? null : value, sensitive }
  }
}
