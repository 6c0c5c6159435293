import { type JsonObject, type JsonValue, isObject, pointerStep } from '../../contract/json.ts'
import {
  importTools,
  type Effect,
  type ForeignTool,
  type ImportOptions,
  type ImportResult,
} from './contract.ts'
import { follow, importSchema, readable, type ImportNote, type SchemaImport } from './schema.ts'
import { type LoadFile, withReferredFiles } from './references.ts'
import { bodyOf, modernParameter } from './swagger.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query']
const VERSIONS = /^3\.[0-2](?:\.|$)/

/**
 * Creates contracts from OpenAPI 3.0 to 3.2 or Swagger 2.0, one for each operation. Returns undefined for other input.
 */
export function importOpenApi(
  document: JsonValue,
  options: ImportOptions & { readonly load?: LoadFile },
): ImportResult | undefined {
  if (!isObject(document)) return undefined
  const isSwagger = document['swagger'] === '2.0' && isObject(document['paths'])
  if (!isSwagger && !VERSIONS.test(textOf(document['openapi']))) return undefined
  const notes: ImportNote[] = []
  const whole = options.load ? withReferredFiles(document, options.load, notes) : document
  const paths = isObject(whole['paths']) ? whole['paths'] : {}
  const tools = Object.entries(paths).flatMap(([path, item]) =>
    path.startsWith('x-') ? [] : operationsAt({ document: whole, notes, isSwagger }, path, item),
  )
  const { files, notes: more } = importTools(tools, options)
  return { files, notes: [...notes, ...more] }
}

type Described = Pick<Operation, 'document' | 'notes' | 'isSwagger'>

function operationsAt(context: Described, path: string, item: JsonValue): ForeignTool[] {
  const pointer = `/paths${pointerStep(path)}`
  const found = resolved(context, { value: item, pointer }, path)
  if (!found) return []
  // A path item keeps the members next to its `$ref`. Other objects ignore such members.
  const whole = { ...(item as JsonObject), ...found.value }
  const others = isObject(whole['additionalOperations']) ? whole['additionalOperations'] : {}
  const operations = [
    ...METHODS.map((method) => ({ method, value: whole[method], at: method })),
    ...Object.entries(others).map(([method, value]) => ({
      method: method.toLowerCase(),
      value,
      at: `additionalOperations${pointerStep(method)}`,
    })),
  ]
  return operations.flatMap(({ method, value, at }) => {
    if (value === undefined) return []
    const operation = resolved(context, { value, pointer: `${found.pointer}/${at}` }, `${method} ${path}`)
    if (!operation) return []
    const place = { path, method, pointer: operation.pointer, item: found.pointer }
    return [toolOf({ ...context, item: whole, operation: operation.value, place })]
  })
}

interface Operation {
  readonly document: JsonObject
  readonly notes: ImportNote[]
  readonly isSwagger: boolean
  /** The path item. The path item's parameters apply to all its operations. */
  readonly item: JsonObject
  readonly operation: JsonObject
  readonly place: {
    readonly path: string
    readonly method: string
    readonly pointer: string
    /** The pointer of the path item. */
    readonly item: string
  }
}

function toolOf(context: Operation): ForeignTool {
  const { operation, place } = context
  const { operationId, summary, description } = operation
  const named =
    typeof operationId === 'string' && operationId !== '' ? operationId : `${place.method}${place.path}`
  const texts = [description, summary].filter((one) => typeof one === 'string' && one.trim() !== '')
  return {
    name: named,
    description: texts[0] as string | undefined,
    schema: (task) => payloadSchema(context, task),
    root: context.document,
    rootPointer: '',
    pointer: place.pointer,
    effect: EFFECTS[place.method] ?? { risk: 'medium', reversibility: 'external', because: place.method },
  }
}

const READS: Effect = { risk: 'low', reversibility: 'read_only', because: 'a method that only reads' }
const EFFECTS: Readonly<Record<string, Effect>> = {
  get: READS,
  head: READS,
  options: READS,
  trace: READS,
  delete: { risk: 'high', reversibility: 'irreversible', because: 'DELETE' },
}

/** An object in the document, with its position (JSON Pointer). */
interface Placed {
  readonly value: JsonObject
  readonly pointer: string
}

/** Returns the schema of the payload: parameters by their names, and the request body as `body`. */
function payloadSchema(context: Operation, task: SchemaImport): JsonObject {
  const fields = new Map<string, JsonValue>()
  const required: string[] = []
  const add = (name: string, part: Placed, media: Media): void => {
    const schema = described(media.schema ?? {}, part.value['description'])
    fields.set(name, importSchema(task, schema, `${part.pointer}${media.pointer}`))
    if (part.value['required'] === true) required.push(name)
  }
  const isFree = (name: string): boolean => name !== 'body' && !fields.has(name)
  const { parameters, isWhole } = parametersOf(context)
  const inBody = (part: Placed): boolean => ['body', 'formData'].includes(textOf(part.value['in']))
  const plain = context.isSwagger ? parameters.filter((part) => !inBody(part)) : parameters
  for (const placedPart of plain) {
    const part = context.isSwagger ? { ...placedPart, value: modernParameter(placedPart.value) } : placedPart
    const name = textOf(part.value['name'])
    const placed = `${textOf(part.value['in'])}_${name}`
    const names = [name, placed, ...Array.from({ length: fields.size }, (_, n) => `${placed}_${n + 2}`)]
    add(names.find(isFree) ?? placed, part, schemaOf(part.value))
  }
  const body = requestBody(context, parameters)
  if (body !== undefined && body !== UNKNOWN) add('body', body, bodySchema(context, body))
  const properties = Object.fromEntries(fields)
  // an unresolved reference may hide fields, so the payload may have undeclared fields
  const closed = isWhole && body !== UNKNOWN ? { additionalProperties: false } : {}
  return { type: 'object', ...closed, ...(required.length > 0 && { required }), properties }
}

const UNKNOWN = Symbol('a body that no reference leads to')

function requestBody(context: Operation, parameters: readonly Placed[]): Placed | typeof UNKNOWN | undefined {
  const { operation, place, isSwagger } = context
  if (isSwagger) {
    const value = bodyOf(parameters.map((one) => one.value))
    return value && { value, pointer: place.pointer }
  }
  const value = operation['requestBody']
  if (value === undefined) return undefined
  return resolved(context, { value, pointer: `${place.pointer}/requestBody` }) ?? UNKNOWN
}

/** Returns the operation's parameters, and the path's parameters that the operation does not override. */
function parametersOf(context: Operation): {
  readonly parameters: readonly Placed[]
  /** False when a reference has no target. */
  readonly isWhole: boolean
} {
  const found = new Map<string, Placed>()
  let isWhole = true
  const { item, operation, place } = context
  for (const [list, pointer] of [
    [item['parameters'], place.item],
    [operation['parameters'], place.pointer],
  ] as const) {
    const parameters = Array.isArray(list) ? (list as readonly JsonValue[]) : []
    parameters.forEach((value, index) => {
      const one = resolved(context, { value, pointer: `${pointer}/parameters/${index}` })
      if (!one) isWhole = false
      if (one && textOf(one.value['name']) !== '' && !isIgnored(one.value))
        found.set(`${textOf(one.value['in'])} ${textOf(one.value['name'])}`, one)
    })
  }
  return { parameters: [...found.values()], isWhole }
}

/**
 * Returns true for headers that importers must ignore according to OpenAPI. The sender sets these headers, and one of
 * them is a credential.
 */
function isIgnored(parameter: JsonObject): boolean {
  const name = textOf(parameter['name']).toLowerCase()
  return parameter['in'] === 'header' && ['accept', 'content-type', 'authorization'].includes(name)
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

/**
 * Returns the object, or the last target of its chain of references. Undefined, with a note, when a reference has no
 * target.
 *
 * @param leftOut the tool that then gets no contract, because the contract would be a guess
 */
function resolved(
  { document, notes }: Pick<Operation, 'document' | 'notes'>,
  { value, pointer }: { readonly value: JsonValue | undefined; readonly pointer: string },
  leftOut?: string,
): Placed | undefined {
  if (!isObject(value)) return undefined
  let found: Placed = { value, pointer }
  const seen = new Set<string>()
  for (let { $ref } = value; typeof $ref === 'string'; { $ref } = found.value) {
    const target = seen.has($ref) ? undefined : follow(document, $ref)
    if (!isObject(target)) {
      const why = `\`${readable($ref)}\` leads nowhere in this document or in files beside it`
      const tool = leftOut === undefined ? {} : { leftOut: readable(leftOut) }
      notes.push({ pointer, message: `${leftOut === undefined ? 'dropped' : 'left out'}: ${why}`, ...tool })
      return undefined
    }
    seen.add($ref)
    found = { value: target, pointer: $ref.slice(1) }
  }
  return found
}

interface Media {
  readonly schema: JsonValue | undefined
  /** JSON Pointer, relative to the parameter or body. */
  readonly pointer: string
}

function schemaOf(parameter: JsonObject): Media {
  if (parameter['schema'] !== undefined) return { schema: parameter['schema'], pointer: '/schema' }
  return mediaOf(parameter, Object.keys(isObject(parameter['content']) ? parameter['content'] : {})[0])
}

function bodySchema({ notes }: Operation, body: Placed): Media {
  const types = Object.keys(isObject(body.value['content']) ? body.value['content'] : {})
  const type = types.find((one) => /[/+]json\b/.test(one)) ?? types[0]
  if (type !== undefined && !/[/+]json\b/.test(type))
    notes.push({
      pointer: body.pointer,
      message: `the body is ${readable(type)}; the contract describes it as data`,
    })
  return mediaOf(body.value, type)
}

function mediaOf({ content }: JsonObject, type: string | undefined): Media {
  const media = isObject(content) && type !== undefined ? content[type] : undefined
  return {
    schema: isObject(media) ? (media['schema'] ?? itemsOf(media)) : undefined,
    pointer: `/content${pointerStep(type ?? '')}/schema`,
  }
}

/** Returns the schema of a sequence of items (OpenAPI 3.2). */
function itemsOf({ itemSchema }: JsonObject): JsonValue | undefined {
  return itemSchema === undefined ? undefined : { type: 'array', items: itemSchema }
}

/** Adds a description to a schema without one. OpenAPI 3.0 ignores members next to a `$ref`. */
function described(schema: JsonValue, description: JsonValue | undefined): JsonValue {
  if (typeof description !== 'string' || !isObject(schema)) return schema
  return '$ref' in schema || 'description' in schema ? schema : { ...schema, description }
}
