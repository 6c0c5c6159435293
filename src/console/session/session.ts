import { signal } from '@preact/signals'
import type { Me, SignedIn } from '../../contract/session.ts'
import { beginSession, call, get, onSignedOut, type Outcome, type Refusal } from '../wire/call.ts'
import { keepSecret, pageSecret } from '../wire/secret.ts'
import { startStream, stopStream } from '../wire/stream.ts'
import { askTabs, openTabs, tellTabs } from './tabs.ts'

/** Who is signed in: `undefined` until that is known. */
export const me = signal<Me | null | undefined>(undefined)
export const isAdmin = (): boolean => me.value?.roles.includes('admin') ?? false
/** The session ended without being asked to: by time, by an administrator, by another sign-in. */
export const ended = signal(false)
export const loadProblem = signal<Refusal | undefined>(undefined)

export async function startSession(): Promise<void> {
  onSignedOut(leave)
  openTabs({ holder: () => (me.value ? holder : undefined), signedIn: followTab })
  const answer = await whoAmI()
  if (answer === undefined) return leave()
  loadProblem.value = answer.ok || me.value || answer.problem.status === 401 ? undefined : answer.problem
  if (answer.ok) enter(answer.body)
}

/** By the secret of this tab, or else by that of another one. Undefined when no tab has any. */
async function whoAmI(): Promise<Outcome<Me> | undefined> {
  if (pageSecret() !== undefined) {
    const answer = await get<Me>('review/me')
    if (answer.problem?.status !== 401) return answer
  }
  return (await askTabs()) ? get<Me>('review/me') : undefined
}

/** `verifier` belongs to a link that single sign-on ended with. */
export async function signIn(link: string, verifier?: string): Promise<Refusal | undefined> {
  const body = { link, ...(verifier !== undefined && { verifier }) }
  const answer = await call<SignedIn>('POST', 'review/session', { body })
  if (answer.ok) {
    keepSecret(answer.body.page_secret)
    enter(answer.body.me)
  }
  // the page says why, whatever other tabs answer
  me.value ??= null
  return answer.problem
}

export async function signOut(everywhere: boolean): Promise<Refusal | undefined> {
  const answer = await call('DELETE', everywhere ? 'review/session?everywhere=true' : 'review/session')
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
function followTab(person: string): void {
  if (holder !== undefined && person !== holder) location.reload()
  else void startSession()
}

function enter(who: Me): void {
  const person = `${who.tenant}/${who.reviewer}`
  // before anything else, which may fail: the cookie is this person's already
  tellTabs(person)
  // somebody else begins with a page that knows nothing of the one before
  if (person !== (holder ??= person)) return location.reload()
  ended.value = false
  beginSession()
  me.value = who
  startStream(leave)
}

function leave(): void {
  stopStream()
  keepSecret(undefined)
  ended.value ||= Boolean(me.value)
  me.value = null
}
