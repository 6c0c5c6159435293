import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { importTools, type ImportResult } from './contract.ts'
import { importSchema } from './schema.ts'

/** Creates a contract from what `python -m countersign_sdk contract` prints. Returns undefined for other input. */
export function importPython(tool: string, printed: JsonValue): ImportResult | undefined {
  if (!isObject(printed) || !isObject(printed['input_schema'])) return undefined
  const { description, input_schema } = printed as JsonObject & { readonly input_schema: JsonObject }
  const rootPointer = '/input_schema'
  const foreign = {
    name: tool,
    description: typeof description === 'string' ? description : undefined,
    schema: (task: Parameters<typeof importSchema>[0]) => importSchema(task, input_schema, rootPointer),
    root: input_schema,
    rootPointer,
    pointer: rootPointer,
    effect: { risk: 'medium', because: 'a signature does not say what the function does' },
  } as const
  return importTools([foreign], { prefix: '' })
}
