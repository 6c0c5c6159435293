import { isDeepStrictEqual } from 'node:util'
import { diffOf } from '../check/spec.ts'
import { TOOL_KEYS } from '../check/tool.ts'
import type { ToolContract } from '../language/snapshot.ts'
import { partBelow, wholePart, propertiesOf, requiredOf, type Part } from './subschema.ts'

/**
 * Returns the differences between two contracts of a tool, one line each. The lines do not state effects on decisions.
 */
export function contractNotes(
  before: ToolContract | undefined,
  after: ToolContract | undefined,
): readonly string[] {
  if (!before || !after) return before || after ? [after ? 'the tool is new' : 'the tool is gone'] : []
  return [
    ...diffOf(TOOL_KEYS, [before, after], undefined).map(({ text }) => text),
    ...schemaNotes(wholePart(before.inputSchema), wholePart(after.inputSchema)),
  ]
}

function schemaNotes(before: Part, after: Part): readonly string[] {
  const names = [...new Set([...propertiesOf(before), ...propertiesOf(after)])].sort()
  const notes = names.flatMap((name) => memberNote(name, before, after) ?? [])
  const rest = (part: Part): unknown => {
    if (typeof part.schema === 'boolean') return part.schema
    const { properties: _, required: _required, ...others } = part.schema
    return others
  }
  return isDeepStrictEqual(rest(before), rest(after))
    ? notes
    : [...notes, 'input_schema differs outside its properties']
}

function memberNote(name: string, before: Part, after: Part): string | undefined {
  const [had, has] = [before, after].map((part) => propertiesOf(part).includes(name))
  if (had !== has) return `payload.${name} ${has ? 'added' : 'removed'}${has ? requirement(after, name) : ''}`
  if (!isDeepStrictEqual(partBelow(before, name).schema, partBelow(after, name).schema))
    return `payload.${name}: ${showSchema(before, name)} -> ${showSchema(after, name)}`
  const [needed, needs] = [before, after].map((part) => requiredOf(part).includes(name))
  return needed === needs ? undefined : `payload.${name} is ${needs ? 'required' : 'optional'} now`
}

function requirement(part: Part, name: string): string {
  return requiredOf(part).includes(name) ? ', required' : ', optional'
}

const MAX_SCHEMA = 120

export function showSchema(part: Part, name: string): string {
  const text = JSON.stringify(partBelow(part, name).schema)
  return text.length <= MAX_SCHEMA ? text : `${text.slice(0, MAX_SCHEMA)}...`
}
