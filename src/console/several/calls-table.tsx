import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { ThreadView } from '../../contract/reviewer.ts'
import { formattedIn } from '../../domain/heading.ts'
import { PayloadTree } from '../payload/payload-tree.tsx'
import type { TreeNode } from '../payload/tree.ts'
import { usePart } from '../seen/part.tsx'
import { AgentText } from '../text/agent-text.tsx'
import { Digits } from '../text/digits.tsx'
import { PartContext } from '../text/hindrance.ts'
import { Due } from '../time/countdown.tsx'
import type { Several, Shown } from './several-state.ts'
import { type Cell, type Column, differenceFrom, type Table } from './table.ts'

/**
 * The calls, with a column for each field that differs. Each row is a part to see. A table that is wider than its place
 * becomes cards, so that each row can be seen whole.
 */
export function CallsTable({ several }: { readonly several: Several }) {
  const table = several.table.value
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const box = place.current
    if (box === null) return undefined
    const fit = (): void => {
      box.classList.remove('cards')
      box.classList.toggle('cards', box.scrollWidth > box.clientWidth)
    }
    const observer = new ResizeObserver(fit)
    observer.observe(box)
    fit()
    return () => observer.disconnect()
  }, [table])
  return (
    <div class="wide" ref={place} tabIndex={0} role="region" aria-label="Table of the calls">
      <table class="calls" role="table">
        <caption class="sr">The calls, with a column for each field that differs</caption>
        <Head table={table}>
          <th role="columnheader" scope="col">
            <span class="sr">Chosen</span>
          </th>
        </Head>
        <tbody role="rowgroup">
          {several.shown.value.map((one, i) => (
            <Row key={one.view.thread_id} several={several} table={table} one={one} at={i} />
          ))}
        </tbody>
        <Foot table={table} count={several.shown.value.length} lead={1} tail={2} />
      </table>
    </div>
  )
}

/** The same columns without anything to choose, for a dialog. */
export function CallsList({ table, shown }: { readonly table: Table; readonly shown: readonly Shown[] }) {
  return (
    <div class="fits" tabIndex={0} role="region" aria-label="The calls">
      <table class="calls" role="table">
        <Head table={table} />
        <tbody role="rowgroup">
          {shown.map(({ view }, i) => (
            <tr key={view.thread_id} role="row">
              <th role="rowheader" scope="row">
                <AgentText text={table.names[i] ?? ''} />
              </th>
              {valuesOf(table).map((column) => (
                <Value key={column.name} column={column} row={i} view={view} />
              ))}
            </tr>
          ))}
        </tbody>
        <Foot table={table} count={shown.length} lead={0} tail={0} />
      </table>
    </div>
  )
}

/** The columns without the first, if its values name the calls. */
const valuesOf = ({ columns, names }: Table): readonly Column[] =>
  isNamed(columns, names) ? columns.slice(1) : columns

const isNamed = ([first]: readonly Column[], names: readonly string[]): boolean =>
  first?.cells[0]?.node?.text === names[0]

function Head({ table, children }: { readonly table: Table; readonly children?: ComponentChildren }) {
  const named = isNamed(table.columns, table.names) ? table.columns[0] : undefined
  return (
    <thead role="rowgroup">
      <tr role="row">
        {children}
        <th role="columnheader" scope="col">
          {named ? <Name column={named} /> : 'Call'}
        </th>
        {valuesOf(table).map((column) => (
          <th key={column.name} role="columnheader" scope="col" class={column.numeric ? 'n' : undefined}>
            <Name column={column} />
          </th>
        ))}
        {children && (
          <>
            <th role="columnheader" scope="col">
              <span class="sr">Seen</span>
            </th>
            <th role="columnheader" scope="col">
              <span class="sr">Until</span>
            </th>
          </>
        )}
      </tr>
    </thead>
  )
}

/** The name of a field, marked where the value of each call made a rule fire. */
function Name({ column: { name, decides } }: { readonly column: Column }) {
  const said = <AgentText text={name} />
  return decides ? <mark>{said}</mark> : said
}

interface RowProps {
  readonly several: Several
  readonly table: Table
  readonly one: Shown
  readonly at: number
}

function Row({ several, table, one: { view }, at }: RowProps) {
  const { thread_id: id, deadline } = view
  const name = table.names[at] ?? ''
  const { element, hinder } = usePart<HTMLTableRowElement>([several.rowName(id)])
  const chosen = several.chosen.value.some((one) => one.view.thread_id === id)
  const seen = several.isSeen(id)
  return (
    <PartContext.Provider value={hinder}>
      <tr
        ref={element}
        role="row"
        class={several.at.value === at ? 'at' : undefined}
        onFocusIn={() => {
          several.at.value = at
        }}
      >
        <td role="cell" class="pick">
          <input
            type="checkbox"
            aria-label={`Choose ${name}`}
            checked={chosen}
            onChange={() => several.toggle(id)}
          />
        </td>
        <th role="rowheader" scope="row">
          <a href={`#/thread/${id}`}>
            <AgentText text={name} />
          </a>
        </th>
        {valuesOf(table).map((column) => (
          <Value key={column.name} column={column} row={at} view={view} />
        ))}
        <td role="cell" class="plain-cell">
          <span class={seen ? 'seen' : 'seen not'}>{seen ? 'seen' : 'not seen'}</span>
        </td>
        <td role="cell" class="plain-cell quiet">
          {deadline && <Due deadline={deadline} />}
        </td>
      </tr>
    </PartContext.Provider>
  )
}

interface ValueProps {
  readonly column: Column
  readonly row: number
  readonly view: ThreadView
}

function Value({ column, row, view }: ValueProps) {
  const cell = column.cells[row]
  if (cell === undefined) return null
  const { node, least, most, times, decides } = cell
  const repeated = <Repeated cell={cell} times={times} count={column.cells.length} />
  const shown = node ? <Content node={node} column={column} row={row} view={view} /> : <i>not given</i>
  return (
    <td role="cell" data-name={column.name} class={column.numeric ? 'n' : undefined}>
      {column.numeric && repeated}
      {(least || most) && <span class="tag">{least ? 'least' : 'most'}</span>}
      {decides && !column.decides ? <mark>{shown}</mark> : shown}
      {!column.numeric && repeated}
    </td>
  )
}

/**
 * A value. A number appears as the heading of the call writes it, such as an amount of money, with the exact value
 * beside it. Long text appears as its difference from the first row, and an object keeps its structure.
 */
function Content({ node, column, row, view }: ValueProps & { readonly node: TreeNode }) {
  if (node.kind === 'number') {
    const { place: field } = column
    const written = formattedIn(view.heading, { field, value: node.text ?? '' })
    return (
      <>
        <b>{written === undefined ? <Digits of={node.text ?? ''} /> : <AgentText text={written} />}</b>
        {written !== undefined && <small> {node.text}</small>}
      </>
    )
  }
  const part = row === 0 ? undefined : differenceFrom(node, column.cells[0]?.node)
  if (part === undefined) return <PayloadTree node={node} />
  return (
    <span class="text">
      <span class="quiet">as in the first, {part.before} characters: </span>
      <AgentText text={part.text} />
      {part.after > 0 && <span class="quiet"> then {part.after} as in the first</span>}
    </span>
  )
}

interface RepeatedProps {
  readonly cell: Cell
  readonly times: number
  readonly count: number
}

/** Equal values are counted: this finds a second refund to one customer. */
function Repeated({ cell, times, count }: RepeatedProps) {
  const isPlain = cell.node?.kind === 'text' || cell.node?.kind === 'number'
  if (!isPlain || times < 2 || times > count / 2) return null
  return <span class="tag">{times === 2 ? 'twice' : `${times} times`}</span>
}

interface FootProps {
  readonly table: Table
  readonly count: number
  /** The number of cells before and after the values. */
  readonly lead: number
  readonly tail: number
}

function Foot({ table, count, lead, tail }: FootProps) {
  const empty = (cells: number) => Array.from({ length: cells }, (_, i) => <td key={i} role="cell" />)
  return (
    <tfoot role="rowgroup">
      <tr role="row">
        {empty(lead)}
        <th role="rowheader" scope="row" class="plain-cell">
          {count} {count === 1 ? 'call' : 'calls'}
        </th>
        {valuesOf(table).map(({ name, numeric, sum, written, different }) =>
          numeric ? (
            <td key={name} role="cell" data-name={`sum of ${name}`} class="n">
              <b>{written?.[2] ?? sum}</b>
              {written && <small> {sum}</small>}
            </td>
          ) : (
            <td key={name} role="cell" class="plain-cell">
              <span class="quiet">{different} different</span>
            </td>
          ),
        )}
        {empty(tail)}
      </tr>
    </tfoot>
  )
}
