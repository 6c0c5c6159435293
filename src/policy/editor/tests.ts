import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { ANYTHING, TEXT, type Shape } from './shapes.ts'

/** Collects schemas under names of their own; equal ones are one. */
export interface Definitions {
  /** A reference to the definition of that name, made when it is new. */
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
      // A plain word and a number: a reference is a URI, in which a name of a tool may not stand as it is.
      const key = `${name.split(' ')[0] ?? ''}-${keys.size + 1}`
      keys.set(name, key)
      // First a place, so that a definition may refer to itself.
      all[key] = {}
      all[key] = make()
      return { $ref: `#/definitions/${key}` }
    },
  }
}

export interface TestSchemas {
  readonly definitions: Definitions
  /** Names of the lists in routing.yaml. */
  readonly lists: readonly string[]
}

/**
 * The tests of docs/policy-language.md that a field of this shape can pass: what the editor completes and what it underlines. One schema with a
 * list of types rather than a choice of schemas where that can be: of a choice the editor explains only one branch.
 */
export function testSchema(schemas: TestSchemas, shape: Shape): JsonObject {
  return schemas.definitions.named(`test ${signature(shape)}`, () => {
    const rest = { ...mapping(schemas, shape), ...(isScalar(shape) && values(schemas, shape)) }
    if (shape.values) {
      const types = isScalar(shape) ? ['array', 'object'] : ['object']
      return { anyOf: [literal(schemas, shape, true), { ...rest, type: types }] }
    }
    const words = reserved(schemas, true)
    return {
      ...rest,
      type: typesOf(shape),
      examples: words,
      ...(has(shape, 'text') ? unknownList(schemas) : only(words)),
    }
  })
}

/** A text is always possible: `missing`, or a list by its name. */
function typesOf(shape: Shape): readonly string[] {
  const types = { number: has(shape, 'number'), boolean: has(shape, 'boolean'), array: isScalar(shape) }
  return ['object', 'string', ...Object.entries(types).flatMap(([type, is]) => (is ? type : []))]
}

/** Equal for shapes that take the same tests. */
function signature(shape: Shape): string {
  const { kinds, values, item } = shape
  const inner = item ? ` of ${signature(item)}` : ''
  return `${kinds.filter((kind) => kind !== 'object').join('|')}${shape.nullable ? '|null' : ''}${inner}${values ? ` ${JSON.stringify(values)}` : ''}`
}

const has = (shape: Shape, kind: Shape['kinds'][number]): boolean => shape.kinds.includes(kind)

/** What a text may be that is no value. The short form has reserved words. */
function reserved({ lists }: TestSchemas, bare: boolean): readonly string[] {
  return [...(bare ? ['missing', 'present'] : []), ...lists.map((name) => `$${name}`)]
}

function literal(schemas: TestSchemas, shape: Shape, bare: boolean): JsonObject {
  const words = reserved(schemas, bare)
  if (shape.values) return { enum: [...shape.values.map(escaped), ...words] }
  const types = typesOf(shape).filter((type) => type !== 'object' && type !== 'array')
  if (has(shape, 'text')) return { type: types, ...unknownList(schemas) }
  if (words.length === 0) return { type: types.filter((type) => type !== 'string') }
  return { type: types, examples: words, ...only(words) }
}

/** Any text but these is refused; what is no text is another keyword's business. */
function only(words: readonly string[]): JsonObject {
  return { pattern: `^(?:${words.map((word) => word.replaceAll(/[.$]/g, '\\$&')).join('|')})$` }
}

/** A text that begins with `$` is written `$$`. */
function escaped(value: string | number | boolean): JsonValue {
  return typeof value === 'string' && value.startsWith('$') ? `$${value}` : value
}

/** What begins with one `$` names a list. */
function unknownList({ lists }: TestSchemas): JsonObject {
  const names = lists.map((name) => `${name.replaceAll('.', '\\.')}$`)
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

function mapping(schemas: TestSchemas, shape: Shape): JsonObject {
  const member = shape.item ?? ANYTHING
  const properties = {
    ...((isScalar(shape) || shape.nullable) && {
      is: described(equal(schemas, shape), 'Equal to one of them.'),
    }),
    not: described(testSchema(schemas, shape), 'The opposite; unknown stays unknown.'),
    ...(has(shape, 'number') && NUMBER_TESTS),
    ...(has(shape, 'text') && textTests(schemas)),
    ...(has(shape, 'list') && listTests(schemas, member)),
    ...((has(shape, 'text') || has(shape, 'list')) && {
      contains: described(
        oneOrMore(schemas, has(shape, 'text') ? (has(shape, 'list') ? ANYTHING : TEXT) : member),
        'A substring of a text, a member of a list.',
      ),
    }),
  }
  return { type: 'object', minProperties: 1, additionalProperties: false, properties }
}

function described(schema: JsonObject, description: string): JsonObject {
  return '$ref' in schema ? { allOf: [schema], description } : { ...schema, description }
}

const NUMBER_TESTS: JsonObject = Object.fromEntries(
  [
    ['over', 'Above the number.'],
    ['at_least', 'The number or above.'],
    ['under', 'Below the number.'],
    ['at_most', 'The number or below.'],
  ].map(([op, description]) => [op, { type: 'number', description: description as string }]),
)

function textTests(schemas: TestSchemas): JsonObject {
  const texts = oneOrMore(schemas, TEXT)
  return {
    starts_with: described(texts, 'Begins with one of them.'),
    ends_with: described(texts, 'Ends with one of them.'),
    like: described(texts, 'Fits one of them as a whole; `*` is any run of characters.'),
    matches: described(
      texts,
      'One of them, a regular expression (RE2), is found anywhere; anchor it with ^ and $.',
    ),
  }
}

function listTests(schemas: TestSchemas, member: Shape): JsonObject {
  const inner = testSchema(schemas, member)
  return {
    some: described(inner, 'At least one entry passes.'),
    every: described(inner, 'All entries pass; of an empty list unknown.'),
    none: described(inner, 'No entry passes.'),
    count: described(testSchema(schemas, { kinds: ['number'] }), 'The number of entries.'),
  }
}
