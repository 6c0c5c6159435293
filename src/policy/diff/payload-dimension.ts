import type { JsonObject } from '../../contract/json.ts'
import { acceptanceOf, wholeAcceptanceOf } from './acceptance.ts'
import { MISSING } from '../language/reading.ts'
import type { Call } from '../language/snapshot.ts'
import { classify, type Dimension, type Fit, type Value } from './dimension.ts'
import { boundsOf } from './numbers.ts'
import { addTest, createPlace, placeAt, type Place } from './place.ts'
import { testedPayloads, type Leaf, type Side } from './side.ts'
import {
  compileFits,
  LIST_COUPLING,
  OBJECT_COUPLING,
  partBelow,
  type Part,
  propertiesOf,
  requiredOf,
  wholePart,
} from './subschema.ts'
import { literalsOf, uniqueBy, valuesFor } from './values.ts'

type Sides = readonly [Side, Side]

/** A name that represents all fields that neither a contract nor a rule names. */
export const UNNAMED = 'another_field'

/**
 * Returns the payload fields on which the contracts disagree, with UNNAMED if they disagree about undeclared fields.
 */
export function payloadNames(sides: Sides): readonly string[] {
  const parts = wholeParts(sides)
  const [before, after] = parts
  if (!before || !after) return []
  const names = [...new Set([...propertiesOf(before), ...propertiesOf(after), UNNAMED])]
  return names.filter((name) => textOf(before, name) !== textOf(after, name))
}

function textOf(part: Part, name: string): string {
  return JSON.stringify([acceptanceOf(partBelow(part, name)), requiredOf(part).includes(name)])
}

/** Returns reasons why contracts may differ although they agree on every field. */
export function wholeDoubts(sides: Sides): readonly string[] {
  const [before = '', after = before] = wholeParts(sides).map(wholeAcceptanceOf)
  return before === after ? [] : ['the contracts differ outside their fields']
}

/** Returns the input_schema from each side that has the tool. */
export function wholeParts(sides: Sides): readonly Part[] {
  return sides.flatMap(({ contract }) => (contract ? [wholePart(contract.inputSchema)] : []))
}

export function payloadDimension(
  name: string,
  leaves: readonly Leaf[],
  { sides, base }: { readonly sides: Sides; readonly base: Call },
): Dimension {
  const below = wholeParts(sides).map((part) => partBelow(part, name))
  const distinct = uniqueBy(below, acceptanceOf)
  const root = wantedOf(name, leaves)
  const { values, exact } = valuesFor(root, distinct)
  const shown = `payload.${name}`
  const place = (call: Call, value: Value): Call => ({
    ...call,
    payload: withMember(call.payload, name, value),
  })
  const tested = testedPayloads(sides, base.tool).flatMap((payload) => payload[name] ?? [])
  const classes = classify([...values, ...tested, MISSING], {
    leaves,
    callWith: (value) => place(base, value),
    fits: fitsOf(sides, name),
  })
  return {
    name: shown,
    leaves,
    classes,
    named: new Set<Value>([
      ...root.looks.texts,
      ...root.looks.numbers,
      ...literalsOf(distinct),
      ...distinct.flatMap(boundsOf),
    ]),
    doubts: [
      ...(exact ? [] : [`not every kind of ${shown} has an example`]),
      ...(distinct.length > 1 && distinct.some(isDeep)
        ? [`the contracts may differ deep inside ${shown}`]
        : []),
    ],
    place,
  }
}

function wantedOf(name: string, leaves: readonly Leaf[]): Place {
  const root = createPlace()
  for (const { field, test } of leaves)
    if (field !== 'date' && test) addTest(placeAt(root, field.path), field, test)
  return root.steps.get(name) ?? createPlace()
}

/** Returns true when the schema constrains members or items, where examples may not show a difference. */
function isDeep({ schema }: Part): boolean {
  return typeof schema === 'object' && DEEP.some((keyword) => keyword in schema)
}

const DEEP = ['properties', 'required', 'additionalProperties', 'items', ...OBJECT_COUPLING, ...LIST_COUPLING]

function withMember(payload: JsonObject, name: string, value: Value): JsonObject {
  if (value !== MISSING) return { ...payload, [name]: value }
  return Object.fromEntries(Object.entries(payload).filter(([key]) => key !== name))
}

/**
 * Returns a function that checks which contracts accept a value. A side without the tool accepts the same values as the
 * other side.
 */
function fitsOf(sides: Sides, name: string): (value: Value) => Fit {
  const checks = sides.map(({ contract }) => {
    if (!contract) return undefined
    const whole = wholePart(contract.inputSchema)
    const fits = compileFits(partBelow(whole, name))
    const required = requiredOf(whole).includes(name)
    return (value: Value): boolean => (value === MISSING ? !required : fits(value))
  })
  const [before, after] = checks
  return (value) => [(before ?? after)?.(value) ?? true, (after ?? before)?.(value) ?? true]
}
