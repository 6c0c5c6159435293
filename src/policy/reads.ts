import { MISSING, UNREADABLE, walk, type Reading } from './fields.ts'
import type { FieldIr } from './ir.ts'
import type { Facts } from './run.ts'
import type { FieldRead } from './snapshot.ts'

/** Reads one field of a call. */
export type Read = (facts: Facts) => Reading

/** The field as the call has it. Trusted facts come from the call's own members, never from the payload. */
export function compileRead(field: FieldIr): Read {
  switch (field.root) {
    case 'payload':
      return compilePayloadRead(field.path)
    case 'agent.id':
      return ({ call }) => call.agent
    case 'agent.tenant':
      return ({ call }) => call.tenant
    case 'tool.name':
      return ({ tool }) => tool.name
    case 'tool.labels':
      return ({ tool }) => tool.labels
    case 'tool.reversibility':
      return ({ tool }) => tool.reversibility ?? MISSING
    case 'task.workflow':
      return ({ call }) => call.workflow ?? MISSING
    case 'task.label':
      return ({ call }) => call.label ?? MISSING
    case 'task.subject':
      return ({ call }) => call.subject ?? MISSING
    case 'time.weekday':
      return ({ call, clock }) => clock(call.at).weekday
    case 'time.hour':
      return ({ call, clock }) => clock(call.at).hour
  }
}

function compilePayloadRead(path: readonly (string | number)[]): Read {
  const [first] = path
  if (path.length !== 1 || typeof first !== 'string') return ({ call }) => walk(call.payload, path)
  return ({ call: { payload } }) => {
    const value = Object.hasOwn(payload, first) ? payload[first] : undefined
    return value === undefined ? MISSING : value === null ? UNREADABLE : value
  }
}

/** The field as it is recorded with a decision. What is there and unreadable is recorded as null: it reads the same again. */
export function compileFieldRead(field: FieldIr, sensitive: boolean): (facts: Facts) => FieldRead {
  const read = compileRead(field)
  const missing: FieldRead = { field: field.name, state: 'missing', sensitive }
  return (facts) => {
    const value = read(facts)
    if (value === MISSING) return missing
    return { field: field.name, state: 'value', value: value === UNREADABLE ? null : value, sensitive }
  }
}
