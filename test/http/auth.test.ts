import { beforeAll, describe, expect, it } from 'vitest'
import type { Access, Operation } from '../../src/contract/operation.ts'
import { OPERATIONS } from '../../src/contract/operations/operations.ts'
import { composeCredential } from '../../src/domain/credential.ts'
import { agentWorld, ann, bot, world } from '../agent-world.ts'
import { ADMIN_KEY, approved, call, held, openWorld } from '../gateway-fixture.ts'
import { ENDPOINTS, sampleOf } from '../samples.ts'
import { exchange } from './socket.ts'

/** Authentication of the three planes (docs/agent-api.md), on every endpoint of the table of operations. */

let token: string

agentWorld()
beforeAll(async () => {
  token = (await approved(bot, ann)).token
})

type Method = Operation['method']

const VALUES: Readonly<Record<string, string>> = {
  thread_id: 'thr_00000000000000000000000000',
  tenant: 'acme',
  id: 'nil',
}

/** Every endpoint of a kind of caller: its method, its path below the plane, and a body that fits. */
const endpointsFor = (access: Access): readonly (readonly [Method, string, unknown])[] =>
  Object.entries<Operation>(OPERATIONS)
    .filter(([, operation]) => operation.access === access)
    .map(([id, { method, path }]) => {
      const below = path.replace(/^\/api\/\w+\//, '')
      const body = ENDPOINTS.find((one) => one.id === id)?.body
      return [
        method,
        below.replaceAll(/\{(\w+)\}/g, (_, name: string) => VALUES[name] ?? '1'),
        body && sampleOf(body, { tenant: 'acme', reason: 'r' }),
      ]
    })

const AGENT_ENDPOINTS = endpointsFor('agent')
const REVIEW_ENDPOINTS = endpointsFor('reviewer')
const ADMIN_KEY_ENDPOINTS = endpointsFor('adminKey')
const ADMIN_ENDPOINTS = endpointsFor('admin')

const flipped = (key: string): string => key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A')

/** Every kind of invalid credential. */
const bad = (): Record<string, string | undefined> => ({
  missing: undefined,
  empty: '',
  'scheme only': 'Bearer',
  'no scheme': bot.key,
  'another scheme': `Basic ${bot.key}`,
  'two spaces': `Bearer  ${bot.key}`,
  'something after': `Bearer ${bot.key} x`,
  'two in one': `Bearer ${bot.key},Bearer ${bot.key}`,
  'in quotes': `Bearer "${bot.key}"`,
  'wrong checksum': `Bearer ${flipped(bot.key)}`,
  'too short': `Bearer ${bot.key.slice(0, -1)}`,
  'too long': `Bearer ${bot.key}a`,
  'another tenant in front of the same secret': `Bearer ${bot.key.replace('csk_acme', 'csk_globex')}`,
  'well-formed and unknown': `Bearer ${composeCredential('agent', Buffer.alloc(32, 1), 'acme')}`,
  'of a tenant that is none': `Bearer ${composeCredential('agent', Buffer.alloc(32, 1), 'no-such-tenant')}`,
  'the key of a reviewer': `Bearer ${ann.key}`,
  'an approval token': `Bearer ${token}`,
  'the admin key': `Bearer ${ADMIN_KEY}`,
  '9,000 characters': `Bearer ${'a'.repeat(9_000)}`,
})

describe('agent keys', () => {
  it.each(AGENT_ENDPOINTS)(
    '401 with WWW-Authenticate on %s %s for every kind of bad credential',
    async (method, path) => {
      const answers = new Set<string>()
      for (const [kind, authorization] of Object.entries(bad())) {
        const headers = authorization === undefined ? {} : { authorization }
        const body = method === 'POST' ? { body: {} } : {}
        const { status, text, problem } = await call<unknown>(`${world.url}/api/agent/${path}`, method, {
          headers,
          ...body,
        })
        expect([kind, status, problem.code]).toEqual([kind, 401, 'unauthenticated'])
        answers.add(text)
      }
      expect(answers.size, 'the answer does not tell the kinds apart').toBe(1)
    },
  )

  it('401 precedes every error about the body or the path', async () => {
    const nobody = (path: string, options: object) => call(`${world.url}/api/agent/${path}`, 'POST', options)
    const answers = await Promise.all([
      nobody('tasks/a/requests', { raw: 'nonsense' }),
      nobody('tasks/.a/requests', { body: {} }),
      nobody('tasks/a/requests', { raw: '{}', headers: { 'content-type': 'text/plain' } }),
      nobody('tasks/a/requests', { raw: ' '.repeat(300_000) }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401])
  })

  it.each(['bearer', 'BEARER', 'Bearer'])('200 with the scheme written %s', async (scheme) => {
    const headers = { authorization: `${scheme} ${bot.key}` }
    expect((await bot.call('POST', 'tools/resolve', { body: { tools: [] }, headers })).status).toBe(200)
  })

  it('401 on every endpoint at once when a key is revoked or rotated', async () => {
    const agent = await world.agent('other')
    const { thread } = await held(agent)
    expect((await agent.poll({ thread_id: thread })).status).toBe(200)
    expect((await world.admin('DELETE', 'agents/acme/other/key')).status).toBe(204)
    for (const [method, path] of AGENT_ENDPOINTS) {
      const body = method === 'POST' ? { body: {} } : {}
      expect((await agent.call(method, path, body)).status).toBe(401)
    }
    const renewed = await world.agent('other')
    expect((await renewed.poll({ thread_id: thread })).status).toBe(200)
    expect((await agent.poll({ thread_id: thread })).status).toBe(401)
  })
})

describe('reviewer keys', () => {
  it.each(REVIEW_ENDPOINTS)('401 on %s %s without a reviewer key', async (method, path, body) => {
    const keys = { ...bad(), 'the key of a reviewer': `Bearer ${bot.key}` }
    for (const [kind, authorization] of Object.entries(keys)) {
      const headers = authorization === undefined ? {} : { authorization }
      const { status } = await call(`${world.url}/api/review/${path}`, method, { headers, body })
      expect([kind, status]).toEqual([kind, 401])
    }
  })

  it('401 for a reviewer who has left the directory', async () => {
    const own = await openWorld()
    try {
      const gone = await own.reviewer('nil')
      expect((await gone.call('GET', 'me')).status).toBe(200)
      const { BUNDLE } = await import('../bundle.ts')
      const text = BUNDLE['directory.yaml'] ?? ''
      await own.changePolicies({ 'directory.yaml': text.replace(/ +nil: .*\n/, '') })
      // not even whether there is such a thread
      for (const [method, path, body] of REVIEW_ENDPOINTS)
        expect([path, (await gone.call(method, path, { body })).status]).toEqual([path, 401])
      expect(
        (await gone.call('POST', `threads/${VALUES['thread_id']}/votes`, { raw: 'nonsense' })).status,
      ).toBe(401)
      expect((await gone.call('GET', 'session')).body).toEqual({ signed_in: false })
    } finally {
      await own.close()
    }
  })
})

describe('the admin key', () => {
  it.each([...ADMIN_KEY_ENDPOINTS, ...ADMIN_ENDPOINTS, ...endpointsFor('adminOrReviewer')])(
    '401 on %s %s without the admin key',
    async (method, path) => {
      const records = await world.evidenceOf(async () => {
        for (const authorization of [
          undefined,
          'Bearer',
          'Bearer ',
          `Bearer ${ADMIN_KEY}x`,
          `Bearer ${ADMIN_KEY.slice(0, -1)}`,
          `Bearer ${bot.key}`,
          `Basic ${ADMIN_KEY}`,
          ADMIN_KEY,
        ]) {
          const headers = authorization === undefined ? {} : { authorization }
          const { status } = await call(`${world.url}/api/admin/${path}`, method, { headers })
          expect([authorization, status]).toEqual([authorization, 401])
        }
        const key = `Authorization: Bearer ${ADMIN_KEY}\r\n`
        for (const other of [key, 'Authorization: Bearer x\r\n']) {
          const twice = `${method} /api/admin/${path} HTTP/1.1\r\nHost: x\r\n${key}${other}\r\n`
          expect((await exchange(world.url, [twice])).status).toBe(401)
        }
      })
      expect(records).toEqual([])
    },
  )

  it.each([...ADMIN_KEY_ENDPOINTS, ...ADMIN_ENDPOINTS])(
    '403 not_permitted on %s %s for a reviewer without the admin role',
    async (method, path) => {
      const { key } = await world.reviewer('nil')
      const headers = { authorization: `Bearer ${key}` }
      const { status, body } = await call(`${world.url}/api/admin/${path}`, method, { headers })
      expect([status, (body as { code: string }).code]).toEqual([403, 'not_permitted'])
    },
  )

  it("200 on policies for every reviewer, with the agents and tools of the reviewer's own tenant only", async () => {
    const { key } = await world.reviewer('nil')
    const headers = { authorization: `Bearer ${key}` }
    const ask = (body: object): ReturnType<typeof call> =>
      call(`${world.url}/api/admin/policies/explain`, 'POST', { headers, body })
    expect((await call(`${world.url}/api/admin/policies`, 'GET', { headers })).status).toBe(200)
    const proposal = { tool_name: 'pay', payload: { amount: 1 } }
    expect((await ask(proposal)).status).toBe(200)
    expect((await ask({ ...proposal, agent: 'acme/bot' })).status).toBe(200)
    expect((await ask({ ...proposal, agent: 'globex/bot' })).status).toBe(404)
  })

  it('200 on policies and own evidence for a reviewer with the admin role, who is named in the record', async () => {
    const headers = { authorization: `Bearer ${ann.key}` }
    const read = async (path: string): Promise<number> =>
      (await fetch(`${world.url}/api/admin/${path}`, { headers })).status
    const records = await world.evidenceOf(async () => {
      expect(await read('policies')).toBe(200)
      expect(await read('evidence?tenant=acme')).toBe(200)
      expect(await read('evidence?tenant=other')).toBe(404)
      expect(await read('evidence?tenant=_system')).toBe(404)
    }, '_system')
    expect(records.map(({ record }) => [record.type, record.actor])).toContainEqual([
      'evidence.read',
      { kind: 'reviewer', id: 'ann' },
    ])
  })

  it('403 not_permitted when a reviewer with the admin role issues or revokes a key', async () => {
    const headers = { authorization: `Bearer ${ann.key}` }
    for (const method of ['POST', 'DELETE']) {
      const { status, body } = await call(`${world.url}/api/admin/agents/acme/bot/key`, method, { headers })
      expect([status, (body as { code: string }).code]).toEqual([403, 'not_permitted'])
    }
  })
})
