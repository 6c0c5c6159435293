import { useSignal } from '@preact/signals'
import { AgentText } from '../text/agent-text.tsx'
import { more } from '../text/fold.ts'
import { LongText } from '../text/long-text.tsx'
import type { TreeNode } from './tree.ts'

/** A payload as nested lists. Names and values come from the agent, and are drawn only as text. */
export function PayloadTree({ node }: { readonly node: TreeNode }) {
  if (node.items === undefined) return <Value node={node} />
  if (node.items.length === 0)
    return <span class="word">{node.kind === 'list' ? 'empty list' : 'empty object'}</span>
  return <Items items={node.items} list={node.kind === 'list'} />
}

const AT_ONCE = 60

function Items({ items, list }: { readonly items: readonly TreeNode[]; readonly list: boolean }) {
  const open = useSignal(items.length <= AT_ONCE)
  const shown = open.value ? items : items.slice(0, AT_ONCE)
  return (
    <ul class={list ? 'tree list' : 'tree'}>
      {shown.map((item) => (
        <li key={item.pointer}>
          <Member node={item} />
        </li>
      ))}
      {!open.value && (
        <li>
          <button
            class="small"
            onClick={() => {
              open.value = true
            }}
          >
            Show {more(items.length - AT_ONCE, 'item')}
          </button>
        </li>
      )}
    </ul>
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
  return (
    <details open>
      <summary>
        {name} <span class="light">{node.items.length}</span>
      </summary>
      <PayloadTree node={node} />
    </details>
  )
}

function Value({ node }: { readonly node: TreeNode }) {
  if (node.masked) return <span class="masked">{node.text}</span>
  if (node.kind === 'text')
    return (
      <span class="text">{node.text === '' ? <i>empty text</i> : <LongText text={node.text ?? ''} />}</span>
    )
  return <span class={node.kind}>{node.text}</span>
}
