import { useSignal } from '@preact/signals'
import { codeOf } from '../../domain/hidden-characters.ts'
import type { ThreadRevision } from '../../contract/reviewer.ts'
import { announce } from '../shell/announce.tsx'
import { Panel } from '../shell/panel.tsx'
import { reveal } from '../call/thread-acts.ts'
import type { ThreadState } from '../call/thread-state.ts'
import { Part } from '../seen/part.tsx'
import { LongText } from '../text/long-text.tsx'
import { Masked, PayloadTree } from './payload-tree.tsx'
import { canonicalText, inOrder, treeOf } from './tree.ts'

interface PayloadProps {
  readonly thread: ThreadState
  readonly revision: ThreadRevision
}

/** Letters and signs outside of ASCII, which "Exact text" spells on demand. */
const FOREIGN = /[^\x20-\x7e]/gu

/** The whole payload, as a tree or as the exact text that reviewers approve. */
export function PayloadPanel({ thread, revision }: PayloadProps) {
  const exact = useSignal(false)
  const spells = useSignal(false)
  const payload = thread.payloadOf(revision)
  const hidden = revision.masked.length
  const shown = thread.revealed.value[revision.number] !== undefined
  const tree = treeOf(payload, shown ? [] : revision.masked)
  const text = canonicalText(tree)
  return (
    <Panel title="What runs" kind="payload" note={<Tools exact={exact} spells={spells} text={text} />}>
      {exact.value ? (
        <Part name="exact text">
          <pre>
            <LongText text={spells.value ? text.replaceAll(FOREIGN, (one) => `[${codeOf(one)}]`) : text} />
          </pre>
          {hidden > 0 && !shown && <Masked text={`${hidden} hidden`} />}
        </Part>
      ) : tree.items?.length ? (
        <PayloadTree node={{ ...tree, items: inOrder(tree.items, orderOf(thread, revision)) }} />
      ) : (
        <Part name="payload">
          <PayloadTree node={tree} />
        </Part>
      )}
      {hidden > 0 && <Reveal thread={thread} revision={revision} shown={shown} />}
      {revision.payload_digest !== undefined && <Digest of={revision.payload_digest} />}
    </Panel>
  )
}

function Reveal({ thread, revision, shown }: PayloadProps & { readonly shown: boolean }) {
  const hidden = revision.masked.length
  return (
    <p class="reveal">
      <button aria-disabled={shown} onClick={() => void (shown || reveal(thread, revision.number))}>
        {shown ? 'Revealed' : 'Reveal'} {hidden} hidden {hidden === 1 ? 'value' : 'values'}
        {!shown && <kbd aria-hidden="true">v</kbd>}
      </button>
      <span class="quiet">The gateway records that you looked.</span>
    </p>
  )
}

interface ToolsProps {
  readonly exact: { value: boolean }
  readonly spells: { value: boolean }
  readonly text: string
}

function Tools({ exact, spells, text }: ToolsProps) {
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    announce('Copied')
  }
  return (
    <span class="tools">
      <Toggle of={exact} name="Exact text" />
      {exact.value && text.search(FOREIGN) !== -1 && <Toggle of={spells} name="Code points" />}
      <button class="small" onClick={() => void copy()}>
        Copy
      </button>
    </span>
  )
}

function Toggle({ of, name }: { readonly of: { value: boolean }; readonly name: string }) {
  const turn = (): void => {
    of.value = !of.value
  }
  return (
    <button class="small" aria-pressed={of.value} onClick={turn}>
      {name}
    </button>
  )
}

const orderOf = ({ view }: ThreadState, { rules }: ThreadRevision) => ({
  deciding: rules.flatMap(({ mode, because = [] }) =>
    mode === 'enforced' ? because.map(({ field }) => field) : [],
  ),
  fields: view.value?.fields ?? [],
})

function Digest({ of }: { readonly of: string }) {
  return (
    <details class="digest">
      <summary>SHA-256 {of.slice(0, 12)}…</summary>
      <code>{of}</code>
    </details>
  )
}
