import { MISSING, UNREADABLE, walk, type Reading } from './reading.ts'
import type { FieldIr } from './rule.ts'
import { FACTS, type Facts } from './facts.ts'
import type { FieldRead } from './snapshot.ts'

/** Reads one field of a call. */
export type Read = (facts: Facts) => Reading

/** Compiles a reader for a field. */
export function compileRead(field: FieldIr): Read {
  return field.root === 'payload' ? compilePayloadRead(field.path) : FACTS[field.root].read
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
