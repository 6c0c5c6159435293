import { computed, signal } from '@preact/signals'
import type { JsonObject } from '../../contract/json.ts'
import type { Revealed, ThreadRevision, ThreadView } from '../../contract/reviewer.ts'
import { me } from '../session/session.ts'
import { announce } from '../shell/announce.tsx'
import { get, type Refusal } from '../wire/call.ts'

/** What an act led to, when it is not simply what the page shows now. */
export type Notice =
  | { readonly kind: 'refused' | 'unknown'; readonly problem: Refusal }
  | { readonly kind: 'revised' }
  | { readonly kind: 'done'; readonly text: string }

export type ThreadState = ReturnType<typeof createThread>

/**
 * One open thread. What is shown changes under nobody's hands: another revision waits beside the one that is shown until somebody looks at
 * it, and until then nothing can be approved.
 */
export function createThread(id: string) {
  const view = signal<ThreadView | undefined>(undefined)
  const next = signal<ThreadView | undefined>(undefined)
  const problem = signal<Refusal | undefined>(undefined)
  let asked = 0
  const diffFrom = signal<number | undefined>(undefined)

  /** Answers may overtake each other: what is older than what is here already is no news. */
  function take(fetched: ThreadView): void {
    const shown = view.value
    if (lastRecord(fetched) < lastRecord(next.value ?? shown)) return
    if (shown === undefined || shown.revision === fetched.revision) view.value = fetched
    else next.value = fetched
  }

  const path = `review/threads/${encodeURIComponent(id)}` as const
  return {
    path,
    view,
    next,
    problem,
    diffFrom,
    notice: signal<Notice | undefined>(undefined),
    sending: signal(false),
    /** Nobody looks at it any more. */
    left: false,
    comment: draftOf(id),
    ...readingOf(view),
    take,
    load: async (): Promise<void> => {
      const mine = ++asked
      const answer = await get<ThreadView>(path)
      if (mine === asked) problem.value = answer.problem
      if (answer.ok) take(answer.body)
    },
    lookAtNext: (): void => {
      const seen = view.value?.revision
      if (!next.value) return
      view.value = next.value
      next.value = undefined
      diffFrom.value = seen
      announce(`Revision ${view.value.revision} is shown, with what changed since revision ${seen}`)
    },
    toggleDiff: (): void => {
      const number = view.value?.revision ?? 1
      diffFrom.value = diffFrom.value === undefined && number > 1 ? number - 1 : undefined
    },
  }
}

/**
 * The draft of a comment. It outlasts the page and the session, also when signing in leads over another site. `sessionStorage` is authoritative: an act
 * from an earlier visit, whose answer arrives late, compares with it.
 */
function draftOf(id: string): { value: string } {
  const key = `${me.value?.reviewer} ${id}`
  const kept = (): string => sessionStorage.getItem(key) ?? ''
  const changed = signal(kept())
  return {
    get value() {
      // subscribes the component that draws it
      void changed.value
      return kept()
    },
    set value(text) {
      sessionStorage.setItem(key, text)
      changed.value = text
    },
  }
}

/** The revision that is shown, what was revealed of it, and what in it could deceive. */
function readingOf(view: { readonly value: ThreadView | undefined }) {
  const revealed = signal<Readonly<Record<number, Revealed>>>({})
  const acknowledged = signal('')
  const payloadOf = (revision: ThreadRevision): JsonObject =>
    (revealed.value[revision.number] ?? revision).payload as JsonObject
  const current = computed(() => view.value && revisionIn(view.value, view.value.revision))
  const warnings = computed(() => (revealed.value[view.value?.revision ?? 0] ?? view.value)?.warnings ?? [])
  const mark = computed(() => `${view.value?.digest} ${JSON.stringify(warnings.value)}`)
  return {
    revealed,
    payloadOf,
    current,
    warnings,
    mustAcknowledge: computed(() => warnings.value.length > 0 && acknowledged.value !== mark.value),
    /** Of these warnings of this revision: with others, or another revision, it must be said again. */
    acknowledge: (yes: boolean): void => {
      acknowledged.value = yes ? mark.value : ''
    },
  }
}

/** Whatever happens to a thread is evidence, so the number of its last record says how new a view is. */
const lastRecord = (view: ThreadView | undefined): number => view?.evidence.at(-1)?.number ?? 0

export function revisionIn(view: ThreadView, number: number): ThreadRevision | undefined {
  return view.revisions.find((one) => one.number === number)
}
