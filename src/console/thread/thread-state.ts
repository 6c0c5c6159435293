import { computed, signal } from '@preact/signals'
import type { JsonObject } from '../../contract/json.ts'
import type { Revealed, ThreadRevision, ThreadView, VoteDecision } from '../../contract/reviewer.ts'
import { announce } from '../shell/announce.tsx'
import { call, get, isUnknown, type Outcome, type Refusal } from '../wire/call.ts'
import { warningsOf } from './warnings.ts'

/** What an act led to, when it is not simply what the page shows now. */
export type Notice =
  | { readonly kind: 'refused' | 'unknown'; readonly problem: Refusal }
  | { readonly kind: 'revised' }
  | { readonly kind: 'done'; readonly text: string }

export type ThreadState = ReturnType<typeof createThread>

/**
 * One open thread. What is shown changes under nobody's hands: another revision waits beside the one that is shown until somebody looks at
 * it, and until then nothing can be approved. Every act names the revision and the digest that are shown.
 */
export function createThread(id: string) {
  const path = `review/threads/${encodeURIComponent(id)}`
  const view = signal<ThreadView | undefined>(undefined)
  const next = signal<ThreadView | undefined>(undefined)
  const problem = signal<Refusal | undefined>(undefined)
  const notice = signal<Notice | undefined>(undefined)
  const sending = signal(false)
  const comment = signal('')
  const revealed = signal<Readonly<Record<number, JsonObject>>>({})
  const diffFrom = signal<number | undefined>(undefined)
  const acknowledged = signal('')
  const current = computed(() => view.value && revisionIn(view.value, view.value.revision))
  const warnings = computed(() => (current.value ? warningsOf(current.value, payloadOf(current.value)) : []))
  const mark = computed(() => `${view.value?.digest} ${JSON.stringify(warnings.value)}`)
  const mustAcknowledge = computed(() => warnings.value.length > 0 && acknowledged.value !== mark.value)

  const payloadOf = (revision: ThreadRevision): JsonObject =>
    revealed.value[revision.number] ?? (revision.payload as JsonObject)

  function take(fetched: ThreadView): void {
    const shown = view.value
    if (shown === undefined || shown.revision === fetched.revision) view.value = fetched
    else if (shown.status === 'pending_review') next.value = fetched
    else show(fetched, shown.revision)
  }

  function show(fetched: ThreadView, seen: number): void {
    next.value = undefined
    view.value = fetched
    diffFrom.value = seen
    announce(`Revision ${fetched.revision} is shown, with what changed since revision ${seen}`)
  }

  async function load(): Promise<void> {
    const answer = await get<ThreadView>(path)
    problem.value = answer.ok ? undefined : answer.problem
    if (answer.ok) take(answer.body)
  }

  /** One act at a time; whatever is not a plain success, the page reads again what is true. */
  async function act(ask: () => Promise<Outcome<ThreadView>>, done: string): Promise<boolean> {
    if (sending.value) return false
    sending.value = true
    notice.value = undefined
    const answer = await ask()
    if (answer.ok) take(answer.body)
    else await afterRefusal(answer.problem)
    sending.value = false
    if (answer.ok && done !== '') notice.value = { kind: 'done', text: done }
    return answer.ok
  }

  async function afterRefusal(refusal: Refusal): Promise<void> {
    if (refusal.status === 412) {
      await load()
      lookAtNext()
      notice.value = { kind: 'revised' }
      return
    }
    notice.value = { kind: isUnknown(refusal) ? 'unknown' : 'refused', problem: refusal }
    if (refusal.status !== 401) await load()
  }

  function lookAtNext(): void {
    if (next.value && view.value) show(next.value, view.value.revision)
  }

  async function vote(decision: VoteDecision): Promise<void> {
    const { revision, digest } = view.value ?? {}
    if (revision === undefined || digest === undefined) return
    const text = comment.value.trim()
    const body = { decision, revision, ...(text !== '' && { comment: text }) }
    const said = {
      approve: 'You approved',
      reject: 'You rejected',
      request_changes: 'You asked for changes to',
    }[decision]
    const ok = await act(
      () => call('POST', `${path}/votes`, { body, digest }),
      `${said} revision ${revision}.`,
    )
    if (ok) comment.value = ''
  }

  async function say(): Promise<void> {
    const text = comment.value.trim()
    if (text === '') return
    const ok = await act(
      () => call('POST', `${path}/comments`, { body: { comment: text } }),
      'Your comment is there for everybody.',
    )
    if (ok) comment.value = ''
  }

  async function reveal(number: number): Promise<void> {
    const answer = await call<Revealed>('POST', `${path}/reveal`, { body: { revision: number } })
    if (answer.ok) revealed.value = { ...revealed.value, [number]: answer.body.payload as JsonObject }
    else notice.value = { kind: 'refused', problem: answer.problem }
  }

  return {
    id,
    view,
    next,
    problem,
    notice,
    sending,
    comment,
    revealed,
    diffFrom,
    current,
    warnings,
    mustAcknowledge,
    payloadOf,
    load,
    lookAtNext,
    vote,
    say,
    reveal,
    claim: (takeOver: boolean) =>
      act(() => call('POST', `${path}/claim`, { body: takeOver ? { take_over: true } : {} }), ''),
    release: () => act(() => call('POST', `${path}/release`), ''),
    acknowledge(yes: boolean): void {
      acknowledged.value = yes ? mark.value : ''
    },
    toggleDiff(): void {
      const number = view.value?.revision ?? 1
      diffFrom.value = diffFrom.value === undefined && number > 1 ? number - 1 : undefined
    },
  }
}

export function revisionIn(view: ThreadView, number: number): ThreadRevision | undefined {
  return view.revisions.find((one) => one.number === number)
}
