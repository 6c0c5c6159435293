import { signal } from '@preact/signals'
import type { Me, SignedIn } from '../../contract/session.ts'
import { beginSession, call, get, onSignedOut, type Outcome, type Refusal } from '../wire/call.ts'
import { keepSecret, pageSecret } from '../wire/secret.ts'
import { startStream, stopStream } from '../wire/stream.ts'
import { askTabs, openTabs, tellTabs } from './tabs.ts'

/** The reviewer who is signed in; `undefined` while unknown. */
export const me = signal<Me | null | undefined>(undefined)
export const isAdmin = (): boolean => me.value?.roles.includes('admin') ?? false
/** True when the session ended without a sign-out on this page: by time, by an administrator, or by another sign-in. */
export const ended = signal(false)
export const loadProblem = signal<Refusal | undefined>(undefined)

/** The number of sign-ins on this page. */
let entered = 0
export const wasSignedIn = (): boolean => entered > 0

export async function startSession(): Promise<void> {
  onSignedOut(leave)
  openTabs({ holder: () => (me.value ? holder : undefined), signedIn: followTab })
  const before = entered
  const answer = await whoAmI()
  // the reviewer may have used a link while this page asked other tabs
  if (entered !== before) return
  if (answer === undefined) return leave()
  loadProblem.value = answer.ok || me.value || answer.problem.status === 401 ? undefined : answer.problem
  if (answer.ok) enter(answer.body)
}

/**
 * Asks the gateway with the secret of this tab, or otherwise with the secret of another tab. Undefined when no tab has
 * a secret.
 */
async function whoAmI(): Promise<Outcome<Me> | undefined> {
  if (pageSecret() !== undefined) {
    const answer = await get<Me>('review/me')
    if (answer.problem?.status !== 401) return answer
  }
  return (await askTabs()) ? get<Me>('review/me') : undefined
}

/** @param verifier the secret of this tab, for a link of single sign-on */
export async function signIn(link: string, verifier?: string): Promise<Refusal | undefined> {
  const body = { link, ...(verifier !== undefined && { verifier }) }
  const answer = await call<SignedIn>('POST', 'review/session', { body })
  if (answer.ok) {
    keepSecret(answer.body.page_secret)
    enter(answer.body.me)
  }
  // the page shows the reason of the failure, whatever other tabs answer
  me.value ??= null
  return answer.problem
}

let beforeSignOut = (): Promise<Refusal | undefined> => Promise.resolve(undefined)

/** Registers the act that must end before a reviewer signs out. It may return a reason to stay. */
export function onSigningOut(act: () => Promise<Refusal | undefined>): void {
  beforeSignOut = act
}

export async function signOut(everywhere: boolean): Promise<Refusal | undefined> {
  const staying = await beforeSignOut()
  if (staying !== undefined) return staying
  const answer = await call('DELETE', everywhere ? 'review/session?everywhere=true' : 'review/session')
  if (!answer.ok && answer.problem.status !== 401) return answer.problem
  // a deliberate sign-out deletes the drafts of this tab
  sessionStorage.clear()
  leave()
  ended.value = false
  return undefined
}

/** The reviewer whose lists and texts this page keeps in memory. */
let holder: string | undefined

/** Follows a sign-in on another tab: all tabs share one cookie, so all must show the same reviewer. */
function followTab(person: string): void {
  // a late report that the earlier session ended must not delete the new secret
  beginSession()
  stopStream()
  if (holder !== undefined && person !== holder) location.reload()
  else void startSession()
}

function enter(who: Me): void {
  const person = `${who.tenant}/${who.reviewer}`
  // notifies the other tabs first, because later steps may fail and the cookie already belongs to this reviewer
  tellTabs(person)
  // another reviewer starts with a fresh page
  if (person !== (holder ??= person)) return location.reload()
  ended.value = false
  entered += 1
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
