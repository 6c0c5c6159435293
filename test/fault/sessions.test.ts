import { afterAll, beforeAll, expect, it } from 'vitest'
import { parseRedisAddress } from '../../src/store/redis/address.ts'
import { openRedisStore } from '../../src/store/redis/store.ts'
import type { Store } from '../../src/store/store.ts'
import type { SignedIn as Opened } from '../../src/contract/session.ts'
import { type Answer, held, openWorld, SignedIn, type World } from '../gateway-fixture.ts'
import { Browser, CLIENT_ID, CLIENT_SECRET, startProvider, type TestProvider } from '../identity-provider.ts'
import { type RedisServer, startRedis } from '../redis/server.ts'

/** Sign-in on several gateways that share one Redis. A session is valid on all of them, and it ends on all at once. */
const INSTANCES = 3
const SITE = 'https://countersign.example'
const SESSION = '__Host-countersign'

let redis: RedisServer
let provider: TestProvider
let worlds: World[]

beforeAll(async () => {
  redis = await startRedis()
  provider = await startProvider({ redirectUri: `${SITE}/api/review/oidc/callback` })
  const openStore = (): Promise<Store> => openRedisStore({ address: parseRedisAddress(redis.url) })
  worlds = []
  for (let i = 0; i < INSTANCES; i++) {
    const config = {
      publicUrl: SITE,
      oidcIssuer: provider.issuer,
      oidcClientId: CLIENT_ID,
      oidcClientSecret: CLIENT_SECRET,
    }
    worlds.push(await openWorld({ openStore, config }))
  }
})
afterAll(async () => {
  for (const world of worlds) await world.close()
  await provider.close()
  await redis.dispose()
})

const at = (i: number): World => worlds[i % INSTANCES] as World
const open = (i: number, link: string): Promise<Answer<Opened>> => at(i).openSession(link, { origin: SITE })

/** The same session as each instance sees it. */
async function everywhere(session: SignedIn): Promise<number[]> {
  const page = { origin: SITE, 'sec-fetch-site': 'same-origin' }
  const asked = worlds.map((world) => onOther(world, session).call('GET', 'me', { headers: page }))
  return (await Promise.all(asked)).map(({ status }) => status)
}

const onOther = (world: World, { key, secret }: SignedIn): SignedIn => new SignedIn(world, key, secret)

async function signIn(i: number, reviewer: string): Promise<SignedIn> {
  const answer = await open(i, await at(i + 1).link(reviewer))
  expect(answer.status).toBe(200)
  return SignedIn.by(at(i), answer)
}

it('a sign-in link of one instance opens a session on another, which all accept until any ends it', async () => {
  const session = await signIn(0, 'ann')
  expect(await everywhere(session)).toEqual([200, 200, 200])
  const out = await onOther(at(2), session).call('DELETE', 'session', { headers: { origin: SITE } })
  expect(out.status).toBe(204)
  expect(await everywhere(session)).toEqual([401, 401, 401])
})

it('signing out everywhere ends the sessions of other instances, at once on all', async () => {
  const sessions = await Promise.all([0, 1, 2, 3, 4].map((i) => signIn(i, 'eve')))
  const link = await at(1).link('eve')
  const out = await onOther(at(0), sessions[0] as SignedIn).call('DELETE', 'session?everywhere=true', {
    headers: { origin: SITE },
  })
  expect(out.status).toBe(204)
  for (const session of sessions) expect(await everywhere(session)).toEqual([401, 401, 401])
  expect((await open(2, link)).status).toBe(401)
})

it('one of many callers who race with one link on all instances gets a session', async () => {
  for (let round = 0; round < 10; round++) {
    const link = await at(round).link('ben')
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => open(i, link)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(11)
  }
})

it('every caller who ends the same sessions at once succeeds, and each session ends once', async () => {
  for (let round = 0; round < 10; round++) {
    const sessions = await Promise.all([0, 1, 2].map((i) => signIn(i, 'dan')))
    const out = onOther(at(round), sessions[0] as SignedIn).call('DELETE', 'session?everywhere=true', {
      headers: { origin: SITE },
    })
    const ends = worlds.map((world) => world.admin('DELETE', 'reviewers/acme/dan/sessions'))
    expect((await Promise.all(ends)).map(({ status }) => status)).toEqual([204, 204, 204])
    expect([204, 401]).toContain((await out).status)
    for (const session of sessions) expect(await everywhere(session)).toEqual([401, 401, 401])
  }
  const ended = (await at(0).allEvidence()).filter(({ record }) => record.type === 'session.ended')
  const hashes = ended.map(({ record }) => record.details?.['session_hash'])
  expect(new Set(hashes).size).toBe(hashes.length)
})

it('sign-ins that race to replace one session all succeed', async () => {
  const first = await signIn(0, 'ben')
  const cookie = `${SESSION}=${first.key}`
  const links = await Promise.all(Array.from({ length: 9 }, (_, i) => at(i).link('ben')))
  const answers = await Promise.all(links.map((link, i) => at(i).openSession(link, { origin: SITE, cookie })))
  expect(answers.map(({ status }) => status)).toEqual(Array<number>(9).fill(200))
  expect(await everywhere(first)).toEqual([401, 401, 401])
})

it('a vote counts only when it precedes the end of its session on another instance', async () => {
  const agent = await at(0).agent()
  for (let round = 0; round < 15; round++) {
    const { thread } = await held(agent)
    const session = await signIn(round, 'cat')
    const voter = onOther(at(round), session)
    const body = { decision: 'approve', revision: 1 }
    const [vote, end] = await Promise.all([
      voter.call<never>('POST', `threads/${thread}/votes`, { body, headers: { origin: SITE } }),
      at(round + 1).admin('DELETE', 'reviewers/acme/cat/sessions'),
    ])
    expect(end.status).toBe(204)
    expect([200, 401]).toContain(vote.status)
    const records = (await at(0).allEvidence()).map(({ record }) => record)
    const cast = records.findIndex((one) => one.type === 'vote.cast' && one.thread_id === thread)
    const ended = records.findLastIndex((one) => one.type === 'session.ended')
    expect(cast >= 0).toBe(vote.status === 200)
    expect(cast).toBeLessThan(ended)
  }
})

it('single sign-on that begins on one instance ends on another', async () => {
  provider.person = { sub: 'a', email: 'ann@acme.example', email_verified: true }
  const browser = new Browser()
  const { url } = await browser.go(`${at(0).url}${browser.start}`, (next) => next.origin === SITE)
  const back = await browser.ask(url.href.replace(SITE, at(1).url))
  const session = await browser.handOver(at(2).url, SITE, back.headers.get('location') ?? '')
  expect(await everywhere(new SignedIn(at(2), ...session))).toEqual([200, 200, 200])
})
