// @store each, in the soak
import { describe, expect, it } from 'vitest'
import type { IssuedKey, PoliciesView } from '../../src/contract/admin.ts'
import { LIMITS } from '../../src/contract/limits.ts'
import { hashCredential } from '../../src/domain/credential.ts'
import type { Explanation } from '../../src/policy/evaluate/explanation.ts'
import { loadBundle } from '../../src/policy/bundle/directory.ts'
import { fileWorld, world } from '../agent-world.ts'
import {
  Agent,
  approved,
  call,
  type CallOptions,
  edited,
  held,
  openWorld,
  Reviewer,
} from '../gateway-fixture.ts'

/** The admin plane (docs/operations.md), as far as it exists. */

fileWorld()

const T = { tool_name: 't' }

describe('POST and DELETE keys', () => {
  it('201 with the key of an agent, which works at once and is stored only as a hash', async () => {
    const records = await world.evidenceOf(async () => {
      const { status, body } = await world.admin<IssuedKey>('POST', 'agents/acme/bot/key')
      expect(status).toBe(201)
      expect(body).toEqual({
        api_key: expect.stringMatching(/^csk_acme_[A-Za-z0-9_-]{49}$/),
        tenant: 'acme',
        id: 'bot',
        rotated: false,
      })
      expect((await new Agent(world, body.api_key).submit('a', T)).status).toBe(200)
      const keyHash = hashCredential(body.api_key)
      expect(await world.app.deps.store.get('acme', 'key', keyHash)).toBeDefined()
      expect(await world.app.deps.store.get('acme', 'key', body.api_key)).toBeUndefined()
    })
    expect(records[0]?.record).toMatchObject({
      type: 'key.issued',
      actor: { kind: 'admin', id: 'admin' },
      details: { holder: 'agent', id: 'bot', rotated: false },
    })
  })

  it('201 with the key of a reviewer', async () => {
    const { status, body } = await world.admin<IssuedKey>('POST', 'reviewers/acme/nil/key')
    expect([status, body.id]).toEqual([201, 'nil'])
    expect(body.api_key).toMatch(/^csr_acme_/)
    expect((await new Reviewer(world, body.api_key).call('GET', 'me')).status).toBe(200)
  })

  it('201 rotates: the old key stops working at once, and two concurrent rotations leave one key', async () => {
    const old = await world.agent('short')
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => world.admin<IssuedKey>('POST', 'agents/acme/short/key')),
    )
    expect(answers.map(({ status, body }) => [status, body.rotated])).toEqual(answers.map(() => [201, true]))
    expect((await old.submit('a', T)).status).toBe(401)
    const alive = await Promise.all(
      answers.map(async ({ body }) => (await new Agent(world, body.api_key).submit('a', T)).status),
    )
    expect(alive.toSorted((a, b) => a - b)).toEqual([200, 401, 401, 401])
  })

  it('204 revokes a key; 404 when no key is left', async () => {
    const agent = await world.agent('limited')
    const path = 'agents/acme/limited/key'
    const records = await world.evidenceOf(async () => {
      const { status, text } = await world.admin('DELETE', path)
      expect([status, text]).toEqual([204, ''])
    })
    expect(records.map(({ record }) => record.type)).toEqual(['key.revoked'])
    expect((await agent.submit('a', T)).status).toBe(401)
    expect((await world.admin('DELETE', path)).problem.code).toBe('not_found')
  })

  it('204 revokes a key in use: no earlier call that still runs commits after it', async () => {
    const agent = await world.agent('other')
    const calls = Array.from({ length: 40 }, () =>
      agent.event('race', { event_type: 'x', event_summary: 'x' }),
    )
    const revoked = world.admin('DELETE', 'agents/acme/other/key')
    await Promise.all([...calls, revoked])
    const records = (await world.evidence()).map(({ record }) => record)
    const end = records.findLastIndex(({ type }) => type === 'key.revoked')
    expect(records.slice(end + 1).filter(({ task_id }) => task_id === 'race')).toEqual([])
  })

  it.each([
    ['POST', 'agents/acme/no-such/key'],
    ['POST', 'agents/no-such/bot/key'],
    ['POST', 'reviewers/acme/bot/key'],
    ['POST', 'agents/_system/bot/key'],
    ['POST', 'agents/__proto__/bot/key'],
    ['DELETE', 'agents/acme/no-such/key'],
    ['DELETE', 'agents/no-such/bot/key'],
    ['DELETE', 'agents/_system/admin/key'],
    ['DELETE', `agents/${'x'.repeat(200)}/bot/key`],
    ['DELETE', `agents/acme/${'x'.repeat(200)}/key`],
    ['DELETE', 'agents/%00/%ED%9F%BF/key'],
  ])('404 for %s %s', async (method, path) => {
    const { status, problem } = await world.admin<unknown>(method, path)
    expect([status, problem.code]).toEqual([404, 'not_found'])
  })
})

describe('a body that the endpoint does not expect', () => {
  it('400, 413 or 415 when the body is not readable JSON, and nothing changes', async () => {
    const ann = await world.reviewer('ann')
    const { thread } = await held(await world.agent())
    const routes = [
      () => ann.call<never>('POST', `threads/${thread}/release`, body),
      () => ann.call<never>('DELETE', 'session', body),
      () => world.admin<never>('POST', 'reviewers/acme/ann/login-link', body),
      () => world.admin<never>('DELETE', 'reviewers/acme/ann/key', body),
    ]
    let body: CallOptions = {}
    const json = { 'content-type': 'application/json' }
    for (const [status, raw, headers] of [
      [400, '{', json],
      [413, `"${'x'.repeat(LIMITS.BODY_BYTES)}"`, json],
      [415, 'x', { 'content-type': 'text/plain' }],
    ] as const) {
      body = { raw, headers }
      for (const route of routes) expect((await route()).status).toBe(status)
    }
    expect((await ann.call('GET', 'me')).status).toBe(200)
  })
})

describe('GET policies', () => {
  it('200 with the bundle in force, its files and the counts of shadow rules', async () => {
    const bot = await world.agent()
    const before = (await world.admin<PoliciesView>('GET', 'policies')).body
    await bot.submit('a', { tool_name: 'pay', payload: { amount: 1 } })
    const { status, body } = await world.admin<PoliciesView>('GET', 'policies')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      in_force: true,
      revision: expect.stringMatching(/^[0-9a-f]{64}$/),
      tools: 6,
      rules: 12,
      last_load: { ok: true, revision: body.revision },
    })
    expect(body.files.map(({ path }) => path)).toContain('rules/pay.yaml')
    expect(body.shadow['pay-shadow']).toBe((before.shadow['pay-shadow'] ?? 0) + 1)
  })

  it('200 with the diagnostics of a failed load, while the last good bundle stays in force', async () => {
    const own = await openWorld()
    try {
      const agent = await own.agent()
      const before = (await own.admin<PoliciesView>('GET', 'policies')).body
      await own.changePolicies(edited('rules/open.yaml', 'allow: Harmless.', 'alow: Harmless.'))
      const { body } = await own.admin<PoliciesView>('GET', 'policies')
      expect([body.in_force, body.revision, body.last_load.ok]).toEqual([true, before.revision, false])
      const errors = body.last_load.diagnostics.filter(({ severity }) => severity === 'error')
      expect(errors[0]).toMatchObject({ file: 'rules/open.yaml', line: expect.any(Number) })
      expect((await agent.submit('a', T)).body.status).toBe('allow')
      const types = (await own.evidence('_system')).map(({ record }) => record.type)
      expect(types).toContain('policy.loaded')
      expect(types).toContain('policy.failed')
    } finally {
      await own.close()
    }
  })
})

describe('POST policies/explain', () => {
  const asked = { tool_name: 'pay', payload: { amount: 500, secret: 'hush-hush' }, agent: 'acme/bot' }
  const ask = (body: unknown) => world.admin<Explanation>('POST', 'policies/explain', { body })

  it('200 with the decision and every rule, as `countersign explain` gives it', async () => {
    const { status, body } = await ask({ ...asked, time: '2026-11-16T11:00:00Z' })
    expect(status).toBe(200)
    const loaded = await loadBundle(world.policies)
    if (!loaded.ok) throw new Error('the bundle does not load')
    const { tool_name, payload } = asked
    const call = { tool: tool_name, payload, tenant: 'acme', agent: 'bot', at: Date.UTC(2026, 10, 16, 11) }
    expect(body).toEqual(JSON.parse(JSON.stringify(await loaded.snapshot.explain(call))))
    expect(body.outcome).toMatchObject({ verdict: 'review', by: ['pay-review'] })
    expect(body.rules.map(({ id }) => id)).toContain('pay-shadow')
  })

  it('200 omits the value of a sensitive field', async () => {
    const { text, body } = await ask(asked)
    expect(body.outcome.reads.find(({ field }) => field === 'payload.secret')).toEqual({
      field: 'payload.secret',
      state: 'value',
      sensitive: true,
    })
    expect(text).not.toContain('hush-hush')
  })

  it('200 without side effects: no thread, no evidence, no count', async () => {
    const before = (await world.admin<PoliciesView>('GET', 'policies')).body.shadow
    const records = [
      ...(await world.evidenceOf(() => ask(asked))),
      ...(await world.evidenceOf(() => ask(asked), '_system')).filter(
        ({ record }) => record.type !== 'evidence.read',
      ),
    ]
    expect(records).toEqual([])
    expect((await world.admin<PoliciesView>('GET', 'policies')).body.shadow).toEqual(before)
  })

  it('200 for a tool without a contract, which is rejected', async () => {
    const { status, body } = await ask({ tool_name: 'nope' })
    expect([status, body.outcome.by, body.rules]).toEqual([200, ['unknown_tool'], []])
  })

  it.each([
    ['no tool', {}],
    ['a member it does not know', { ...asked, verdict: 'allow' }],
    ['an agent without a tenant', { ...asked, agent: 'bot' }],
    ['a time that is none', { ...asked, time: 'noon' }],
    ['a time of another form', { ...asked, time: '1/2/2026' }],
    ['an unknown risk level', { ...asked, risk_level: 'none' }],
    ['a body that is no object', 'x'],
  ])('400 for %s', async (_, body) => {
    const { status, problem } = await ask(body)
    expect([status, problem.code]).toEqual([400, 'invalid_request'])
  })

  it('400 invalid_policy_input with pointers for a payload that does not fit', async () => {
    const { status, problem } = await ask({ ...asked, payload: {} })
    expect([status, problem.code]).toEqual([400, 'invalid_policy_input'])
    expect(problem.errors).toEqual([{ pointer: '/payload/amount', message: 'is required and missing' }])
  })

  it('400 with pointers for an unknown limit in `used`', async () => {
    const { status, problem } = await ask({ ...asked, used: { 'no/limit': 5 } })
    expect([status, problem.code]).toEqual([400, 'invalid_request'])
    expect(problem.errors).toEqual([{ pointer: '/used/no~1limit', message: 'is not a limit of the tool' }])
  })

  it("404 for an agent of another tenant; without an agent, the administrator's own tenant is used", async () => {
    const ann = await world.reviewer('ann')
    const headers = { authorization: `Bearer ${ann.key}` }
    const post = (body: object) => call(`${world.url}/api/admin/policies/explain`, 'POST', { headers, body })
    expect((await post({ ...asked, agent: 'globex/bot' })).status).toBe(404)
    expect((await post(asked)).status).toBe(200)
    expect((await post({ tool_name: 't' })).status).toBe(200)
  })
})

describe('GET evidence', () => {
  it('200 as NDJSON, from after to limit, and the read is evidence too', async () => {
    const bot = await world.agent()
    for (let i = 0; i < 5; i++) await bot.event('a', { event_type: 'x', event_summary: String(i) })
    const all = await world.evidence()
    const { status, headers, text } = await world.admin('GET', 'evidence?tenant=acme&after=2&limit=3')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toMatch(/^application\/x-ndjson/)
    const numbers = text
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { number: number }).number)
    expect(numbers).toEqual([3, 4, 5])
    expect((await world.evidence('acme', all.length)).length).toBe(0)
    const last = (await world.evidence('_system')).at(-2)?.record
    expect(last).toMatchObject({ type: 'evidence.read', details: { tenant: 'acme', after: all.length } })
  })

  it('200 without a record for an unknown tenant', async () => {
    expect((await world.admin('GET', 'evidence?tenant=nobody')).text).toBe('')
  })

  it('200 without a record after a number beyond the last record', async () => {
    for (const after of [2 ** 48 - 1, 10 ** 15 - 1]) {
      const { status, text } = await world.admin('GET', `evidence?tenant=acme&after=${after}`)
      expect([status, text]).toEqual([200, ''])
    }
  })

  it.each([
    '',
    'tenant=',
    'tenant=a&tenant=b',
    `tenant=${'x'.repeat(65)}`,
    'tenant=acme&after=-1',
    'tenant=acme&after=x',
    'tenant=acme&after=1234567890123456',
    'tenant=acme&limit=0',
    'tenant=acme&limit=1.5',
    'tenant=acme&x=1',
  ])('400 for ?%s', async (query) => {
    expect((await world.admin('GET', `evidence?${query}`)).status).toBe(400)
  })
})

describe('tenants', () => {
  it('tenants_isolated: no plane shows, changes or redeems anything of another tenant', async () => {
    const [bot, stranger] = [await world.agent(), await world.agent('bot', 'globex')]
    const [ann, zoe] = [await world.reviewer('ann'), await world.reviewer('zoe', 'globex')]
    const one = await approved(bot, ann)
    const waiting = await held(bot)
    const records = await world.evidenceOf(async () => {
      const answers = [
        await stranger.poll({ thread_id: waiting.thread }),
        await stranger.poll({ task_id: waiting.task }),
        await stranger.revise(waiting.task, waiting.thread, { request_payload: { amount: 1 } }),
        await zoe.show(waiting.thread),
        await zoe.vote(waiting.thread, { decision: 'reject', revision: 1 }),
      ]
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 409, 404, 404])
      const proof = { task_id: one.task, signature: one.token, request_payload: one.payload }
      expect((await stranger.validate(proof)).body.reason).toBe('invalid')
      expect((await zoe.list({})).body.threads).toEqual([])
    })
    expect(records).toEqual([])
    const globex = await world.evidence('globex')
    expect(JSON.stringify(globex)).not.toContain(waiting.thread)
    expect(globex.every(({ record }) => record.tenant === 'globex')).toBe(true)
  })

  it('tenants_isolated: the same task, key and payload in two tenants are independent', async () => {
    const [bot, stranger] = [await world.agent(), await world.agent('bot', 'globex')]
    const body = { tool_name: 'pay', payload: { amount: 500 } }
    const headers = { 'idempotency-key': 'shared' }
    const one = await bot.submit('shared', body, headers)
    const two = await stranger.submit('shared', { ...body, payload: { amount: 501 } }, headers)
    expect([one.status, two.status]).toEqual([200, 200])
    expect(two.body.thread_id).not.toBe(one.body.thread_id)
    expect((await bot.poll({ task_id: 'shared' })).body.thread_id).toBe(one.body.thread_id)
    expect((await stranger.poll({ task_id: 'shared' })).body.thread_id).toBe(two.body.thread_id)
  })
})
