// @store each, in the soak
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import type { SignedIn as SignedInBody, SignInOptions } from '../../src/contract/session.ts'
import { composeCredential, hashCredential } from '../../src/domain/credential.ts'
import { INDEX } from '../../src/gateway/core/indexes.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import { BUNDLE } from '../bundle.ts'
import { fileWorld, world } from '../agent-world.ts'
import {
  ADMIN_KEY,
  type Agent,
  type Answer,
  call,
  type CallOptions,
  type EvidenceLine,
  held,
  HOUR,
  isCheckpoint,
  MINUTE,
  openWorld,
  Overtaking,
  overriding,
  pageOf,
  SECOND,
  sessionIn,
  type SignedIn,
  type World,
} from '../gateway-fixture.ts'
import { Listener } from '../stream-listener.ts'
import { exchange } from './socket.ts'

/** Signing in to the console: one-time links, sessions, cookies, and how they end (docs/signing-in.md). */

let bot: Agent

fileWorld()
beforeAll(async () => {
  bot = await world.agent()
})

const said = (lines: readonly EvidenceLine[]): unknown[] =>
  lines.map(({ record }) => [record.type, record.details?.['reason'] ?? record.details?.['via']])

async function inOwnWorld(
  options: Parameters<typeof openWorld>[0],
  act: (own: World) => Promise<void>,
): Promise<void> {
  const own = await openWorld(options)
  try {
    await act(own)
  } finally {
    await own.close()
  }
}

const statusOf = async (reviewer: SignedIn): Promise<number> => (await reviewer.call('GET', 'me')).status

/** Whatever the store holds of sign-ins: records by hash, and the index of a reviewer. */
async function left(at: World, credential: string, reviewer: string): Promise<unknown[]> {
  const { store } = at.app.deps
  const hash = hashCredential(credential)
  const records = await Promise.all(['session', 'seen', 'link'].map((type) => store.get('acme', type, hash)))
  const listed = await store.range('acme', INDEX.signIns(reviewer), { limit: 100 })
  const timed = await store.range('acme', INDEX.purge, { limit: 100 })
  const named = [...listed, ...timed].filter(({ member }) => member.endsWith(hash))
  return [...records.filter((record) => record !== undefined), ...named]
}

describe('POST /api/review/session', () => {
  it('200 with Me and a cookie that only this host can set, no page can read, and no other site can send', async () => {
    const answer = await world.openSession(await world.link('ann'))
    expect(answer.status).toBe(200)
    expect(answer.body.me).toMatchObject({
      tenant: 'acme',
      reviewer: 'ann',
      via: 'link',
      session: { idle_ms: 1_800_000, expires_at: new Date(world.clock.now + 8 * HOUR).toISOString() },
    })
    const [cookie = '', ...more] = answer.headers.getSetCookie()
    expect(more).toEqual([])
    expect(cookie).toMatch(
      /^__Host-countersign=css_acme_[\w-]{49}; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
    )
    expect(answer.text).not.toContain(sessionIn(answer))
  })

  it('200 once: the second use of a link is the same 401 as an unknown link', async () => {
    const link = await world.link('ann')
    expect((await world.openSession(link)).status).toBe(200)
    const refused = [
      link,
      composeCredential('link', Buffer.alloc(32, 9), 'acme'),
      composeCredential('link', Buffer.alloc(32, 9), 'no-such-tenant'),
      link.replace('csl_acme', 'csl_globex'),
      `${link.slice(0, -1)}${link.endsWith('A') ? 'B' : 'A'}`,
      (await world.signIn('ann')).key,
      (await world.reviewer('ann')).key,
      'csl_acme_nonsense',
      'x',
    ]
    const texts = new Set<string>()
    for (const one of refused) {
      const answer = await world.openSession(one)
      expect([answer.status, sessionIn(answer)]).toEqual([401, undefined])
      texts.add(answer.text)
    }
    expect(texts.size, 'the answer does not tell them apart').toBe(1)
  })

  it('200 for one of many who race with one link, and 401 for all others: only one session opens', async () => {
    const link = await world.link('cat')
    const before = (await world.evidence()).length
    const answers = await Promise.all(Array.from({ length: 32 }, () => world.openSession(link)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(31)
    expect(answers.flatMap((answer) => sessionIn(answer) ?? [])).toHaveLength(1)
    expect(said(await world.evidence('acme', before))).toEqual([['session.opened', 'link']])
  })

  it('401 from ten minutes after the link was issued, and not before', async () => {
    await inOwnWorld({}, async (own) => {
      const [early, late] = [await own.link('ann'), await own.link('ann')]
      own.clock.advance(10 * MINUTE - 1)
      expect((await own.openSession(early)).status).toBe(200)
      own.clock.advance(1)
      expect((await own.openSession(late)).status).toBe(401)
      await own.due()
      expect(await left(own, late, 'ann')).toEqual([])
    })
  })

  it('401 with a link for a reviewer who has left the directory', async () => {
    await inOwnWorld({}, async (own) => {
      const link = await own.link('nil')
      await own.changePolicies({
        'directory.yaml': (BUNDLE['directory.yaml'] ?? '').replace(/ +nil: .*\n/, ''),
      })
      expect((await own.openSession(link)).status).toBe(401)
    })
  })

  it.each<[number, string, CallOptions]>([
    [400, 'without a link', { body: {} }],
    [400, 'with more than a link', { body: { link: 'x', more: 1 } }],
    [400, 'with what is not JSON', { raw: 'link' }],
    [400, 'with a link that stands twice', { raw: '{"link": "x", "link": "y"}' }],
    [415, 'as text', { raw: '{"link": "x"}', headers: { 'content-type': 'text/plain' } }],
    [415, 'as a form', { raw: 'link=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    [413, 'with more than a body may hold', { raw: `{"link": "${'x'.repeat(300_000)}"}` }],
  ])('%i %s', async (status, _, options) => {
    const headers = { ...pageOf(world.url), ...options.headers }
    const answer = await call(`${world.url}/api/review/session`, 'POST', { ...options, headers })
    expect(answer.status).toBe(status)
  })

  it('403 foreign_origin from another page, and the link stays valid', async () => {
    const link = await world.link('ann')
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      const { status, problem } = await world.openSession(link, headers)
      expect([status, problem.code]).toEqual([403, 'foreign_origin'])
    }
    expect((await world.openSession(link)).status).toBe(200)
  })

  it('403 foreign_origin from the other names of this machine, whose pages lead to 127.0.0.1', async () => {
    const { port } = new URL(world.url)
    const link = await world.link('ann')
    for (const [host, wanted] of [
      ['localhost', 403],
      ['[::1]', 403],
      ['127.0.0.1', 200],
    ] as const) {
      const { status } = await world.openSession(link, { origin: `http://${host}:${port}` })
      expect([host, status]).toEqual([host, wanted])
    }
  })

  it('200 only from the public URL when one is set, and the link leads there', async () => {
    await inOwnWorld({ config: { publicUrl: 'https://countersign.example' } }, async (own) => {
      const { body } = await own.admin<{ url: string }>('POST', 'reviewers/acme/ann/login-link')
      expect(body.url).toMatch(/^https:\/\/countersign\.example\/console\/#\/sign-in\/csl_acme_[\w-]{49}$/)
      const link = body.url.split('/').at(-1) ?? ''
      expect((await own.openSession(link)).status).toBe(403)
      expect((await own.openSession(link, { origin: 'https://countersign.example' })).status).toBe(200)
    })
  })

  it.each([
    ['public_url is not set', { host: '0.0.0.0' }],
    ['browsers keep no session without https', { publicUrl: 'http://countersign.example' }],
    [undefined, { host: '0.0.0.0', publicUrl: 'https://countersign.example' }],
    [undefined, {}],
  ] as const)('a setting that prevents sign-in is logged at the start: %s', async (warning, config) => {
    await inOwnWorld({ config }, (own) => {
      const said = /public_url is not set|browsers keep no session without https/.exec(
        own.logged.join(''),
      )?.[0]
      expect(said).toBe(warning)
      return Promise.resolve()
    })
  })

  it('429 with Retry-After for too many invalid links; other pages cannot cause it, and valid links still work', async () => {
    await inOwnWorld({}, async (own) => {
      for (let i = 0; i < 130; i++) await own.openSession('x', { origin: 'https://evil.example' })
      // two more are let in each second meanwhile
      const answers: Answer<SignedInBody>[] = []
      while (answers.length < 300)
        answers.push(...(await Promise.all(Array.from({ length: 10 }, () => own.openSession('x')))))
      expect(answers.slice(0, 120).map(({ status }) => status)).toEqual(Array<number>(120).fill(401))
      const refused = answers.filter(({ status }) => status !== 401)
      expect(new Set(refused.map(({ status, problem }) => `${status} ${problem.code}`))).toEqual(
        new Set(['429 rate_limited']),
      )
      for (const { headers } of refused) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await own.openSession(await own.link('ann'))).status).toBe(200)
    })
  })

  it('replaces the session of the same browser, in this tenant or another', async () => {
    const ann = await world.signIn('ann')
    const cookie = ann.credentials()['cookie'] ?? ''
    const records = await world.evidenceOf(async () => {
      const answer = await world.openSession(await world.link('ben'), { cookie })
      expect([answer.status, answer.body.me.reviewer]).toEqual([200, 'ben'])
    })
    expect(said(records)).toEqual([
      ['link.issued', undefined],
      ['session.opened', 'link'],
      ['session.ended', 'replaced'],
    ])
    expect(await statusOf(ann)).toBe(401)
    const again = await world.signIn('ann')
    const elsewhere = await world.openSession(await world.link('zoe', 'globex'), {
      cookie: again.credentials()['cookie'] ?? '',
    })
    expect(elsewhere.body.me.tenant).toBe('globex')
    expect(await statusOf(again)).toBe(401)
  })

  it('200 even while the replaced session of another tenant cannot be ended: the link is used up', async () => {
    let broken = ''
    const wrapStore = (store: Store): Store =>
      overriding(store, {
        commit: (partition, commit) =>
          partition === broken
            ? Promise.reject(new StoreUnavailable('broken by the test'))
            : store.commit(partition, commit),
      })
    await inOwnWorld({ wrapStore }, async (own) => {
      const zoe = await own.signIn('zoe', 'globex')
      const link = await own.link('ann')
      broken = 'globex'
      const { status, body } = await own.openSession(link, { cookie: zoe.credentials()['cookie'] ?? '' })
      expect([status, body.me.reviewer]).toEqual([200, 'ann'])
    })
  })
})

describe('a session', () => {
  it('200 reads and votes as its reviewer, and the vote records the session', async () => {
    const ann = await world.signIn('ann')
    const { thread } = await held(bot)
    expect((await ann.show(thread)).status).toBe(200)
    const { status, body } = await ann.approve(thread)
    expect([status, body.status, body.votes[0]?.via]).toEqual([200, 'approved', 'link'])
  })

  it('403 foreign_origin on a vote, a comment and a sign-out from another page, without an effect', async () => {
    const ann = await world.signIn('ann')
    const { thread } = await held(bot)
    const records = await world.evidenceOf(async () => {
      for (const [method, path, body] of [
        ['POST', `threads/${thread}/votes`, { decision: 'approve', revision: 1 }],
        ['POST', `threads/${thread}/comments`, { comment: 'x' }],
        ['DELETE', 'session', undefined],
      ] as const) {
        for (const from of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
          const { status, problem } = await ann.call<never>(method, path, { body, headers: from })
          expect([status, problem.code]).toEqual([403, 'foreign_origin'])
        }
      }
    })
    expect(records).toEqual([])
    expect(await statusOf(ann)).toBe(200)
  })

  it('403 foreign_origin on a read by a script of another page', async () => {
    const ann = await world.signIn('ann')
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    const { status, problem } = await ann.call<never>('GET', 'threads', { headers })
    expect([status, problem.code]).toEqual([403, 'foreign_origin'])
  })

  it('needs no Origin with a key, because a page cannot send one by itself', async () => {
    const ann = await world.reviewer('ann')
    const { thread } = await held(bot)
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    const body = { decision: 'approve', revision: 1 }
    expect((await ann.vote(thread, body, headers)).status).toBe(200)
  })

  it('401 for a cookie that is invalid or occurs twice', async () => {
    const { key, secret } = await world.signIn('ann')
    const reviewerKey = (await world.reviewer('ann')).key
    for (const cookie of [
      '__Host-countersign=',
      '__Host-countersign',
      `__Host-countersign=${key}x`,
      `__Host-countersign="${key}"`,
      `__host-countersign=${key}`,
      `countersign=${key}`,
      `__Host-countersign=${key}; __Host-countersign=${key}`,
      `__Host-countersign=${key}; __Host-countersign=x`,
      `__Host-countersign=${reviewerKey}`,
      `__Host-countersign=${await world.link('ann')}`,
      `__Host-countersign=${ADMIN_KEY}`,
      `__Host-countersign=${key.replace('css_acme', 'css_globex')}`,
      `__Host-countersign=${composeCredential('session', Buffer.alloc(32, 5), 'acme')}`,
    ]) {
      const headers = { cookie, 'countersign-page': secret, ...pageOf(world.url) }
      const { status } = await call(`${world.url}/api/review/me`, 'GET', { headers })
      expect([cookie, status]).toEqual([cookie, 401])
    }
    const beside = {
      cookie: `a=b; __Host-countersign=${key} ; c=__Host-countersign=x`,
      'countersign-page': secret,
    }
    expect((await call(`${world.url}/api/review/me`, 'GET', { headers: beside })).status).toBe(200)
  })

  it('401 as a bearer credential, on every plane', async () => {
    const { key } = await world.signIn('ann')
    const headers = { authorization: `Bearer ${key}` }
    for (const path of ['review/me', 'agent/decisions?task_id=a', 'admin/policies'])
      expect((await call(`${world.url}/api/${path}`, 'GET', { headers })).status).toBe(401)
  })

  it("yields to any bearer credential, valid or not, and coexists with a proxy's own scheme", async () => {
    const ann = await world.signIn('ann')
    const ben = await world.reviewer('ben')
    const both = (authorization: string): Promise<Answer<{ reviewer: string }>> =>
      ann.call('GET', 'me', { headers: { authorization } })
    expect((await both(`Bearer ${ben.key}`)).body.reviewer).toBe('ben')
    expect((await both('Bearer nonsense')).status).toBe(401)
    expect((await both('Bearer')).status).toBe(401)
    expect((await both('Basic YTpi')).body.reviewer).toBe('ann')
    const [basic, key] = ['Authorization: Basic YTpi\r\n', `Authorization: Bearer ${ben.key}\r\n`]
    const cookie = `Cookie: ${ann.credentials()['cookie']}\r\n`
    const twice = `GET /api/review/me HTTP/1.1\r\nHost: x\r\n${cookie}${basic}${key}\r\n`
    expect((await exchange(world.url, [twice])).status).toBe(401)
  })

  it('200 for the rights of the admin role, and 403 for issuing credentials', async () => {
    const [ann, ben] = [await world.signIn('ann'), await world.signIn('ben')]
    const admin = (who: SignedIn, method: string, path: string, more: object = {}) =>
      call<never>(`${world.url}/api/admin/${path}`, method, { headers: who.credentials(), ...more })
    expect((await admin(ann, 'GET', 'policies')).status).toBe(200)
    expect((await admin(ben, 'GET', 'policies')).status).toBe(200)
    expect((await admin(ben, 'GET', 'checkpoints?tenant=acme')).problem.code).toBe('not_permitted')
    const body = { tool_name: 't', payload: {} }
    expect((await admin(ann, 'POST', 'policies/explain', { body })).status).toBe(200)
    const { origin: _, ...headers } = ann.credentials()
    expect((await admin(ann, 'POST', 'policies/explain', { body, headers })).problem.code).toBe(
      'foreign_origin',
    )
    for (const [method, path] of [
      ['POST', 'reviewers/acme/ann/key'],
      ['POST', 'reviewers/acme/ben/login-link'],
      ['DELETE', 'reviewers/acme/ben/sessions'],
    ] as const)
      expect((await admin(ann, method, path)).problem.code).toBe('not_permitted')
  })

  it('leaves no credential and no link in the log or the evidence, and only hashes in the store', async () => {
    const link = await world.link('ann')
    const answer = await world.openSession(link)
    const session = sessionIn(answer) ?? ''
    const page = answer.body.page_secret
    const evidence = JSON.stringify(await world.evidence())
    for (const secret of [link, session, page].flatMap((one) => [one, one.slice(9, 52)])) {
      expect(world.logged.join('')).not.toContain(secret)
      expect(evidence).not.toContain(secret)
    }
    expect(evidence).toContain(hashCredential(session))
    const record = await world.app.deps.store.get('acme', 'session', hashCredential(session))
    for (const secret of [session, page]) expect(record?.body).not.toContain(secret.slice(9, 52))
    expect(record?.body).toContain(hashCredential(page))
  })
})

describe('the cookie alone', () => {
  const BODIES: Readonly<Record<string, object>> = {
    votes: { decision: 'approve', revision: 1 },
    comments: { comment: 'x' },
    claim: {},
    reveal: { revision: 1 },
    explain: { tool_name: 'pay', payload: {} },
  }
  const routes = (thread: string): [string, string][] => [
    ...[
      'me',
      'agents',
      'counts',
      'threads',
      'stream',
      `threads/${thread}`,
      `threads/${thread}/images/1/0`,
    ].map((path): [string, string] => ['GET', `review/${path}`]),
    ...['votes', 'comments', 'claim', 'release', 'reveal'].map((act): [string, string] => [
      'POST',
      `review/threads/${thread}/${act}`,
    ]),
    ['DELETE', 'review/session'],
    ['DELETE', 'review/session?everywhere=true'],
    ['GET', 'admin/policies'],
    ['POST', 'admin/policies/explain'],
    ['GET', 'admin/webhooks?tenant=acme'],
  ]

  it('401 on every route with any invented page secret, without a read or an effect', async () => {
    const [ann, other] = [await world.signIn('ann'), await world.signIn('ann')]
    const { thread } = await held(bot)
    const { 'countersign-page': _, ...stolen } = ann.credentials()
    const guesses = [
      {},
      { 'countersign-page': '' },
      { 'countersign-page': other.secret },
      { 'countersign-page': ann.key },
      { 'countersign-page': hashCredential(ann.secret) },
      { 'countersign-page': composeCredential('page', Buffer.alloc(32, 5), 'acme') },
      { 'countersign-page': `${ann.secret}, ${ann.secret}` },
    ]
    const texts = new Set<string>()
    const records = await world.evidenceOf(async () => {
      for (const [method, path] of routes(thread))
        for (const guess of guesses) {
          const body = BODIES[path.split('/').at(-1) ?? '']
          const options = { headers: { ...stolen, ...guess }, ...(body && { body }) }
          const answer = await call(`${world.url}/api/${path}`, method, options)
          expect([method, path, guess, answer.status]).toEqual([method, path, guess, 401])
          texts.add(answer.text)
        }
    })
    expect([...texts]).toHaveLength(1)
    expect(records).toEqual([])
    expect([await statusOf(ann), await statusOf(other)]).toEqual([200, 200])
  })

  it('does not reveal the session: without the secret, the sign-in options say signed out', async () => {
    const ann = await world.signIn('ann')
    const { 'countersign-page': secret, ...stolen } = ann.credentials()
    const ask = (headers: Record<string, string>): Promise<Answer<SignInOptions>> =>
      call(`${world.url}/api/review/session`, 'GET', { headers })
    expect((await ask(stolen)).body).toEqual({ signed_in: false })
    expect((await ask({ ...stolen, 'countersign-page': secret ?? '' })).body).toEqual({ signed_in: true })
  })

  it('keeps no session alive, and ends no expired one', async () => {
    await inOwnWorld({}, async (own) => {
      const ann = await own.signIn('ann')
      const { 'countersign-page': _, ...stolen } = ann.credentials()
      const knock = async (): Promise<number> =>
        (await call(`${own.url}/api/review/me`, 'GET', { headers: stolen })).status
      own.clock.advance(29 * MINUTE)
      expect(await knock()).toBe(401)
      own.clock.advance(MINUTE)
      expect(await own.evidenceOf(knock)).toEqual([])
      expect(said(await own.evidenceOf(() => own.due()))).toEqual([['session.ended', 'idle']])
    })
  })

  it('401 for the secret without its cookie, and for a repeated header', async () => {
    const ann = await world.signIn('ann')
    const { cookie, ...page } = ann.credentials()
    expect((await call(`${world.url}/api/review/me`, 'GET', { headers: page })).status).toBe(401)
    const header = `Countersign-Page: ${ann.secret}\r\n`
    const twice = `GET /api/review/me HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n${header}${header}\r\n`
    expect((await exchange(world.url, [twice])).status).toBe(401)
  })

  it('401 for a session that was opened before pages kept a secret', async () => {
    await inOwnWorld({ tampered: true }, async (own) => {
      const ann = await own.signIn('ann')
      const { deps } = own.app
      const id = hashCredential(ann.key)
      const { page: _, ...old } = JSON.parse((await deps.store.get('acme', 'session', id))?.body ?? '') as {
        page: string
      }
      const writes = [{ op: 'put', type: 'session', id, body: JSON.stringify(old) } as const]
      const commit = { commitId: deps.nextCommitId(), deadline: Infinity, guards: [], writes, events: [] }
      expect(await deps.store.commit('acme', commit)).toMatchObject({ ok: true })
      expect(await statusOf(ann)).toBe(401)
    })
  })
})

describe('a session ends', () => {
  it('204 when its reviewer signs out, with the cookie removed', async () => {
    const ann = await world.signIn('ann')
    const records = await world.evidenceOf(async () => {
      const out = await ann.call('DELETE', 'session')
      expect(out.status).toBe(204)
      expect(out.headers.getSetCookie()[0]).toMatch(/^__Host-countersign=; .*Max-Age=0$/)
    })
    expect(said(records)).toEqual([['session.ended', 'signed_out']])
    expect(await statusOf(ann)).toBe(401)
    expect((await ann.call('DELETE', 'session')).status).toBe(401)
    expect(await left(world, ann.key, 'ann')).toEqual([])
  })

  it('204 everywhere: all sessions and unused links of the reviewer, and of no other', async () => {
    const [here, there, other] = [
      await world.signIn('eve'),
      await world.signIn('eve'),
      await world.signIn('ben'),
    ]
    const link = await world.link('eve')
    const key = await world.reviewer('eve')
    expect((await here.call('DELETE', 'session?everywhere=true')).status).toBe(204)
    expect([await statusOf(here), await statusOf(there), await statusOf(other)]).toEqual([401, 401, 200])
    expect((await world.openSession(link)).status).toBe(401)
    expect((await key.call('GET', 'me')).status).toBe(200)
    expect((await other.call('DELETE', 'session?everywhere=no')).status).toBe(400)
    expect((await here.call('DELETE', 'session?everywhere=no')).status).toBe(401)
  })

  it('503 when only some of very many could be ended: the requesting session stays and can retry', async () => {
    let left = Infinity
    const wrapStore = (store: Store): Store =>
      overriding(store, {
        commit: (partition, commit) =>
          !isCheckpoint(commit) && --left < 0
            ? Promise.reject(new StoreUnavailable('away'))
            : store.commit(partition, commit),
      })
    await inOwnWorld({ wrapStore, config: { budgetSessionsPerReviewer: 1_000 } }, async (own) => {
      const asking = await own.signIn('ann')
      own.clock.advance(SECOND)
      const another = await own.signIn('ann')
      for (let i = 0; i < 99; i++) await own.signIn('ann')
      left = 1
      expect((await asking.call('DELETE', 'session?everywhere=true')).status).toBe(503)
      left = Infinity
      expect((await asking.call('DELETE', 'session?everywhere=true')).status).toBe(204)
      expect(await statusOf(another)).toBe(401)
      expect(await own.app.deps.store.range('acme', INDEX.signIns('ann'), { limit: 1 })).toEqual([])
    })
  })

  it('204 when an administrator ends them, 404 for an unknown reviewer', async () => {
    const [ann, link] = [await world.signIn('ann'), await world.link('ann')]
    const records = await world.evidenceOf(async () => {
      expect((await world.admin('DELETE', 'reviewers/acme/ann/sessions')).status).toBe(204)
    })
    expect(records.at(-1)?.record).toMatchObject({
      type: 'session.ended',
      actor: { kind: 'admin', id: 'admin' },
      details: { reviewer: 'ann', reason: 'ended_by_admin' },
    })
    expect(await statusOf(ann)).toBe(401)
    expect((await world.openSession(link)).status).toBe(401)
    expect((await world.admin('DELETE', 'reviewers/acme/ann/sessions')).status).toBe(204)
    for (const path of [
      'reviewers/acme/nobody/sessions',
      'reviewers/nowhere/ann/sessions',
      'reviewers/A/./sessions',
    ])
      expect((await world.admin('DELETE', path)).status).toBe(404)
    for (const path of ['reviewers/acme/nobody/login-link', 'reviewers/nowhere/ann/login-link'])
      expect((await world.admin('POST', path)).status).toBe(404)
  })

  it('204 when an administrator ends the sessions of a reviewer who has left, 404 when all have ended', async () => {
    await inOwnWorld({}, async (own) => {
      await own.signIn('nil')
      const text = BUNDLE['directory.yaml'] ?? ''
      await own.changePolicies({ 'directory.yaml': text.replace(/ +nil: .*\n/, '') })
      const records = await own.evidenceOf(async () => {
        expect((await own.admin('DELETE', 'reviewers/acme/nil/sessions')).status).toBe(204)
        expect((await own.admin('DELETE', 'reviewers/acme/nil/sessions')).status).toBe(404)
      })
      expect(said(records)).toEqual([['session.ended', 'ended_by_admin']])
    })
  })

  it('401 after half an hour without a request, and not while it is in use', async () => {
    await inOwnWorld({}, async (own) => {
      const ann = await own.signIn('ann')
      for (let i = 0; i < 5; i++) {
        own.clock.advance(29 * MINUTE)
        expect(await statusOf(ann)).toBe(200)
      }
      own.clock.advance(30 * MINUTE - 1)
      expect(await statusOf(ann)).toBe(200)
      own.clock.advance(30 * MINUTE)
      const records = await own.evidenceOf(async () => {
        expect(await statusOf(ann)).toBe(401)
        expect(await statusOf(ann)).toBe(401)
      })
      expect(said(records)).toEqual([['session.ended', 'idle']])
      expect(await left(own, ann.key, 'ann')).toEqual([])
    })
  })

  it('401 after eight hours, whatever was requested', async () => {
    await inOwnWorld({}, async (own) => {
      const ann = await own.signIn('ann')
      for (let i = 0; i < 19; i++) {
        own.clock.advance(25 * MINUTE)
        expect(await statusOf(ann)).toBe(200)
      }
      own.clock.advance(5 * MINUTE)
      const records = await own.evidenceOf(async () => expect(await statusOf(ann)).toBe(401))
      expect(said(records)).toEqual([['session.ended', 'expired']])
    })
  })

  it("401 after the times of the gateway's settings", async () => {
    await inOwnWorld({ config: { sessionIdle: 2 * MINUTE, sessionLifetime: 5 * MINUTE } }, async (own) => {
      const ann = await own.signIn('ann')
      const { body } = await ann.call<{ session: object }>('GET', 'me')
      expect(body.session).toEqual({
        idle_ms: 2 * MINUTE,
        expires_at: new Date(own.clock.now + 5 * MINUTE).toISOString(),
      })
      own.clock.advance(2 * MINUTE)
      expect(await statusOf(ann)).toBe(401)
    })
  })

  it('the timer ends it exactly at its end, and a session in use stays', async () => {
    await inOwnWorld({}, async (own) => {
      const [idle, used] = [await own.signIn('ann'), await own.signIn('ben')]
      own.clock.advance(20 * MINUTE)
      expect(await statusOf(used)).toBe(200)
      own.clock.advance(10 * MINUTE - 1)
      expect(said(await own.evidenceOf(() => own.due()))).toEqual([])
      own.clock.advance(1)
      expect(said(await own.evidenceOf(() => own.due()))).toEqual([['session.ended', 'idle']])
      expect(await left(own, idle.key, 'ann')).toEqual([])
      expect(await statusOf(used)).toBe(200)
      own.clock.advance(8 * HOUR)
      await own.due()
      expect(await left(own, used.key, 'ben')).toEqual([])
    })
  })

  it('is recorded as used at most once a minute, and only by real use', async () => {
    await inOwnWorld({}, async (own) => {
      const ann = await own.signIn('ann')
      const noted = async (): Promise<number> =>
        (await own.app.deps.store.get('acme', 'seen', hashCredential(ann.key)))?.revision ?? 0
      for (let i = 0; i < 10; i++) await ann.call('GET', 'me')
      expect(await noted()).toBe(0)
      own.clock.advance(MINUTE)
      for (let i = 0; i < 10; i++) await ann.call('GET', 'me')
      expect(await noted()).toBe(1)
    })
  })

  it('401 after half an hour of only background requests and stream connections', async () => {
    await inOwnWorld({}, async (own) => {
      const ann = await own.signIn('ann')
      for (let i = 0; i < 2; i++) {
        own.clock.advance(10 * MINUTE)
        for (const path of ['counts', 'threads', 'me'])
          expect((await ann.call('GET', path, { headers: { 'countersign-unattended': '1' } })).status).toBe(
            200,
          )
        const stream = await Listener.open(ann)
        expect(stream.status).toBe(200)
        stream.close()
      }
      own.clock.advance(10 * MINUTE)
      expect(await statusOf(ann)).toBe(401)
    })
  })

  it('200 while the store refuses writes: unrecorded use ends it sooner, never later', async () => {
    let full = false
    const wrapStore = (store: Store): Store =>
      overriding(store, {
        commit: (...args) =>
          full ? Promise.reject(new StoreUnavailable('no space left')) : store.commit(...args),
      })
    await inOwnWorld({ wrapStore }, async (own) => {
      const ann = await own.signIn('ann')
      full = true
      own.clock.advance(20 * MINUTE)
      expect(await statusOf(ann)).toBe(200)
      own.clock.advance(10 * MINUTE)
      expect(await statusOf(ann)).toBe(401)
      full = false
      expect(said(await own.evidenceOf(() => own.due()))).toEqual([['session.ended', 'idle']])
    })
  })

  const directory = BUNDLE['directory.yaml'] ?? ''
  const ANN = 'ann:  { name: Ann Ash, email: ann@acme.example, groups: [desk, leads, board], roles: [admin] }'
  it.each([
    ['a group is taken', '[desk, leads, board], roles: [admin]', '[desk, leads], roles: [admin]', 'changed'],
    ['a group is given', '[desk, leads, board]', '[desk, leads, board, audit]', 'changed'],
    ['a role is taken', ', roles: [admin]', '', 'changed'],
    ['the address is another', 'ann@acme', 'ann.ash@acme', 'changed'],
    ['the reviewer has left', `      ${ANN}\n`, '', 'removed'],
  ])('401 when %s in the directory', async (_, from, to, reason) => {
    expect(directory).toContain(ANN)
    await inOwnWorld({}, async (own) => {
      const ann = await own.signIn('ann')
      expect(await statusOf(ann)).toBe(200)
      const entry = ANN.includes(from)
        ? directory.replace(ANN, ANN.replace(from, to))
        : directory.replace(from, to)
      await own.changePolicies({ 'directory.yaml': entry.replace('owners: [ann]', 'owners: [ben]') })
      const records = await own.evidenceOf(async () => expect(await statusOf(ann)).toBe(401))
      expect(said(records)).toEqual([['session.ended', reason]])
      expect(await left(own, ann.key, 'ann')).toEqual([])
    })
  })

  it('200 when another part of the directory changes: a name, the order of groups, another reviewer', async () => {
    await inOwnWorld({}, async (own) => {
      const ann = await own.signIn('ann')
      const changed = directory
        .replace('Ann Ash', 'Ann Elder')
        .replace('[desk, leads, board], roles', '[board, desk, leads], roles')
        .replace('groups: [desk, board] }', 'groups: [desk] }')
      await own.changePolicies({ 'directory.yaml': changed })
      expect(await statusOf(ann)).toBe(200)
    })
  })

  it('survives a restart, and a bundle that does not load: 503, and the session stays', async () => {
    await inOwnWorld({}, async (own) => {
      const ann = await own.signIn('ann')
      await own.restart()
      expect(await statusOf(ann)).toBe(200)
      await own.stop()
      await writeFile(join(own.policies, 'routing.yaml'), 'levels: none\n')
      await own.start()
      expect(await statusOf(ann)).toBe(503)
      own.clock.advance(30 * MINUTE - 1)
      await own.due()
      await own.changePolicies({ 'routing.yaml': BUNDLE['routing.yaml'] ?? '' })
      expect(await statusOf(ann)).toBe(200)
    })
  })

  it('401 for a vote under a session that ends while the vote is counted, and nothing is written', async () => {
    const overtaking = new Overtaking()
    await inOwnWorld({ wrapStore: overtaking.wrapStore }, async (own) => {
      const agent = await own.agent()
      const ann = await own.signIn('ann')
      const { thread } = await held(agent)
      const records = await own.evidenceOf(async () => {
        overtaking.before = () => own.admin('DELETE', 'reviewers/acme/ann/sessions')
        expect((await ann.approve(thread)).status).toBe(401)
      })
      expect(said(records)).toEqual([['session.ended', 'ended_by_admin']])
    })
  })

  it('401 for a release when the session or key ends during it, even without a claim', async () => {
    let meanwhile: (() => Promise<unknown>) | undefined
    const wrapStore = (store: Store): Store =>
      overriding(store, {
        get: async (...args) => {
          const act = args[1] === 'thread' ? meanwhile : undefined
          if (act !== undefined) meanwhile = undefined
          await act?.()
          return store.get(...args)
        },
      })
    await inOwnWorld({ wrapStore }, async (own) => {
      const { thread } = await held(await own.agent())
      for (const [ann, ends] of [
        [await own.signIn('ann'), 'sessions'],
        [await own.reviewer('ann'), 'key'],
      ] as const) {
        meanwhile = () => own.admin('DELETE', `reviewers/acme/ann/${ends}`)
        expect((await ann.call('POST', `threads/${thread}/release`)).status).toBe(401)
      }
    })
  })
})

describe('GET /api/review/session', () => {
  it('200 says whether the caller is signed in, and never refuses', async () => {
    const ann = await world.signIn('ann')
    const ask = async (headers: Record<string, string>): Promise<SignInOptions> =>
      (await call<SignInOptions>(`${world.url}/api/review/session`, 'GET', { headers })).body
    expect(await ask({})).toEqual({ signed_in: false })
    expect(await ask(ann.credentials())).toEqual({ signed_in: true })
    expect(await ask({ cookie: '__Host-countersign=x' })).toEqual({ signed_in: false })
    expect(await ask({ ...ann.credentials(), 'sec-fetch-site': 'cross-site' })).toEqual({ signed_in: false })
    const { key } = await world.reviewer('ann')
    expect(await ask({ authorization: `Bearer ${key}` })).toEqual({ signed_in: true })
  })
})

describe('a session while the store is unavailable', () => {
  it('503 instead of signed out, and no valid link counts as a failed sign-in', async () => {
    let away = false
    const wrapStore = (store: Store): Store =>
      overriding(store, {
        get: (...args) => (away ? Promise.reject(new StoreUnavailable('away')) : store.get(...args)),
      })
    await inOwnWorld({ wrapStore }, async (own) => {
      const [ann, link] = [await own.signIn('ann'), await own.link('ann')]
      const failed = async (): Promise<string | undefined> => {
        const metrics = await (await fetch(own.app.metricsUrl)).text()
        return /^countersign_sign_ins_total{via="link",result="refused"} (\d+)$/m.exec(metrics)?.[1]
      }
      away = true
      expect((await ann.call('GET', 'session')).problem.code).toBe('store_unavailable')
      for (let i = 0; i <= LIMITS.SIGN_INS_PER_MINUTE; i++)
        expect((await own.openSession(link)).problem.code).toBe('store_unavailable')
      expect(await failed()).toBe('0')
      away = false
      expect((await own.openSession('nonsense')).status).toBe(401)
      expect(await failed()).toBe('1')
      expect((await own.openSession(link)).status).toBe(200)
    })
  })
})

describe('a level that requires signing in', () => {
  const desk = 'group: desk,  approvals: 1,'
  const asked = {
    'routing.yaml': (BUNDLE['routing.yaml'] ?? '').replaceAll(desk, `${desk} interactive: true,`),
  }

  it('403 sign_in_required for a key, after every other error; 200 for a session', async () => {
    await inOwnWorld({ files: asked }, async (own) => {
      const agent = await own.agent()
      const [key, dan, olga] = [
        await own.reviewer('ben'),
        await own.reviewer('dan'),
        await own.reviewer('olga'),
      ]
      const { thread } = await held(agent)
      const shown = await key.show(thread)
      expect([shown.body.interactive, shown.body.mine]).toEqual([true, false])
      expect(shown.body.can_vote).toMatchObject({ allowed: false, code: 'sign_in_required' })
      expect(shown.body.who_can_vote.map(({ reviewer }) => reviewer)).toEqual(['ann', 'ben', 'cat'])
      const codes = await Promise.all(
        [key, dan, olga].map(async (one) => (await one.approve(thread)).problem.code),
      )
      expect(codes).toEqual(['sign_in_required', 'not_eligible', 'self_review'])
      const ben = await own.signIn('ben')
      expect((await ben.show(thread)).body.can_vote).toEqual({ allowed: true })
      const { status, body } = await ben.approve(thread)
      expect([status, body.status]).toEqual([200, 'approved'])
      const again = await held(agent)
      for (const decision of ['reject', 'request_changes'])
        expect((await key.vote(again.thread, { decision, revision: 1 })).problem.code).toBe(
          'sign_in_required',
        )
    })
  })

  it('200 with a key on threads of a level without that requirement', async () => {
    await inOwnWorld({ files: asked }, async (own) => {
      const agent = await own.agent()
      const eve = await own.reviewer('eve')
      const { thread } = await held(agent, { payload: { amount: 20_000 } })
      expect((await eve.show(thread)).body.interactive).toBe(false)
      expect((await eve.approve(thread)).status).toBe(200)
    })
  })
})
