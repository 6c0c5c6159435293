import type { JsonObject, JsonValue } from '../../contract/json.ts'
import {
  importTools,
  type Effect,
  type ForeignTool,
  type ImportOptions,
  type ImportResult,
} from './contract.ts'
import {
  escapePointer,
  follow,
  importSchema,
  isObject,
  readable,
  type ImportNote,
  type SchemaImport,
} from './schema.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

/** Contracts from OpenAPI 3.0 or 3.1: one tool for each operation. Undefined when it is neither. */
export function importOpenApi(document: JsonValue, options: ImportOptions): ImportResult | undefined {
  if (!isObject(document) || !/^3\.[01](?:\.|$)/.test(textOf(document['openapi']))) return undefined
  const notes: ImportNote[] = []
  const paths = isObject(document['paths']) ? document['paths'] : {}
  const tools = Object.entries(paths).flatMap(([path, item]) => {
    const found = resolved({ document, notes }, { value: item, pointer: `/paths/${escapePointer(path)}` })
    if (!found) return []
    // What stands beside the reference of a path holds, too; nowhere else.
    const whole = { ...(item as JsonObject), ...found.value }
    return METHODS.flatMap((method) => {
      const operation = whole[method]
      const place = { path, method, pointer: `${found.pointer}/${method}` }
      return isObject(operation) ? [toolOf({ document, notes, item: whole, operation, place })] : []
    })
  })
  const { files, notes: more } = importTools(tools, options)
  return { files, notes: [...notes, ...more] }
}

interface Operation {
  readonly document: JsonObject
  readonly notes: ImportNote[]
  /** The path item: parameters in it hold for all its operations. */
  readonly item: JsonObject
  readonly operation: JsonObject
  readonly place: { readonly path: string; readonly method: string; readonly pointer: string }
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

/** Something of the document, with its place. */
interface Placed {
  readonly value: JsonObject
  readonly pointer: string
}

/** Parameters by their names, and the request body as `body`. */
function payloadSchema(context: Operation, task: SchemaImport): JsonObject {
  const fields = new Map<string, JsonValue>()
  const required: string[] = []
  const add = (name: string, part: Placed, media: Media): void => {
    const schema = described(media.schema ?? {}, part.value['description'])
    fields.set(name, importSchema(task, schema, `${part.pointer}${media.pointer}`))
    if (part.value['required'] === true) required.push(name)
  }
  const isFree = (name: string): boolean => name !== 'body' && !fields.has(name)
  for (const part of parametersOf(context)) {
    const name = textOf(part.value['name'])
    const placed = `${textOf(part.value['in'])}_${name}`
    const names = [name, placed, ...Array.from({ length: fields.size }, (_, n) => `${placed}_${n + 2}`)]
    add(names.find(isFree) ?? placed, part, schemaOf(part.value))
  }
  const body = resolved(context, {
    value: context.operation['requestBody'],
    pointer: `${context.place.pointer}/requestBody`,
  })
  if (body) add('body', body, bodySchema(context, body))
  const properties = Object.fromEntries(fields)
  return { type: 'object', additionalProperties: false, ...(required.length > 0 && { required }), properties }
}

/** Of the operation and, where it does not say otherwise, of the path. */
function parametersOf(context: Operation): readonly Placed[] {
  const found = new Map<string, Placed>()
  const { item, operation, place } = context
  const path = place.pointer.slice(0, place.pointer.lastIndexOf('/'))
  for (const [list, pointer] of [
    [item['parameters'], path],
    [operation['parameters'], place.pointer],
  ] as const) {
    const parameters = Array.isArray(list) ? (list as readonly JsonValue[]) : []
    parameters.forEach((value, index) => {
      const one = resolved(context, { value, pointer: `${pointer}/parameters/${index}` })
      if (one && textOf(one.value['name']) !== '' && !isIgnored(one.value))
        found.set(`${textOf(one.value['in'])} ${textOf(one.value['name'])}`, one)
    })
  }
  return [...found.values()]
}

/** Headers that OpenAPI says to ignore: they belong to whoever sends the request, and one of them is a credential. */
function isIgnored(parameter: JsonObject): boolean {
  const name = textOf(parameter['name']).toLowerCase()
  return parameter['in'] === 'header' && ['accept', 'content-type', 'authorization'].includes(name)
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** What stands there, or what its reference leads to, however many there are. */
function resolved(
  { document, notes }: Pick<Operation, 'document' | 'notes'>,
  { value, pointer }: { readonly value: JsonValue | undefined; readonly pointer: string },
): Placed | undefined {
  if (!isObject(value)) return undefined
  let found: Placed = { value, pointer }
  const seen = new Set<string>()
  for (let { $ref } = value; typeof $ref === 'string'; { $ref } = found.value) {
    const target = seen.has($ref) ? undefined : follow(document, $ref)
    if (!isObject(target)) {
      notes.push({ pointer, message: `dropped: \`${readable($ref)}\` leads nowhere in this document` })
      return undefined
    }
    seen.add($ref)
    found = { value: target, pointer: $ref.slice(1) }
  }
  return found
}

interface Media {
  readonly schema: JsonValue | undefined
  /** From the parameter or body. */
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
    schema: isObject(media) ? media['schema'] : undefined,
    pointer: `/content/${escapePointer(type ?? '')}/schema`,
  }
}

/** In OpenAPI 3.0 what stands beside a reference is ignored. */
function described(schema: JsonValue, description: JsonValue | undefined): JsonValue {
  if (typeof description !== 'string' || !isObject(schema)) return schema
  return '$ref' in schema || 'description' in schema ? schema : { ...schema, description }
}
