import { expect } from 'vitest'
import type { Me } from '../../../src/contract/session.ts'
import { type Answer, type Reviewer, SignedIn, type World } from '../../gateway-fixture.ts'
import type { Dice } from '../../random.ts'
import { MINUTE, PEOPLE } from '../contract-model/policy.ts'
import type { Caller, ReviewModel } from './model.ts'

/** The people of the game: each has a key and a browser, and signs in and out. */
export class People {
  readonly #world: World
  readonly #model: ReviewModel
  readonly #dice: Dice
  readonly #seen: Set<string>
  readonly #keys = new Map<string, Reviewer>()
  readonly #browsers = new Map<string, SignedIn>()
  readonly #links: { readonly link: string; readonly who: string }[] = []

  constructor(world: World, model: ReviewModel, dice: Dice, seen: Set<string>) {
    this.#world = world
    this.#model = model
    this.#dice = dice
    this.#seen = seen
  }

  async begin(): Promise<void> {
    for (const who of PEOPLE) {
      this.#keys.set(who, await this.#world.reviewer(who))
      await this.signIn(who)
    }
    this.#keys.set('zoe', await this.#world.reviewer('zoe', 'globex'))
  }

  as({ who, via }: Caller): Reviewer {
    return (via === 'key' ? this.#keys : this.#browsers).get(who) ?? expect.fail()
  }

  /** True when the gateway must know the caller; it answers any other caller with 401. */
  isKnown(caller: Caller, { status, problem }: Answer<unknown>): boolean {
    const held = this.#model.sessions.has(caller.who)
    const proved = this.#model.proved(caller)
    expect(status === 401 ? problem.code : 'known').toBe(proved ? 'known' : 'unauthenticated')
    if (!proved && held && caller.via === 'link') this.#seen.add('session ended')
    return proved
  }

  async act(): Promise<void> {
    const who = this.#dice.one(PEOPLE) as string
    const acts = [
      () => this.signIn(who),
      () => this.signIn(who),
      () => this.#oldLink(),
      () => this.#leaves(who),
      () => this.#leaves(who),
      () => this.#asks(who),
      () => this.#allAsk(),
      () => this.#allAsk(),
      () => this.#linger(who),
    ]
    await this.#dice.one(acts)?.()
  }

  /** Signs in each person whose session time or the directory ended. */
  async comeBack(): Promise<void> {
    for (const who of PEOPLE) if (!this.#model.sessions.isOpen(who)) await this.signIn(who)
  }

  async signIn(who: string): Promise<void> {
    if (this.#model.groupsOf(who) === undefined) return
    const link = await this.#newLink(who)
    // a kept link may have expired when it is used
    if (!this.#browsers.has(who) || !this.#dice.once(4)) await this.#use(link, who)
  }

  async #newLink(who: string): Promise<string> {
    const link = await this.#world.link(who)
    this.#model.sessions.linked(link, who)
    this.#links.push({ link, who })
    return link
  }

  /** Uses a link again, which may be used, expired or still good. */
  async #oldLink(): Promise<void> {
    const old = this.#dice.one(this.#links)
    if (old !== undefined) await this.#use(old.link, old.who)
  }

  async #use(link: string, who: string): Promise<void> {
    const before = this.#browsers.get(who)
    const cookie = before === undefined ? {} : { cookie: `__Host-countersign=${before.key}` }
    const answer = await this.#world.openSession(link, cookie)
    const held = this.#model.sessions.has(who)
    expect(answer.status).toBe(this.#model.sessions.signIn(link))
    this.#seen.add(`link ${answer.status}`)
    if (answer.status !== 200) return
    expect(answer.body.me.reviewer).toBe(who)
    this.#browsers.set(who, SignedIn.by(this.#world, answer))
    if (before === undefined) return
    expect((await before.call('GET', 'me')).status).toBe(401)
    if (held) this.#seen.add('link 200 replaces')
  }

  /** Ends the session while a new link is unused; then uses the link. */
  async #leaves(who: string): Promise<void> {
    if (this.#model.groupsOf(who) === undefined) return
    const link = await this.#newLink(who)
    await (this.#dice.once(2) ? this.#leave(who) : this.#isPutOut(who))
    await this.#use(link, who)
  }

  async #leave(who: string): Promise<void> {
    const everywhere = this.#dice.once(2)
    const path = `session${everywhere ? '?everywhere=true' : ''}`
    const answer = await this.as({ who, via: 'link' }).call('DELETE', path)
    if (!this.isKnown({ who, via: 'link' }, answer)) return
    expect(answer.status).toBe(204)
    if (everywhere) this.#model.sessions.signOutEverywhere(who)
    else this.#model.sessions.signOut(who)
  }

  /** An administrator ends the sessions. */
  async #isPutOut(who: string): Promise<void> {
    const { status } = await this.#world.admin('DELETE', `reviewers/acme/${who}/sessions`)
    expect(status).toBe(204)
    this.#model.sessions.signOutEverywhere(who)
  }

  /** Every person asks, as open pages do. */
  async #allAsk(): Promise<void> {
    for (const who of PEOPLE) await this.#asks(who)
  }

  /** Almost reaches the idle limit since the last recorded use, and exceeds it since the first. */
  async #linger(who: string): Promise<void> {
    await this.#asks(who)
    for (const pause of [5 * MINUTE, 26 * MINUTE]) {
      this.#world.clock.advance(pause)
      await this.#asks(who)
    }
  }

  async #asks(who: string): Promise<void> {
    const answer = await this.as({ who, via: 'link' }).call<Me>('GET', 'me')
    if (!this.isKnown({ who, via: 'link' }, answer)) return
    expect(answer.body.groups).toEqual(this.#model.groupsOf(who))
  }
}
