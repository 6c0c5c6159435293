import { computed, signal } from '@preact/signals'
import type { VotesRequest } from '../../contract/review-requests.ts'
import type { ThreadList, ThreadSummary, ThreadView, VoteDecision } from '../../contract/reviewer.ts'
import { displayOf, reveal } from '../call/thread-acts.ts'
import { createThread, draftOf, type ThreadState } from '../call/thread-state.ts'
import { hold, isHeld, send } from '../outbox/outbox.ts'
import { isGrave } from '../risk/risk-mark.tsx'
import { createParts } from '../seen/parts.ts'
import { becauseName, isWithin } from '../text/because-text.ts'
import { get, type Refusal } from '../wire/call.ts'
import type { Address } from '../wire/path.ts'
import { type Call, hasDifferences, type Table, tableOf } from './table.ts'

export type Several = ReturnType<typeof createSeveral>

/** A call of the table, and its view. */
export interface Shown {
  readonly thread: ThreadState
  readonly view: ThreadView
}

/** The most votes of one request. */
const MOST = 50
const TOGETHER = 4
const MOST_PAGES = 5
const ROW = 'row '

/** The calls that are alike, which of them the reviewer has chosen, and which were on the screen. */
export function createSeveral(anchor: string, first?: string) {
  const { calls, shown, ...loading } = createCalls(anchor)
  const table = computed(() => tableOf(shown.value.map(callOf)))
  return {
    shown,
    ...loading,
    ...createChoice(shown, table, first),
    table,
    /** The row on which the keys act. */
    at: signal(0),
    sending: signal(false),
    comment: draftOf(`several ${anchor}`),
    /** The number of calls that were in the table and no longer are. */
    gone: computed(() => calls.value.length - shown.value.length),
    hidden: computed(() => shown.value.reduce((sum, { thread }) => sum + thread.hidden.value, 0)),
    revealAll: async (): Promise<void> => {
      const rest = shown.value.filter(({ thread }) => thread.hidden.value > 0)
      await each(rest, ({ thread, view }) => reveal(thread, view.revision))
    },
  }
}

/** Reads the calls. A call that ended, that was revised, that has warnings or that policy raised is decided alone. */
function createCalls(anchor: string) {
  const calls = signal<readonly ThreadState[]>([])
  const loading = signal(true)
  const problem = signal<Refusal | undefined>(undefined)
  let alike: string | undefined

  const fits = (view: ThreadView, { next, warnings }: ThreadState): boolean =>
    view.can_vote.allowed &&
    !view.raised &&
    view.alike === alike &&
    view.revision === 1 &&
    !next.value &&
    warnings.value.length === 0 &&
    !isHeld(view.thread_id)

  return {
    calls,
    loading,
    problem,
    shown: computed(() =>
      calls.value.flatMap((thread): readonly Shown[] => {
        const view = thread.view.value
        return view && fits(view, thread) ? [{ thread, view }] : []
      }),
    ),
    load: async (): Promise<void> => {
      const answer = await get<ThreadView>(`review/threads/${encodeURIComponent(anchor)}`)
      problem.value = answer.problem
      if (answer.ok) {
        ;({ alike } = answer.body)
        const known = new Map(calls.value.map((thread) => [thread.view.value?.thread_id, thread]))
        const threads = (await alikeCalls(answer.body)).map((id) => known.get(id) ?? createThread(id))
        await each(threads, (thread) => thread.load())
        calls.value = threads
      }
      loading.value = false
    },
    /** Reads a call again that has changed. */
    hear: (id: string): void => {
      const one = calls.value.find(({ view }) => view.value?.thread_id === id)
      if (one) void one.load()
    },
  }
}

/** Runs an act for each, a few at a time. */
async function each<T>(all: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += TOGETHER) await Promise.all(all.slice(at, at + TOGETHER).map(act))
}

/**
 * The chosen calls, and the parts that were on the screen. Only those of chosen calls are needed, and the first row
 * where others appear as differences from it.
 */
function createChoice(
  shown: { readonly value: readonly Shown[] },
  table: { readonly value: Table },
  first: string | undefined,
) {
  const baseOf = (): string =>
    shown.value[0] && hasDifferences(table.value) ? shown.value[0].view.thread_id : ''
  /** The name of a row as a part to see. Another first row makes it another part. */
  const rowName = (id: string): string => `${ROW}${id} ${baseOf()}`
  const picked = signal<ReadonlySet<string>>(new Set(first === undefined ? [] : [first]))
  const chosen = computed(() => shown.value.filter(({ view }) => picked.value.has(view.thread_id)))
  const isNeeded = (name: string): boolean =>
    !name.startsWith(ROW) ||
    chosen.value.some(({ view }) => [rowName(view.thread_id), rowName(baseOf())].includes(name))
  const parts = createParts(isNeeded)
  const isSeen = (id: string): boolean =>
    [id, baseOf() || id].every((one) => parts.seen.value.has(rowName(one)))
  return {
    rowName,
    chosen,
    parts,
    isSeen,
    toggle: (id: string): void => {
      const next = new Set(picked.value)
      if (!next.delete(id)) next.add(id)
      picked.value = next
    },
    /** Chooses all calls that were seen, or none when these are chosen. */
    toggleSeen: (): void => {
      const seen = shown.value.map(({ view }) => view.thread_id).filter(isSeen)
      const all = seen.every((id) => picked.value.has(id))
      picked.value = new Set(all ? [] : [...picked.value, ...seen])
    },
  }
}

/** The ids of the calls that are alike, in the order of the queue. */
async function alikeCalls({ agent, tool_name: tool, risk, alike }: ThreadView): Promise<string[]> {
  const found: ThreadSummary[] = []
  const query = { status: 'pending_review', mine: 'true', agent, tool, risk, limit: '100' }
  let cursor: string | undefined
  for (let page = 0; alike !== undefined && page < MOST_PAGES && found.length < MOST; page++) {
    const search = new URLSearchParams({ ...query, ...(cursor !== undefined && { cursor }) })
    const address: Address = `review/threads?${search.toString()}`
    const { body } = await get<ThreadList>(address)
    found.push(...(body?.threads ?? []).filter((one) => one.alike === alike))
    cursor = body?.next_cursor
    if (cursor === undefined) break
  }
  return found.slice(0, MOST).map(({ thread_id }) => thread_id)
}

export function callOf({ thread, view }: Shown): Call {
  const revision = thread.current.value
  const hidden = thread.hidden.value > 0
  return {
    id: view.thread_id,
    payload: (revision ? thread.payloadOf(revision) : view.payload) as Call['payload'],
    masked: hidden ? (revision?.masked ?? []) : [],
    because: reasonsOf(view),
    heading: view.heading,
  }
}

export const reasonsOf = ({ rules }: ThreadView): Call['because'] =>
  rules.flatMap(({ mode, because = [] }) => (mode === 'enforced' ? because : []))

/** Votes for all chosen calls. Grave votes are sent at once, without time to take them back. */
export async function voteForAll(several: Several, decision: VoteDecision): Promise<boolean> {
  const [first] = several.chosen.value
  if (several.sending.value || first === undefined) return false
  several.sending.value = true
  const votes = await votesOf(several)
  several.sending.value = false
  // a browser without digests cannot vote on several calls
  if (votes.length === 0) return false
  const comment = several.comment.value.trim()
  const { thread_id, tool_name, digest } = first.view
  const vote = {
    thread: thread_id,
    line: `${votes.length} ${votes.length === 1 ? 'call' : 'calls'} of ${tool_name}`,
    digest,
    body: { decision, ...(comment !== '' && { comment }) },
    several: votes,
  }
  const written = several.comment.value
  hold(vote, (answer) => {
    if (answer.ok && several.comment.value === written) several.comment.value = ''
  })
  if (isGrave(first.view.risk)) void send(thread_id)
  return true
}

async function votesOf(several: Several): Promise<VotesRequest['votes']> {
  const { chosen, parts, isSeen, table } = several
  const shared = [...parts.seen.value].filter((name) => !name.startsWith(ROW))
  const missing = parts.missing.value.filter((name) => !name.startsWith(ROW))
  const votes = chosen.value.map(async ({ thread, view }) => {
    const { thread_id, revision } = view
    const own = placesIn(table.value, view)
    const seen = isSeen(thread_id)
    const looked = {
      seen: new Set(seen ? [...shared, ...own] : shared),
      missing: seen ? missing : [...missing, ...own],
      ms: parts.time(),
    }
    const displayed = await displayOf(thread, view, looked)
    return displayed ? [{ thread_id, revision, displayed }] : []
  })
  return (await Promise.all(votes)).flat()
}

/** The places that the row of a call shows: its columns, and the values in them that made a rule fire. */
function placesIn({ columns }: Table, view: ThreadView): string[] {
  const places = columns.map(({ place }) => place)
  const because = reasonsOf(view).map(({ field }) => field)
  return [
    ...places,
    ...because.filter((field) => places.some((place) => isWithin(field, place))).map(becauseName),
  ]
}
