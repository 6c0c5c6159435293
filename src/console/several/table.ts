import type { Because } from '../../contract/reasons.ts'
import type { HeadingView } from '../../contract/heading.ts'
import type { JsonObject } from '../../contract/json.ts'
import { canonicalText, type TreeNode, treeOf } from '../payload/tree.ts'
import { isWithin, payloadPlace } from '../text/because-text.ts'

/** One call of the table. */
export interface Call {
  readonly id: string
  readonly payload: JsonObject
  /** JSON Pointers of hidden values. */
  readonly masked: readonly string[]
  /** The values that made the enforced rules fire. */
  readonly because: readonly Because[]
  readonly heading?: HeadingView
}

export interface Cell {
  /** Absent when the call lacks the field. */
  readonly node?: TreeNode
  /** True for the least and the most of a column of numbers. */
  readonly least?: boolean
  readonly most?: boolean
  /** How often the same value occurs in the column. */
  readonly times: number
  /** True when the value made a rule fire. */
  readonly decides: boolean
}

/** A field that differs. Its cells are in the order of the calls. */
export interface Column {
  readonly name: string
  readonly place: string
  readonly cells: readonly Cell[]
  /** True when each call has a number here. */
  readonly numeric: boolean
  readonly sum?: string
  /** The least, the most and the sum as the headings of the calls write this field, such as `€250.00`. */
  readonly written?: readonly [least: string, most: string, sum: string]
  readonly different: number
  /** True when the value of each call made a rule fire. */
  readonly decides: boolean
}

export interface Table {
  /** Fields that are equal in all calls. */
  readonly same: readonly TreeNode[]
  readonly columns: readonly Column[]
  /** The name of each call: a string that no other call has, or else its number. */
  readonly names: readonly string[]
}

export function tableOf(calls: readonly Call[]): Table {
  const members = calls.map(({ payload, masked }) => {
    const { items = [] } = treeOf(payload, masked)
    return new Map(items.map((node) => [String(node.name), node]))
  })
  const fields = [...new Set(members.flatMap((one) => [...one.keys()]))].toSorted()
  const all = fields.map((name) => columnOf(name, calls, members))
  const isSame = ({ different, cells }: Column): boolean => different === 1 && cells.every(hasNode)
  const columns = all.filter((one) => !isSame(one)).toSorted((a, b) => Number(isName(b)) - Number(isName(a)))
  return {
    same: all.filter(isSame).flatMap(({ cells }) => cells[0]?.node ?? []),
    columns,
    names: namesOf(columns, calls.length),
  }
}

const hasNode = ({ node }: Cell): boolean => node !== undefined

function columnOf(
  name: string,
  calls: readonly Call[],
  members: readonly ReadonlyMap<string, TreeNode>[],
): Column {
  const place = payloadPlace([name])
  const nodes = members.map((one) => one.get(name))
  const texts = nodes.map((node) => (node ? `${node.masked}${node.kind}${canonicalText(node)}` : ''))
  const numeric = nodes.every((node) => node?.kind === 'number')
  const numbers = numeric ? nodes.map((node) => Number(node?.text)) : []
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)]
  const sum = sumOf(numbers)
  const write = numeric ? writerOf(place, calls, numbers) : undefined
  const cells = nodes.map((node, i): Cell => ({
    ...(node && { node }),
    ...(numeric && least < most && { least: numbers[i] === least, most: numbers[i] === most }),
    times: node ? texts.filter((text) => text === texts[i]).length : 1,
    decides: (calls[i]?.because ?? []).some(({ field }) => isWithin(field, place)),
  }))
  return {
    name,
    place,
    cells,
    numeric,
    ...(numeric && { sum, ...(write && { written: [write(least), write(most), write(Number(sum))] }) }),
    different: new Set(texts).size,
    decides: cells.every((cell) => cell.decides),
  }
}

/**
 * Writes a number as the headings write this field. Undefined unless that repeats the text of each heading, because the
 * page does not know the format.
 */
function writerOf(
  place: string,
  calls: readonly Call[],
  numbers: readonly number[],
): ((value: number) => string) | undefined {
  const texts = calls.map(
    ({ heading }) =>
      heading?.segments.find(({ field, exact }) => field === place && exact !== undefined)?.text,
  )
  const [, before, digits = '', after] = /^(\D*)(\d[\d,]*(?:\.\d+)?)(\D*)$/.exec(texts[0] ?? '') ?? []
  const decimals = digits.split('.')[1]?.length ?? 0
  const write = (value: number): string => {
    const written = (value / 10 ** decimals).toLocaleString('en', {
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
    })
    return `${before}${written}${after}`
  }
  return numbers.every((number, i) => write(number) === texts[i]) ? write : undefined
}

/** The sum with the decimals of its numbers, which adding binary fractions would blur. */
export function sumOf(numbers: readonly number[]): string {
  const decimals = Math.max(0, ...numbers.map((one) => (/\.(\d+)$/.exec(String(one))?.[1] ?? '').length))
  const sum = numbers.reduce((total, one) => total + one, 0)
  return Number.isSafeInteger(Math.round(sum * 10 ** decimals)) ? sum.toFixed(decimals) : String(sum)
}

/** The least length of text that appears as its difference from the first row, and the characters around it. */
const LONG = 200
const AROUND = 24

/** The part in which a long text differs from another, and the number of equal characters before and after it. */
export function differenceFrom({ kind, masked, text = '' }: TreeNode, other: TreeNode | undefined) {
  const isPlain = kind === 'text' && other?.kind === 'text' && !masked && !other.masked
  if (!isPlain || text.length < LONG) return undefined
  return differenceOf(Array.from(text), Array.from(other.text ?? ''))
}

function differenceOf(mine: readonly string[], theirs: readonly string[]) {
  const most = Math.min(mine.length, theirs.length)
  let before = 0
  while (before < most && mine[before] === theirs[before]) before++
  let after = 0
  while (after < most - before && mine.at(-1 - after) === theirs.at(-1 - after)) after++
  const [start, end] = [Math.max(0, before - AROUND), Math.max(0, after - AROUND)]
  if (start + end < mine.length / 2) return undefined
  return { before: start, text: mine.slice(start, mine.length - end).join(''), after: end }
}

/** True when any text of the table appears as its difference from the first row. */
export const hasDifferences = ({ columns }: Table): boolean =>
  columns.some(({ cells: [first, ...others] }) =>
    others.some(({ node }) => node && differenceFrom(node, first?.node) !== undefined),
  )

const LONGEST_NAME = 40

/** True when each call has another short text here, so that it names the call. */
const isName = ({ cells, different }: Column): boolean =>
  different === cells.length &&
  cells.every(({ node }) => node?.kind === 'text' && !node.masked && (node.text ?? '').length <= LONGEST_NAME)

function namesOf([first]: readonly Column[], count: number): string[] {
  const texts = first && isName(first) ? first.cells.flatMap(({ node }) => node?.text ?? []) : []
  return Array.from({ length: count }, (_, i) => texts[i] || `call ${i + 1}`)
}
