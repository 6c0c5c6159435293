import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'

/** Converts parameters of Swagger 2.0 to parameters and a body of OpenAPI 3. */

const OWN = ['name', 'in', 'description', 'required', 'schema', 'collectionFormat', 'allowEmptyValue']

/** Returns the parameter with its own type as `schema`. */
export function modernParameter(parameter: JsonObject): JsonObject {
  if (parameter['schema'] !== undefined) return parameter
  const schema = Object.entries(parameter).filter(([key]) => !OWN.includes(key) && !key.startsWith('x-'))
  const plain = Object.fromEntries(schema)
  // a contract cannot describe a file
  return { ...parameter, schema: plain['type'] === 'file' ? {} : plain }
}

/**
 * Returns the body that parameters describe: the `body` parameter, or all `formData` parameters; undefined without
 * either.
 */
export function bodyOf(parameters: readonly JsonObject[]): JsonObject | undefined {
  const body = parameters.find((one) => one['in'] === 'body')
  if (body !== undefined) {
    const { schema = {}, description, required } = body
    const more = { ...(description !== undefined && { description }), ...(required === true && { required }) }
    return { content: { 'application/json': { schema } }, ...more }
  }
  const fields = parameters.filter((one) => one['in'] === 'formData')
  return fields.length === 0 ? undefined : formOf(fields)
}

function formOf(fields: readonly JsonObject[]): JsonObject {
  const properties: Record<string, JsonValue> = {}
  const required: string[] = []
  for (const field of fields) {
    const { schema = {} } = modernParameter(field)
    const { name, description } = field
    if (typeof name !== 'string') continue
    const described =
      isObject(schema) && typeof description === 'string' ? { description, ...schema } : schema
    properties[name] = described
    if (field['required'] === true) required.push(name)
  }
  const schema = { type: 'object', properties, ...(required.length > 0 && { required }) }
  return {
    content: { 'application/json': { schema } },
    ...(required.length > 0 && { required: true }),
  }
}
