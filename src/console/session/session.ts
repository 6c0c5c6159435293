import { signal } from '../signal.ts'
import type { Me } from '../../contract/session.ts'
import { beginSession, call, get, onSignedOut, type Refusal } from '../wire/call.ts'
import { startStream, stopStream } from '../wire/stream.ts'

/** Who is signed in: `undefined` until that is known. */
export const me = signal<Me | null | undefined>(undefined)
export const isAdmin = (): boolean => me.value?.roles.includes('admin') ?? false
/** The session ended without being asked to: by time, by an administrator, by another sign-in. */
export const ended = signal(false)
export const loadProblem = signal<Refusal | undefined>(undefined)

export async function startSession(): Promise<void> {
  onSignedOut(leave)
  tabs ??= new BroadcastChannel('session')
  tabs.onmessage = ({ data }) => {
    if (holder && data !== holder) location.reload()
  }
  const answer = await get<Me>('review/me')
  loadProblem.value = answer.ok || me.value || answer.problem.status === 401 ? undefined : answer.problem
  if (answer.ok) enter(answer.body)
}

export async function signIn(link: string): Promise<Refusal | undefined> {
  const answer = await call<Me>('POST', 'review/session', { body: { link } })
  if (answer.ok) enter(answer.body)
  return answer.problem
}

export async function signOut(everywhere: boolean): Promise<Refusal | undefined> {
  const answer = await call('DELETE', `review/session${everywhere ? '?everywhere=true' : ''}`)
  if (!answer.ok && answer.problem.status !== 401) return answer.problem
  // who leaves on purpose leaves nothing half-written in this tab
  sessionStorage.clear()
  leave()
  ended.value = false
  return undefined
}

/** Whose lists and texts this page holds in memory. */
let holder: string | undefined

/** One cookie serves all tabs: who signs in on one of them acts on all, so that all must say so. */
let tabs: BroadcastChannel | undefined

function enter(who: Me): void {
  const person = `${who.tenant}/${who.reviewer}`
  // before anything else, which may fail: the cookie is this person's already
  tabs?.postMessage(person)
  // somebody else begins with a page that knows nothing of the one before
  if (person !== (holder ??= person)) return location.reload()
  ended.value = false
  beginSession()
  me.value = who
  startStream(leave)
}

function leave(): void {
  stopStream()
  ended.value ||= Boolean(me.value)
  me.value = null
}
