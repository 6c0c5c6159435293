import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { useSignal } from '@preact/signals'
import { Part } from '../seen/part.tsx'
import { payloadPlace } from '../text/because-text.ts'
import { AgentText } from '../text/agent-text.tsx'
import { Digits } from '../text/digits.tsx'
import { more } from '../text/fold.ts'
import { useHindrance } from '../text/hindrance.ts'
import { LongText } from '../text/long-text.tsx'
import { columnsFor, isWide, type TreeNode } from './tree.ts'

/** True where a hidden value must be revealed before an approval. */
export const RevealContext = createContext(false)

/** A payload as nested lists. Names and values come from the agent, and are drawn only as text. */
export function PayloadTree({ node }: { readonly node: TreeNode }) {
  if (node.items === undefined) return <Value node={node} />
  if (node.items.length === 0)
    return <span class="word">{node.kind === 'list' ? 'empty list' : 'empty object'}</span>
  return <Items items={node.items} list={node.kind === 'list'} top={node.pointer === ''} />
}

const AT_ONCE = 60

interface ItemsProps {
  readonly items: readonly TreeNode[]
  readonly list: boolean
  /** True for the members of the payload itself. Each is a part to see. */
  readonly top: boolean
}

function Items({ items, list, top }: ItemsProps) {
  const open = useSignal(items.length <= AT_ONCE)
  const show = (): void => {
    open.value = true
  }
  const shown = open.value ? items : items.slice(0, AT_ONCE)
  const part = (name: string, children: ComponentChildren) =>
    top ? <Part name={name}>{children}</Part> : children
  return (
    <ul class={`tree${list ? ' list' : ''} columns-${columnsFor(items)}`}>
      {shown.map((item) => (
        <li key={item.pointer} class={isWide(item) ? 'across' : undefined}>
          {part(payloadPlace([item.name ?? '']), <Member node={item} />)}
        </li>
      ))}
      {!open.value && (
        <li key="more">{part('more fields', <Rest count={items.length - AT_ONCE} show={show} />)}</li>
      )}
    </ul>
  )
}

function Rest({ count, show }: { readonly count: number; readonly show: () => void }) {
  const control = useHindrance<HTMLButtonElement>(true, show)
  return (
    <button ref={control} class="small" onClick={show}>
      Show {more(count, 'item')}
    </button>
  )
}

function Member({ node }: { readonly node: TreeNode }) {
  const name = (
    <span class="name">{typeof node.name === 'string' ? <AgentText text={node.name} /> : node.name}</span>
  )
  if (node.items === undefined || node.items.length === 0) {
    return (
      <>
        {name} <PayloadTree node={node} />
      </>
    )
  }
  return <Branch node={node} name={name} />
}

/** Members inside a member. While they are folded, the part around them was not seen. */
function Branch({ node, name }: { readonly node: TreeNode; readonly name: ComponentChildren }) {
  const open = useSignal(true)
  const control = useHindrance<HTMLDetailsElement>(!open.value, () => {
    open.value = true
  })
  return (
    <details
      ref={control}
      open={open.value}
      onToggle={(event) => {
        open.value = event.currentTarget.open
      }}
    >
      <summary>
        {name} <span class="light">{node.items?.length}</span>
      </summary>
      <PayloadTree node={node} />
    </details>
  )
}

/** A hidden value. It is a part to see where the level requires a reveal. */
export function Masked({ text }: { readonly text: string | undefined }) {
  const place = useHindrance<HTMLSpanElement>(useContext(RevealContext))
  return (
    <span class="masked" ref={place}>
      {text}
    </span>
  )
}

function Value({ node }: { readonly node: TreeNode }) {
  if (node.masked) return <Masked text={node.text} />
  if (node.kind === 'text')
    return (
      <span class="text">{node.text === '' ? <i>empty text</i> : <LongText text={node.text ?? ''} />}</span>
    )
  return (
    <span class={node.kind}>
      <Digits of={node.text ?? ''} />
    </span>
  )
}
