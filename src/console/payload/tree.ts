import type { JsonValue } from '../../contract/json.ts'

/** A payload for drawing: members in canonical order, each with its JSON Pointer (RFC 6901). */
export interface TreeNode {
  /** Member name, or the index in a list; absent at the root. */
  readonly name?: string | number
  readonly pointer: string
  readonly kind: 'object' | 'list' | 'text' | 'number' | 'word'
  /** The unchanged text of a string; for other values, the JSON text. */
  readonly text?: string
  readonly items?: readonly TreeNode[]
  /** True when the value is a tag that replaces a sensitive value. */
  readonly masked?: true
}

export function treeOf(payload: JsonValue, masked: readonly string[]): TreeNode {
  return nodeOf(payload, '', new Set(masked))
}

function nodeOf(value: JsonValue, pointer: string, masked: ReadonlySet<string>): TreeNode {
  const base = { pointer, ...(masked.has(pointer) && { masked: true as const }) }
  if (typeof value === 'string') return { ...base, kind: 'text', text: value }
  if (typeof value === 'number') return { ...base, kind: 'number', text: numberText(value) }
  if (value === null || typeof value !== 'object') return { ...base, kind: 'word', text: String(value) }
  const child = (name: string | number, one: JsonValue): TreeNode => ({
    name,
    ...nodeOf(one, `${pointer}/${escaped(name)}`, masked),
  })
  if (Array.isArray(value)) {
    return { ...base, kind: 'list', items: (value as JsonValue[]).map((one, i) => child(i, one)) }
  }
  const members = Object.entries(value as Record<string, JsonValue>).sort(([a], [b]) => (a < b ? -1 : 1))
  return { ...base, kind: 'object', items: members.map(([name, one]) => child(name, one)) }
}

const numberText = (value: number): string => (Object.is(value, -0) ? '-0' : JSON.stringify(value))

export const escaped = (name: string | number): string =>
  String(name).replaceAll('~', '~0').replaceAll('/', '~1')

/**
 * The text in RFC 8785 form, from which digests are computed. Members are sorted already, and the JavaScript engine
 * prints values as the standard says.
 */
export function canonicalText({ kind, text, items = [] }: TreeNode): string {
  if (kind === 'text') return JSON.stringify(text)
  if (kind === 'number') return text === '-0' ? '0' : (text ?? '')
  if (kind === 'word') return text ?? ''
  const inside = items.map(
    (item) => (kind === 'list' ? '' : `${JSON.stringify(item.name)}:`) + canonicalText(item),
  )
  return kind === 'list' ? `[${inside.join(',')}]` : `{${inside.join(',')}}`
}
