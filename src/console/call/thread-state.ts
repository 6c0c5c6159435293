import { computed, signal } from '@preact/signals'
import type { JsonObject } from '../../contract/json.ts'
import type { Revealed, ThreadRevision, ThreadView } from '../../contract/reviewer.ts'
import { me } from '../session/session.ts'
import { now } from '../time/clock.ts'
import { announce } from '../shell/announce.tsx'
import { createParts } from '../seen/parts.ts'
import { get, type Refusal } from '../wire/call.ts'

/** The result of an act, when the page does not show it otherwise. */
export type Notice =
  | { readonly kind: 'refused' | 'unknown'; readonly problem: Refusal }
  | { readonly kind: 'revised' }
  | { readonly kind: 'done'; readonly text: string }

export type ThreadState = ReturnType<typeof createThread>

/**
 * The state of one open thread. The shown revision remains until the reviewer asks for the newer revision, and approval
 * is blocked in the meantime.
 */
export function createThread(id: string) {
  const view = signal<ThreadView | undefined>(undefined)
  const next = signal<ThreadView | undefined>(undefined)
  const problem = signal<Refusal | undefined>(undefined)
  let asked = 0
  const parts = createParts()
  const diffFrom = signal<number | undefined>(undefined)
  const readAt = signal(0)

  /** Shows a view, unless a newer view is shown, because answers may arrive out of order. */
  function take(fetched: ThreadView): void {
    const shown = view.value
    if (lastRecord(fetched) < lastRecord(next.value ?? shown)) return
    // a revision begins with its changes
    if (shown === undefined && fetched.revision > 1) diffFrom.value = fetched.revision - 1
    readAt.value = now.peek()
    if (shown === undefined || shown.revision === fetched.revision) view.value = fetched
    else next.value = fetched
  }

  const path = `review/threads/${encodeURIComponent(id)}` as const
  return {
    path,
    view,
    next,
    problem,
    /** The time of the last answer, ms since 1970. */
    readAt,
    diffFrom,
    notice: signal<Notice | undefined>(undefined),
    sending: signal(false),
    /** True when the reviewer has left the page. */
    left: false,
    comment: draftOf(id),
    ...readingOf(view),
    parts,
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
      parts.forget()
      announce(`Revision ${view.value.revision} is shown, with what changed since revision ${seen}`)
    },
    toggleDiff: (): void => {
      const number = view.value?.revision ?? 1
      diffFrom.value = diffFrom.value === undefined && number > 1 ? number - 1 : undefined
    },
  }
}

/**
 * The draft of a comment. The draft outlasts the page and the session, even when sign-in leads to another site and
 * back.
 * `sessionStorage` is authoritative, because a late answer to an act of an earlier visit is compared with it.
 */
export function draftOf(id: string): { value: string } {
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

/** The shown revision, its revealed values, and its warnings. */
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
    /** The number of values of the shown revision that are hidden from this reviewer. */
    hidden: computed(() =>
      revealed.value[view.value?.revision ?? 0] ? 0 : (current.value?.masked.length ?? 0),
    ),
    mustAcknowledge: computed(() => warnings.value.length > 0 && acknowledged.value !== mark.value),
    /**
     * Acknowledges these warnings of this revision. Other warnings, or another revision, require a new acknowledgement.
     */
    acknowledge: (yes: boolean): void => {
      acknowledged.value = yes ? mark.value : ''
    },
  }
}

/**
 * The number of the last evidence record. Every change is recorded as evidence, so this number shows which view is
 * newer.
 */
const lastRecord = (view: ThreadView | undefined): number => view?.evidence.at(-1)?.number ?? 0

export function revisionIn(view: ThreadView, number: number): ThreadRevision | undefined {
  return view.revisions.find((one) => one.number === number)
}
