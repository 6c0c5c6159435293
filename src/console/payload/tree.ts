import type { JsonValue } from '../../contract/json.ts'
import { isWithin, payloadPlace } from '../text/because-text.ts'

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

/** The members of a payload for a reader: those that made rules fire, then the others in the order of the contract. */
export function inOrder(
  items: readonly TreeNode[],
  { deciding, fields }: { readonly deciding: readonly string[]; readonly fields: readonly string[] },
): TreeNode[] {
  const placeOf = ({ name }: TreeNode): number => {
    const place = payloadPlace([name ?? ''])
    const first = deciding.findIndex((one) => isWithin(one, place))
    const listed = fields.indexOf(String(name))
    return first === -1 ? deciding.length + (listed === -1 ? fields.length : listed) : first
  }
  return items.toSorted((a, b) => placeOf(a) - placeOf(b))
}

/** The longest member that two columns and three columns have room for, in characters. */
const ROOM = [48, 30] as const

/** The number of columns for the members that fit into one; 1 when none does. */
export function columnsFor(items: readonly TreeNode[]): 1 | 2 | 3 {
  const fitting = items.map(widthOf).filter((width) => width <= ROOM[0])
  if (fitting.length < 2) return 1
  return Math.max(...fitting) <= ROOM[1] ? 3 : 2
}

/** True for a member that needs a whole line. */
export const isWide = (node: TreeNode): boolean => widthOf(node) > ROOM[0]

/** The characters of the longest line of a member; no number for a member that one column has no room for. */
function widthOf({ name = '', text = '', items }: TreeNode): number {
  const own = String(name).length + 3
  if (items === undefined) return text.includes('\n') ? Infinity : own + text.length
  return items.length > SMALL ? Infinity : Math.max(own, ...items.map((item) => 3 + widthOf(item)))
}

/** The most members of a member beside another one. */
const SMALL = 6
