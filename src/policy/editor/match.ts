import type { JsonObject } from '../../contract/json.ts'
import {
  ANY_INDEX,
  ANYTHING,
  entryShape,
  TEXT,
  TEXTS,
  TRUTHS,
  shapeOfFact,
  type PayloadPath,
  type Shape,
} from './shapes.ts'
import { testSchema, type TestSchemas } from './tests.ts'
import { FACT_NAMES, FACTS } from '../language/facts.ts'
import { RULE_ID } from '../yaml/shape.ts'
import {
  FUNCTION_NAMES,
  type FunctionName,
  functionText,
  givesEntries,
  givesList,
  isClauseFunction,
} from '../language/function-names.ts'
import { FUNCTIONS } from '../language/functions.ts'

interface FieldSchemas {
  readonly properties: Record<string, JsonObject>
  readonly patternProperties: Record<string, JsonObject>
}

/** Returns the schema of a match: the fields of one tool with the tests that fit them, and `any`, `all` and `not`. */
export function matchSchema(schemas: TestSchemas, name: string, paths: readonly PayloadPath[]): JsonObject {
  const self = schemas.definitions.named(`match ${name}`, () => ({}))
  const fields: FieldSchemas = { properties: {}, patternProperties: {} }
  for (const path of paths.slice(1)) addField(schemas, fields, path)
  for (const name of FACT_NAMES) {
    const shape = shapeOfFact(FACTS[name])
    fields.properties[name] = fieldSchema(schemas, shape)
    addFunctions(schemas, fields, { name, shape, open: false })
  }
  for (const path of paths.filter(({ open }) => open)) addOpen(schemas, fields, path)
  return {
    type: 'object',
    minProperties: 1,
    additionalProperties: false,
    properties: {
      ...joins(self),
      condition: {
        type: 'string',
        pattern: RULE_ID.pattern.source,
        description: 'The condition of this name, under `conditions`, holds.',
      },
      ...fields.properties,
    },
    patternProperties: fields.patternProperties,
  }
}

/** Returns the schema of a match about an entry: its members with the tests that fit them, `any`, `all` and `not`. */
export function entrySchema(schemas: TestSchemas, { entry }: Shape): JsonObject {
  const name = `entry ${entry?.key ?? ''}`
  return schemas.definitions.named(name, () => {
    const self = schemas.definitions.named(name, () => ({}))
    const fields: FieldSchemas = { properties: {}, patternProperties: {} }
    const paths = entry?.paths() ?? [{ name: '', shape: ANYTHING, open: true }]
    for (const path of paths.slice(1)) addField(schemas, fields, path)
    for (const path of paths.filter(({ open }) => open)) addOpen(schemas, fields, path)
    const properties = { ...joins(self), ...fields.properties }
    return { type: 'object', minProperties: 1, additionalProperties: false, ...fields, properties }
  })
}

function joins(self: JsonObject): Record<string, JsonObject> {
  return {
    any: { type: 'array', minItems: 1, items: self, description: 'At least one of them holds.' },
    all: { type: 'array', minItems: 1, items: self, description: 'All of them hold.' },
    not: { allOf: [self], description: 'It does not hold; unknown stays unknown.' },
  }
}

function fieldSchema(schemas: TestSchemas, shape: Shape): JsonObject {
  const test = testSchema(schemas, shape)
  return shape.description === undefined ? test : { allOf: [test], description: shape.description }
}

/**
 * Adds a field and its functions. A path through a list permits any index, and editors cannot offer completions for it.
 */
function addField(schemas: TestSchemas, fields: FieldSchemas, path: PayloadPath): void {
  put(fields, path.name, fieldSchema(schemas, path.shape))
  addFunctions(schemas, fields, path)
}

function addFunctions(schemas: TestSchemas, fields: FieldSchemas, { name, shape }: PayloadPath): void {
  const { kinds, item } = shape
  const ofTexts = kinds.includes('list') && (!item || item.kinds.includes('text'))
  if (shape.values || !(kinds.includes('text') || ofTexts)) return
  const mapped = kinds.includes('text')
    ? ofTexts
      ? { kinds: ['text', 'list'] as const, item: TEXT }
      : TEXT
    : TEXTS
  for (const fn of FUNCTION_NAMES)
    put(fields, functionText(fn, name), testSchema(schemas, resultShape(fn) ?? mapped))
}

const EVERY_INDEX = '\\[\\d*\\]'

/** Returns the shape of the results; undefined for a function that maps each text. */
function resultShape(fn: FunctionName): Shape | undefined {
  if (givesEntries(fn)) return { kinds: ['list'], item: entryShape({}, FUNCTIONS[fn].entry) }
  return givesList(fn) ? TEXTS : isClauseFunction(fn) ? TRUTHS : undefined
}

function put(
  { properties, patternProperties }: FieldSchemas,
  name: string,
  schema: JsonObject,
  index?: string,
): void {
  if (name.includes(ANY_INDEX)) patternProperties[`^${patternOf(name, index)}$`] = schema
  else properties[name] = schema
}

function patternOf(name: string, index = '\\[\\d+\\]'): string {
  return name
    .split(ANY_INDEX)
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
    .join(index)
}

/** The pattern of a member's name. */
const MEMBER = /^(?:\w+\\\()?\\\./

/** Permits any test of undeclared fields below an open path. */
function addOpen(
  schemas: TestSchemas,
  { properties, patternProperties }: FieldSchemas,
  path: PayloadPath,
): void {
  const below = `${patternOf(path.name)}[.[].+`
  const known = Object.keys(properties).map((name) => patternOf(name))
  const exact = Object.keys(patternProperties).map((pattern) => pattern.slice(1, -1))
  const others = [...known, ...exact].filter((one) => one.includes('payload') || MEMBER.test(one))
  const except = others.length === 0 ? '' : `(?!(?:${others.join('|')})$)`
  const applied = FUNCTION_NAMES.map((fn) =>
    functionText(fn, below).replaceAll(/^(\w+)\((.*)\)$/g, '$1\\($2\\)'),
  )
  patternProperties[`^${except}(?:${[below, ...applied].join('|')})$`] = testSchema(schemas, ANYTHING)
}

/** Returns the schema of `missing_means`. */
export function missingMeansSchema(paths: readonly PayloadPath[]): JsonObject {
  const scalar = { type: ['string', 'number', 'boolean'] }
  const meaning: JsonObject = {
    anyOf: [
      { enum: ['nothing'] },
      scalar,
      { type: 'array', items: scalar },
      { type: 'object', additionalProperties: false, required: ['is'], properties: { is: scalar } },
    ],
  }
  const fields: FieldSchemas = { properties: {}, patternProperties: {} }
  for (const { name } of paths.slice(1)) put(fields, name, meaning, EVERY_INDEX)
  for (const { name } of paths.filter(({ open }) => open))
    fields.patternProperties[`^${patternOf(name)}[.[].+$`] = meaning
  for (const name of FACT_NAMES) fields.properties[name] = meaning
  return { ...fields, additionalProperties: false }
}
