import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SignInOptions } from '../../src/contract/session.ts'
import { type Agent, call, held, openWorld, sessionIn, type World } from '../gateway-fixture.ts'

/** Signing in to the console: one-time links, sessions, cookies, and where a request comes from (design.md section 5). */

let world: World
let bot: Agent

beforeAll(async () => {
  world = await openWorld()
  bot = await world.agent()
})
afterAll(() => world.close())

describe('POST /api/review/session', () => {
  it('200 with Me and a cookie that only this host can set, no page can read, and no other site can send', async () => {
    const answer = await world.openSession(await world.link('ann'))
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      tenant: 'acme',
      reviewer: 'ann',
      via: 'link',
      session: { idle_ms: 1_800_000, expires_at: new Date(world.clock.now + 8 * 3_600_000).toISOString() },
    })
    const [cookie = '', ...more] = answer.headers.getSetCookie()
    expect(more).toEqual([])
    expect(cookie).toMatch(
      /^__Host-countersign=css_acme_[\w-]{49}; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
    )
    expect(answer.text).not.toContain(sessionIn(answer))
  })

  it('200 once: the second use of a link is the same 401 as a link that never was', async () => {
    const link = await world.link('ann')
    expect((await world.openSession(link)).status).toBe(200)
    const again = await world.openSession(link)
    const never = await world.openSession('csl_acme_nonsense')
    expect([again.status, never.status]).toEqual([401, 401])
    expect(again.text).toBe(never.text)
    expect([sessionIn(again), sessionIn(never)]).toEqual([undefined, undefined])
  })

  it('403 foreign_origin from another page, and the link is still good', async () => {
    const link = await world.link('ann')
    const { status, problem } = await world.openSession(link, { origin: 'https://evil.example' })
    expect([status, problem.code]).toEqual([403, 'foreign_origin'])
    expect((await world.openSession(link)).status).toBe(200)
  })
})

describe('a session', () => {
  it('200 reads and votes as its reviewer, and the vote says by what', async () => {
    const ann = await world.signIn('ann')
    const { thread } = await held(bot)
    expect((await ann.show(thread)).status).toBe(200)
    const { status, body } = await ann.approve(thread)
    expect([status, body.status, body.votes[0]?.via]).toEqual([200, 'approved', 'link'])
  })

  it('204 signs out: the session is gone and so is its cookie', async () => {
    const ann = await world.signIn('ann')
    const out = await ann.call('DELETE', 'session')
    expect(out.status).toBe(204)
    expect(out.headers.getSetCookie()[0]).toMatch(/^__Host-countersign=; .*Max-Age=0$/)
    expect((await ann.call('GET', 'me')).status).toBe(401)
    expect((await ann.call<SignInOptions>('GET', 'session')).body).toEqual({ signed_in: false })
  })

  it('403 foreign_origin on a vote without Origin', async () => {
    const ann = await world.signIn('ann')
    const { thread } = await held(bot)
    const headers = { cookie: ann.credentials()['cookie'] ?? '' }
    const body = { decision: 'approve', revision: 1 }
    const { status, problem } = await call<never>(`${world.url}/api/review/threads/${thread}/votes`, 'POST', {
      body,
      headers,
    })
    expect([status, problem.code]).toEqual([403, 'foreign_origin'])
  })
})
