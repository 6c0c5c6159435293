import { MAX_SCHEMA_WEIGHT } from '../text/bounds.ts'
import type { Doc, DocMap } from '../yaml/parse.ts'
import { resolveRef } from './ref.ts'
import type { Reader } from '../yaml/shape.ts'

/** Keywords whose sub-schemas apply to the same value. */
const SAME_VALUE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas']
/** Keywords whose sub-schemas may apply to the same child in addition to `properties` or `prefixItems`. */
const EVERY_CHILD = [
  'patternProperties',
  'propertyNames',
  'contains',
  'unevaluatedProperties',
  'unevaluatedItems',
]
/** Keywords that apply at most one of their sub-schemas to each child. */
const ONE_CHILD = ['properties', 'additionalProperties', 'prefixItems', 'items']

interface Costing {
  readonly root: DocMap
  readonly weights: Map<Doc, number>
  readonly open: Set<Doc>
  readonly recursive: Set<Doc>
}

/**
 * Bounds the cost of validating one value. A schema may refer to itself (a tree), but only once for the same part of a
 * payload. Otherwise, the cost grows exponentially with depth. With its references unfolded, a schema must not exceed
 * MAX_SCHEMA_WEIGHT.
 */
export function checkSchemaCost(reader: Reader, root: DocMap): void {
  const costing: Costing = { root, weights: new Map(), open: new Set(), recursive: new Set() }
  if (weigh(costing, root) > MAX_SCHEMA_WEIGHT) {
    reader.report('bad-schema', root, `input_schema unfolds into more than ${MAX_SCHEMA_WEIGHT} parts`)
    return
  }
  for (const target of costing.recursive) {
    if (meetsItself(costing, target)) {
      const message = 'this schema refers to itself for the same part of a payload: no payload can be checked'
      reader.report('bad-schema', target, message)
      return
    }
    if (countRecursion(costing, target) > 1) {
      reader.report(
        'bad-schema',
        target,
        'this schema refers to itself more than once for the same part of a payload',
      )
    }
  }
}

/** Counts the parts of the schema with references unfolded once. Marks the targets of recursive references. */
function weigh(costing: Costing, schema: Doc): number {
  if (schema.kind !== 'map') return 1
  const known = costing.weights.get(schema)
  if (known !== undefined) return known
  costing.open.add(schema)
  let weight = 1
  const target = targetOf(costing, schema)
  if (target !== undefined) {
    if (costing.open.has(target)) costing.recursive.add(target)
    else weight += weigh(costing, target)
  }
  for (const keyword of [...SAME_VALUE, ...EVERY_CHILD, ...ONE_CHILD]) {
    for (const child of childrenOf(schema, keyword)) weight += weigh(costing, child)
  }
  costing.open.delete(schema)
  costing.weights.set(schema, weight)
  return weight
}

/** Returns true when a schema applies itself to the same value, so that validation would never end. */
function meetsItself(costing: Costing, target: Doc): boolean {
  const seen = new Set(askedOf(costing, target))
  for (const schema of seen) for (const one of askedOf(costing, schema)) seen.add(one)
  return seen.has(target)
}

/** Returns the schemas that a schema applies to the same value. */
function askedOf(costing: Costing, schema: Doc): readonly Doc[] {
  if (schema.kind !== 'map') return []
  const named = targetOf(costing, schema)
  const beside = SAME_VALUE.flatMap((keyword) => childrenOf(schema, keyword))
  return named === undefined ? beside : [named, ...beside]
}

/** Counts how often one part of a payload can meet a recursive reference in this schema. */
function countRecursion(costing: Costing, schema: Doc, followed: ReadonlySet<Doc> = new Set()): number {
  if (schema.kind !== 'map') return 0
  let count = 0
  const target = targetOf(costing, schema)
  if (target !== undefined) {
    if (costing.recursive.has(target)) count++
    else if (!followed.has(target)) count += countRecursion(costing, target, new Set([...followed, target]))
  }
  const inner = (keyword: string): number[] =>
    childrenOf(schema, keyword).map((child) => countRecursion(costing, child, followed))
  for (const keyword of [...SAME_VALUE, ...EVERY_CHILD])
    count += inner(keyword).reduce((sum, one) => sum + one, 0)
  return count + Math.max(0, ...ONE_CHILD.flatMap(inner))
}

function targetOf(costing: Costing, schema: DocMap): Doc | undefined {
  const ref = schema.entries.find((entry) => entry.key === '$ref')?.value
  return ref?.kind === 'text' ? resolveRef(costing.root, ref.value) : undefined
}

function childrenOf(schema: DocMap, keyword: string): readonly Doc[] {
  const value = schema.entries.find((entry) => entry.key === keyword)?.value
  if (value === undefined) return []
  if (value.kind === 'list') return value.items
  const isMapOfSchemas =
    keyword === 'properties' || keyword === 'patternProperties' || keyword === 'dependentSchemas'
  return value.kind === 'map' && isMapOfSchemas ? value.entries.map((entry) => entry.value) : [value]
}
