import { MINUTE } from '../contract-model/policy.ts'

/** How people sign in and how long a session lasts, by docs/signing-in.md, in plain state: part of `model.ts`. */

const LINK_MS = 10 * MINUTE
const IDLE_MS = 30 * MINUTE
const SESSION_MS = 480 * MINUTE

interface Session {
  readonly openedAt: number
  readonly groups: string
  seen: number
  /** When the timer next checks whether the session is over. */
  look: number
}

/** One session for each person, in one browser. */
export class SessionsModel {
  readonly #sessions = new Map<string, Session>()
  readonly #links = new Map<string, { readonly who: string; readonly until: number }>()
  readonly #now: () => number
  readonly #groupsOf: (who: string) => readonly string[] | undefined

  constructor(now: () => number, groupsOf: (who: string) => readonly string[] | undefined) {
    this.#now = now
    this.#groupsOf = groupsOf
  }

  /** True when there is a record of a session, even an ended session. */
  has(who: string): boolean {
    return this.#sessions.has(who)
  }

  /** True when the session would hold at a request now. */
  isOpen(who: string): boolean {
    const session = this.#sessions.get(who)
    return session !== undefined && !this.#isOver(who, session)
  }

  linked(link: string, who: string): void {
    this.#links.set(link, { who, until: this.#now() + LINK_MS })
  }

  /** The status of signing in by the link. The session that the same browser had is replaced. */
  signIn(link: string): number {
    const known = this.#links.get(link)
    const groups = this.#groupsOf(known?.who ?? '')
    const now = this.#now()
    if (known === undefined || groups === undefined || now >= known.until) return 401
    this.#links.delete(link)
    this.#sessions.set(known.who, { openedAt: now, groups: String(groups), seen: now, look: now + IDLE_MS })
    return 200
  }

  signOut(who: string): void {
    this.#sessions.delete(who)
  }

  /** Ends the session and every link; only the key still works. */
  signOutEverywhere(who: string): void {
    this.signOut(who)
    for (const [link, known] of this.#links) if (known.who === who) this.#links.delete(link)
  }

  /** True when the session holds. The question is a use of it, and deletes an ended session. */
  holds(who: string): boolean {
    const session = this.#sessions.get(who)
    if (session === undefined) return false
    if (this.#isOver(who, session)) return !this.#sessions.delete(who)
    if (this.#now() - session.seen >= MINUTE) session.seen = this.#now()
    return true
  }

  /** Deletes ended sessions, as the timer does. */
  due(): void {
    for (const [who, session] of this.#sessions) {
      if (this.#now() < session.look) continue
      if (this.#isOver(who, session)) this.#sessions.delete(who)
      else session.look = Math.min(session.seen + IDLE_MS, session.openedAt + SESSION_MS)
    }
  }

  #isOver(who: string, { openedAt, seen, groups }: Session): boolean {
    const now = this.#now()
    return now >= openedAt + SESSION_MS || now >= seen + IDLE_MS || String(this.#groupsOf(who)) !== groups
  }
}
