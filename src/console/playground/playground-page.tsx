import { signal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { createPlayground, EMPTY, type Playground } from '../../playground/playground.ts'
import { RECIPES } from '../../playground/recipes.ts'
import type { Reply } from '../../playground/messages.ts'
import { linkOf } from '../../playground/link.ts'
import type { BundleTexts, ThreadView } from '../../contract/reviewer.ts'
import { me } from '../session/session.ts'
import { get } from '../wire/call.ts'
import { go, refine } from '../route/router.ts'
import { announce } from '../shell/announce.tsx'
import { Select } from '../shell/field.tsx'
import { Heading } from '../shell/heading.tsx'
import { BundleEditor, CallEditor } from './editors.tsx'
import { startEvaluator } from './evaluator.ts'
import { announced, Decision, Findings } from './evaluated.tsx'

/** State that outlives the page, so that a visit to the queue does not lose work. */
const state = signal(EMPTY)

/** A bundle and a call side by side. A worker evaluates both while a person types, and no data leaves the browser. */
export function PlaygroundPage({ link }: { readonly link: string | undefined }) {
  const playground = usePlayground()
  useEffect(() => void opened(link).then(playground.open), [playground, link])
  const { reply, note } = state.value
  const sentence = reply && announced(reply)
  useEffect(() => {
    if (sentence !== undefined) announce(sentence)
  }, [sentence])
  return (
    <>
      <div class="title">
        <Heading>Playground</Heading>
        <p class="quiet">Your browser evaluates the bundle and the call. Nothing leaves it.</p>
      </div>
      <Bar playground={playground} />
      {note && (
        <p class="note" role="status">
          {note}
        </p>
      )}
      <div class="playground">
        <BundleEditor state={state.value} playground={playground} />
        <CallEditor state={state.value} playground={playground} />
        <Decision reply={reply} />
        <Findings reply={reply} playground={playground} />
      </div>
    </>
  )
}

const OF_CALL = 'thread='

/** The link of a call, `thread=ID`, leads to the bundle in force with this call. Hidden values stay tags. */
async function opened(link: string | undefined): Promise<string | undefined> {
  if (!link?.startsWith(OF_CALL)) return link
  const id = encodeURIComponent(link.slice(OF_CALL.length))
  const [call, bundle] = await Promise.all([
    get<ThreadView>(`review/threads/${id}`),
    get<BundleTexts>('review/bundle'),
  ])
  return call.body && bundle.body ? linkOf(bundle.body.files, requestOf(call.body)) : link
}

function requestOf({ tool_name, payload, agent, workflow_name, task_label, subject }: ThreadView): string {
  const tenant = me.value?.tenant
  const asked = { agent: `${tenant}/${agent}`, tool_name, payload, workflow_name, task_label, subject }
  return JSON.stringify(asked, null, 2)
}

const ALL = Array.from(RECIPES.keys(), (name) => [name, name] as const)

function Bar({ playground }: { readonly playground: Playground }) {
  const { recipe } = state.value
  const share = async (): Promise<void> => refine({ page: 'playground', link: await playground.share() })
  return (
    <div class="line recipe">
      <label>
        Recipe
        <Select
          value={recipe}
          set={(name) => go({ page: 'playground', link: `recipe=${encodeURIComponent(name)}` })}
          options={recipe === '' ? [['', 'from a link'], ...ALL] : ALL}
        />
      </label>
      <button onClick={() => void share()}>Share as a link</button>
    </div>
  )
}

/** The playground and its evaluator, which ends with the page. */
function usePlayground(): Playground {
  const worker = useRef<Worker | undefined>(undefined)
  const playground = useMemo(
    () =>
      createPlayground(state, {
        ask: (question) => worker.current?.postMessage(question),
        mayReplace: (question) => confirm(question),
      }),
    [],
  )
  useEffect(() => {
    worker.current = startEvaluator()
    worker.current.addEventListener('message', ({ data }: { readonly data: Reply }) => {
      playground.answered(data)
    })
    worker.current.addEventListener('error', playground.failed)
    return () => {
      playground.stop()
      worker.current?.terminate()
    }
  }, [playground])
  return playground
}
