import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { Scalar } from '../language/compiled-test.ts'
import { ANYTHING, TEXT, type Shape } from './shapes.ts'
import { OPERATORS, WRITTEN_NAMES, type Of, type OperatorName } from '../language/operators.ts'

/** Collects schemas by name, one for each name. */
export interface Definitions {
  /** Returns a reference to the definition for a name, creating the definition if the name is new. */
  named(name: string, make: () => JsonObject): JsonObject
  readonly all: Readonly<Record<string, JsonObject>>
}

export function createDefinitions(): Definitions {
  const all: Record<string, JsonObject> = {}
  const keys = new Map<string, string>()
  return {
    all,
    named(name, make) {
      const known = keys.get(name)
      if (known !== undefined) return { $ref: `#/definitions/${known}` }
      // The key is a word and a number. References are URIs, in which a tool's name would need escaping.
      const key = `${name.split(' ')[0] ?? ''}-${keys.size + 1}`
      keys.set(name, key)
      // The key is set first, so that a definition can refer to itself.
      all[key] = {}
      all[key] = make()
      return { $ref: `#/definitions/${key}` }
    },
  }
}

/** The lists of the bundle, in order of their names. The values of a list in a file of its own are not read. */
export type EditorLists = ReadonlyMap<string, readonly Scalar[] | undefined>

export interface TestSchemas {
  readonly definitions: Definitions
  readonly lists: EditorLists
  /** Returns the schema of a match about an entry of a list. */
  entryMatch(schemas: TestSchemas, entry: Shape): JsonObject
}

/**
 * Returns the schema of the tests (docs/policy-language.md) that fit a field of this shape. Where possible, the result
 * is one schema with several types, because editors explain only one branch of a choice.
 */
export function testSchema(schemas: TestSchemas, shape: Shape): JsonObject {
  return schemas.definitions.named(`test ${signature(shape)}`, () => testOf(schemas, shape, {}))
}

/** Returns the schema of the test, and of the operators that are only for this place. */
function testOf(schemas: TestSchemas, shape: Shape, more: JsonObject): JsonObject {
  const own = mapping(schemas, shape)
  const properties = { ...(own['properties'] as JsonObject), ...more }
  const rest = { ...own, properties, ...(isScalar(shape) && values(schemas, shape)) }
  if (shape.values) {
    const types = isScalar(shape) ? ['array', 'object'] : ['object']
    return { anyOf: [literal(schemas, shape, true), { ...rest, type: types }] }
  }
  const words = reserved(schemas, shape, true)
  return {
    ...rest,
    type: typesOf(shape),
    examples: words,
    ...(has(shape, 'text') ? unknownList(schemas, shape) : only(words)),
  }
}

/** Returns the JSON types of a test. A string always fits, because `missing` and list names are strings. */
function typesOf(shape: Shape): readonly string[] {
  const types = { number: has(shape, 'number'), boolean: has(shape, 'boolean'), array: isScalar(shape) }
  return ['object', 'string', ...Object.entries(types).flatMap(([type, is]) => (is ? type : []))]
}

/** Returns a string that is equal for shapes that accept the same tests. */
function signature(shape: Shape): string {
  const { kinds, values, item } = shape
  const inner = item ? ` of ${signature(item)} ${item.entry?.key ?? ''}` : ''
  return `${kinds.filter((kind) => kind !== 'object').join('|')}${shape.nullable ? '|null' : ''}${inner}${values ? ` ${JSON.stringify(values)}` : ''}`
}

const has = (shape: Shape, kind: Shape['kinds'][number]): boolean => shape.kinds.includes(kind)

/** Returns the strings that are not literal values: list names, and the reserved words of the short form. */
function reserved(schemas: TestSchemas, shape: Shape, bare: boolean): readonly string[] {
  const names = listsFor(schemas, shape).map((name) => `$${name}`)
  return [...(bare ? ['missing', 'present'] : []), ...names]
}

/** Returns the names of the lists that the field can equal: every value fits. */
function listsFor({ lists }: TestSchemas, shape: Shape): readonly string[] {
  const kinds = { string: 'text', number: 'number', boolean: 'boolean' } as const
  const isPossible = (value: Scalar): boolean =>
    shape.values?.includes(value) ?? has(shape, kinds[typeof value as keyof typeof kinds])
  return [...lists].flatMap(([name, values]) =>
    (values?.every(isPossible) ?? has(shape, 'text')) ? [name] : [],
  )
}

function literal(schemas: TestSchemas, shape: Shape, bare: boolean): JsonObject {
  const words = reserved(schemas, shape, bare)
  if (shape.values) return { enum: [...shape.values.map(escaped), ...words] }
  const types = typesOf(shape).filter((type) => type !== 'object' && type !== 'array')
  if (has(shape, 'text')) return { type: types, ...unknownList(schemas, shape) }
  const others = types.filter((type) => type !== 'string')
  if (words.length === 0) return others.length > 0 ? { type: others } : { not: {} }
  return { type: types, examples: words, ...only(words) }
}

/** Returns a schema that refuses all other strings. Values of other types pass. */
function only(words: readonly string[]): JsonObject {
  return { pattern: `^(?:${words.map((word) => word.replaceAll(/[.$]/g, '\\$&')).join('|')})$` }
}

/** Returns the literal for a value. In a literal, a leading `$` is written `$$`. */
function escaped(value: string | number | boolean): JsonValue {
  return typeof value === 'string' && value.startsWith('$') ? `$${value}` : value
}

/** Returns a schema that refuses unknown list names (`$list`), and lists that never fit. */
function unknownList(schemas: TestSchemas, shape: Shape): JsonObject {
  const names = listsFor(schemas, shape).map((name) => `${name.replaceAll('.', '\\.')}$`)
  return { pattern: `^(?!\\$)|^\\$(?:${['\\$', ...names].join('|')})` }
}

function isScalar(shape: Shape): boolean {
  return has(shape, 'text') || has(shape, 'number') || has(shape, 'boolean')
}

function values(schemas: TestSchemas, shape: Shape): JsonObject {
  return { type: 'array', minItems: 1, items: literal(schemas, shape, false) }
}

function oneOrMore(schemas: TestSchemas, shape: Shape): JsonObject {
  return { anyOf: [literal(schemas, shape, false), values(schemas, shape)] }
}

function equal(schemas: TestSchemas, shape: Shape): JsonObject {
  const isNull = shape.nullable ? [{ type: 'null' }] : []
  const choices = isScalar(shape) ? [literal(schemas, shape, false), values(schemas, shape)] : []
  return { anyOf: [...choices, ...isNull] }
}

/** Returns the operators that fit the shape, each with the `doc` from its row in the operator table. */
function mapping(schemas: TestSchemas, shape: Shape): JsonObject {
  const fitting = WRITTEN_NAMES.filter((name) => isFor(OPERATORS[name].of, shape))
  const properties = fitting.map((name) => {
    const { doc } = OPERATORS[name]
    return [name, described(operandSchema(schemas, shape, name), doc)]
  })
  return {
    type: 'object',
    minProperties: 1,
    additionalProperties: false,
    properties: Object.fromEntries(properties) as JsonObject,
  }
}

function isFor(of: Of, shape: Shape): boolean {
  if (of === 'anything') return true
  if (of === 'scalar') return isScalar(shape) || shape.nullable === true
  return of === 'text or list' ? has(shape, 'text') || has(shape, 'list') : has(shape, of)
}

function operandSchema(schemas: TestSchemas, shape: Shape, name: OperatorName): JsonObject {
  const { operand, of } = OPERATORS[name]
  const entry = shape.item ?? ANYTHING
  if (operand === 'number') return { type: 'number' }
  if (operand === 'texts') return oneOrMore(schemas, TEXT)
  if (operand === 'entry test') return entryTest(schemas, entry)
  if (operand === 'length test') {
    const where = described(entryTest(schemas, entry), 'Only entries that pass this test count.')
    const key = `count ${signature({ kinds: [], item: entry })}`
    return schemas.definitions.named(key, () => testOf(schemas, { kinds: ['number'] }, { where }))
  }
  if (operand !== 'scalars') return testSchema(schemas, shape)
  if (of === 'scalar') return equal(schemas, shape)
  return oneOrMore(schemas, has(shape, 'text') ? (has(shape, 'list') ? ANYTHING : TEXT) : entry)
}

/** Returns the schema of the test of an entry. An object also takes a match, whose fields begin with a dot. */
function entryTest(schemas: TestSchemas, entry: Shape): JsonObject {
  if (!has(entry, 'object')) return testSchema(schemas, entry)
  const match = schemas.entryMatch(schemas, entry)
  const isObject = !isScalar(entry) && !has(entry, 'list') && entry.nullable !== true
  return isObject ? match : { anyOf: [match, testSchema(schemas, entry)] }
}

function described(schema: JsonObject, description: string): JsonObject {
  return '$ref' in schema ? { allOf: [schema], description } : { ...schema, description }
}
