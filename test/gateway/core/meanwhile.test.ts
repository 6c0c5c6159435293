// @store each
import { describe, expect, it } from 'vitest'
import type { FreezeList } from '../../../src/contract/freeze.ts'
import { LIMITS } from '../../../src/contract/limits.ts'
import type { DeliveryList, WebhookList, WebhookSecret } from '../../../src/contract/webhook.ts'
import { hashCredential } from '../../../src/domain/credential.ts'
import { deliveryToMake, recordAttempt } from '../../../src/gateway/webhooks/delivery-attempts.ts'
import type { Deps } from '../../../src/gateway/core/deps.ts'
import { freeze } from '../../../src/gateway/admin/freeze.ts'
import { INDEX } from '../../../src/gateway/core/indexes.ts'
import { ann, bot, eachAgentWorld, world } from '../../agent-world.ts'
import {
  approved,
  call,
  edited,
  elsewhere,
  held,
  HOUR,
  MINUTE,
  newTask,
  openWorld,
  overriding,
  Overtaking,
  type SignedIn,
} from '../../gateway-fixture.ts'

/**
 * Acts between the reads of a verb and its commit (docs/store.md).
 * The store keeps their effect, and the verb does not act on values that they replaced.
 */

let overtaking: Overtaking

eachAgentWorld(() => {
  overtaking = new Overtaking()
  const config = { webhooksAllow: '127.0.0.1/32:8443' }
  return { config, wrapStore: overtaking.wrapStore }
})

/** The next commit arrives at the store after this moment, though its verb decided before. */
function lateFor(moment: number): void {
  world.clock.advance(moment - world.app.deps.store.now() - 10)
  overtaking.before = () => Promise.resolve(world.clock.advance(1_500))
}

describe('a vote during another act', () => {
  it.each(['claim', 'release'])('is not lost by a concurrent %s', async (act) => {
    const { thread } = await held(bot, { payload: { amount: 90_000 } })
    const ben = await world.reviewer('ben')
    if (act === 'release') await ann.call('POST', `threads/${thread}/claim`, { body: {} })
    overtaking.before = () => ben.approve(thread)
    const { status } = await ann.call('POST', `threads/${thread}/${act}`, act === 'claim' ? { body: {} } : {})
    expect([status, overtaking.before]).toEqual([200, undefined])
    const { body } = await ann.show(thread)
    expect([body.approvals, body.claim?.reviewer]).toEqual([
      { given: 1, required: 2 },
      act === 'claim' ? 'ann' : undefined,
    ])
  })
})

describe('a change while the timer handles a thread or an answer', () => {
  it('keeps a vote that arrives before the reminder', async () => {
    const { thread } = await held(bot, { payload: { amount: 20_000, to: 'audit-7' } })
    const cat = await world.reviewer('cat')
    world.clock.advance(15 * MINUTE)
    const records = await world.evidenceOf(() => {
      overtaking.before = () => cat.approve(thread)
      return world.due()
    })
    expect(records.map(({ record }) => record.type)).toEqual(['vote.cast', 'review.reminded'])
    expect((await ann.show(thread)).body.approvals).toEqual({ given: 1, required: 2 })
  })

  it('moves the thread to the time that a vote has set', async () => {
    const { thread } = await held(bot)
    const { deps } = world.app
    const { store } = deps
    const early = { op: 'index', index: INDEX.due, member: thread, to: store.now() } as const
    const commit = {
      commitId: deps.nextCommitId(),
      deadline: Infinity,
      guards: [],
      writes: [early],
      events: [],
    }
    expect(await store.commit('acme', commit)).toMatchObject({ ok: true })
    overtaking.before = () => ann.vote(thread, { decision: 'reject', revision: 1 })
    await world.due()
    expect(overtaking.before).toBeUndefined()
    expect(await store.range('acme', INDEX.due, { limit: 10 })).toEqual([])
  })

  it('keeps an answer that is renewed before it is purged', async () => {
    const task = newTask()
    const submit = () => bot.submit(task, { tool_name: 't' }, { 'idempotency-key': 'k' })
    await submit()
    world.clock.advance(LIMITS.IDEMPOTENCY_MS)
    overtaking.before = async () => {
      const records = await world.evidenceOf(submit)
      expect(records.map(({ record }) => record.type)).toEqual(['decision.allowed'])
    }
    await world.due()
    expect(overtaking.before).toBeUndefined()
    expect(await world.evidenceOf(submit)).toEqual([])
  })
})

describe('a thread that another request ends first', () => {
  it.each(['expired', 'frozen'])('a thread has %s once, with one record', async (how) => {
    const { thread } = await held(bot)
    if (how === 'expired') world.clock.advance(8 * HOUR)
    else await world.admin('POST', 'freeze', { body: { tenant: 'acme', agent: 'bot', reason: 'odd' } })
    const records = await world.evidenceOf(() => {
      overtaking.before = () => bot.poll({ thread_id: thread })
      return world.due()
    })
    expect(records.map(({ record }) => record.type)).toEqual([`review.${how}`])
  })
})

describe('an approval that ends during its redemption', () => {
  it('is not redeemed, though its token is valid', async () => {
    const { task, thread, token, payload } = await approved(bot, ann)
    overtaking.before = async () => {
      await world.changePolicies(
        edited('rules/pay.yaml', 'over: 100, at_most: 10000', 'over: 100, at_most: 200'),
      )
      expect((await bot.poll({ thread_id: thread })).body.message).toMatch(/^policy_changed: /)
      await world.changePolicies(edited('rules/pay.yaml', 'Small change.', 'Little.'))
    }
    const proof = { task_id: task, request_payload: payload, signature: token }
    expect((await bot.validate(proof)).body).toEqual({ valid: false, reason: 'invalid' })
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('rejected')
  })
})

describe('an item that expires on its way to the store', () => {
  it.each(['bot', 'unsigned'])('an approval that `%s` collects at its deadline expires', async (id) => {
    const agent = await world.agent(id)
    const { thread } = await held(agent)
    await ann.approve(thread)
    lateFor(world.app.deps.store.now() + 8 * HOUR)
    const { body } = await agent.poll({ thread_id: thread })
    expect([body.status, body.approval_token]).toEqual(['rejected', undefined])
    expect(body.message).toMatch(/^expired: /)
  })

  it('a proof at the end of its lifetime reads expired, and stays unused', async () => {
    const agent = await world.agent('short')
    const { task, thread, token, payload } = await approved(agent, ann)
    lateFor(world.app.deps.store.now() + MINUTE)
    const proof = { task_id: task, request_payload: payload, signature: token }
    expect((await agent.validate(proof)).body).toEqual({ valid: false, reason: 'expired' })
    expect((await ann.show(thread)).body.evidence.map(({ type }) => type)).not.toContain('token.redeemed')
  })

  it('a link at the end of its ten minutes signs no reviewer in', async () => {
    const link = await world.link('ann')
    const records = await world.evidenceOf(async () => {
      lateFor(world.app.deps.store.now() + 10 * MINUTE)
      expect((await world.openSession(link)).status).toBe(401)
    })
    expect(records).toEqual([])
  })
})

describe('a session that ends during a request', () => {
  const endIt = (): Promise<unknown> => world.admin('DELETE', 'reviewers/acme/ann/sessions')

  it('does not serve the request, and keeps no record of its use', async () => {
    const session = await world.signIn('ann')
    world.clock.advance(MINUTE)
    overtaking.before = endIt
    expect((await session.call('GET', 'me')).status).toBe(401)
    expect(overtaking.before).toBeUndefined()
    const hash = hashCredential(session.key)
    expect(await world.app.deps.store.get('acme', 'seen', hash)).toBeUndefined()
  })

  const ways: Readonly<Record<string, (session: SignedIn) => Promise<unknown>>> = {
    'signing out': (session) => session.call('DELETE', 'session'),
    'signing out everywhere': (session) => session.call('DELETE', 'session?everywhere=true'),
    'the timer': () => {
      world.clock.advance(HOUR)
      return world.due()
    },
  }

  async function endedAs(session: SignedIn, act: () => Promise<unknown>): Promise<unknown[]> {
    const records = await world.evidenceOf(act)
    const hash = hashCredential(session.key)
    const ended = records.filter(({ record }) => record.type === 'session.ended')
    return ended.flatMap(({ record: { details } }) =>
      details?.['session_hash'] === hash ? details['reason'] : [],
    )
  }

  it.each(Object.keys(ways))('ends once during %s, with one record', async (way) => {
    const session = await world.signIn('ann')
    const reasons = await endedAs(session, async () => {
      overtaking.before = endIt
      await ways[way]?.(session)
      expect(overtaking.before).toBeUndefined()
    })
    expect(reasons).toEqual(['ended_by_admin'])
  })

  it('ends once when another session replaces it', async () => {
    const session = await world.signIn('ann')
    const link = await world.link('ann')
    const reasons = await endedAs(session, async () => {
      overtaking.before = () => session.call('DELETE', 'session')
      const cookie = `__Host-countersign=${session.key}`
      expect((await world.openSession(link, { cookie })).status).toBe(200)
    })
    expect(reasons).toEqual(['signed_out'])
  })
})

describe('a freeze that starts while another freeze is lifted', () => {
  it('holds', async () => {
    const act = (what: 'freeze' | 'unfreeze', tool: string) =>
      world.admin('POST', what, { body: { tenant: 'acme', tool, reason: 'odd' } })
    await act('freeze', 't')
    overtaking.before = () => act('freeze', 'pay')
    expect((await act('unfreeze', 't')).status).toBe(204)
    const { body } = await world.admin<FreezeList>('GET', 'freezes?tenant=acme')
    expect(body.freezes.map(({ tool }) => tool)).toEqual(['pay'])
  })
})

describe('a freeze that starts while the timer applies an earlier freeze', () => {
  it('ends its threads too', async () => {
    const { thread } = await held(await world.agent('other'))
    const freezing = async (to: Deps, agent: string): Promise<void> => {
      const by = { actor: { kind: 'admin', id: 'admin' } } as const
      await freeze(to, by, { tenant: 'acme', agent, reason: 'odd' })
    }
    await freezing(world.app.deps, 'bot')
    const records = await world.evidenceOf(async () => {
      overtaking.before = () => freezing(elsewhere(world), 'other')
      await world.due()
    })
    expect(records.map(({ record }) => [record.type, record.thread_id])).toEqual([
      ['freeze.started', undefined],
      ['review.frozen', thread],
    ])
  })
})

describe('webhooks', () => {
  /** Registers a destination and pauses it: it collects deliveries, and the gateway sends no delivery yet. */
  async function register(): Promise<string> {
    const body = { tenant: 'acme', url: 'https://127.0.0.1:8443/' }
    const { id } = (await world.admin<WebhookSecret>('POST', 'webhooks', { body })).body
    expect((await world.admin('POST', `webhooks/${id}/pause`)).status).toBe(200)
    return id
  }
  const deliveriesOf = async (id: string): Promise<DeliveryList['deliveries']> =>
    (await world.admin<DeliveryList>('GET', `webhooks/${id}/deliveries`)).body.deliveries

  it.each(['the first', 'another'])(
    '%s destination that is registered during a commit misses no event',
    async (which) => {
      if (which === 'another') await register()
      await held(bot)
      let registered = ''
      overtaking.before = async () => (registered = await register())
      const { thread } = await held(bot)
      expect(await deliveriesOf(registered)).toMatchObject([{ thread_id: thread, type: 'review.pending' }])
    },
  )

  const webhooks = async (): Promise<WebhookList['webhooks']> =>
    (await world.admin<WebhookList>('GET', 'webhooks?tenant=acme')).body.webhooks
  /** Returns the delivery to a new destination. */
  async function delivery(): Promise<{ id: string; destination: string }> {
    const destination = await register()
    await held(bot)
    const [one] = await deliveriesOf(destination)
    return { id: one?.id ?? '', destination }
  }
  const success = { outcome: 'success', answer: '204' } as const
  const gone = { outcome: 'gone', answer: '410' } as const

  it('pausing a destination keeps one that is registered at the same time', async () => {
    const one = await register()
    let other = ''
    overtaking.before = async () => (other = await register())
    await world.admin('POST', `webhooks/${one}/pause`)
    expect((await webhooks()).map(({ id }) => id)).toEqual([one, other])
  })

  it('ending a destination keeps one that is registered at the same time', async () => {
    const one = await delivery()
    let other = ''
    overtaking.before = async () => (other = await register())
    await recordAttempt(world.app.deps, 'acme', { ...one, attempt: gone })
    expect((await webhooks()).map(({ id, state }) => [id, state])).toEqual([
      [one.destination, 'gone'],
      [other, 'paused'],
    ])
  })

  it('a delivery that two instances have made is settled once', async () => {
    const one = await delivery()
    const records = await world.evidenceOf(async () => {
      overtaking.before = () => recordAttempt(elsewhere(world), 'acme', { ...one, attempt: success })
      expect(await recordAttempt(world.app.deps, 'acme', { ...one, attempt: gone })).toBeUndefined()
    })
    expect(records.map(({ record }) => record.type)).toEqual(['webhook.delivered'])
  })

  it('a delivery with two concurrent results is settled once', async () => {
    const one = await delivery()
    const records = await world.evidenceOf(async () => {
      const states = await Promise.all(
        [success, gone].map((attempt) => recordAttempt(world.app.deps, 'acme', { ...one, attempt })),
      )
      expect(states.filter((state) => state !== undefined)).toHaveLength(1)
    })
    expect(records).toHaveLength(1)
  })

  it('a delivery that is requested again while it counts as settled is made', async () => {
    const one = await delivery()
    const { deps } = world.app
    await recordAttempt(deps, 'acme', { ...one, attempt: success })
    const path = `webhooks/${one.destination}/deliveries/${one.id}/redeliver`
    overtaking.before = () => world.admin('POST', path)
    await deliveryToMake(deps, 'acme', one).catch(() => undefined)
    expect(overtaking.before).toBeUndefined()
    expect(await webhooks()).toMatchObject([{ waiting: 1 }])
  })

  it('a delivery that is requested again just before its purge stays', async () => {
    const one = await delivery()
    await recordAttempt(world.app.deps, 'acme', { ...one, attempt: success })
    world.clock.advance(9 * HOUR)
    await world.due()
    world.clock.advance(15 * HOUR)
    overtaking.before = () =>
      world.admin('POST', `webhooks/${one.destination}/deliveries/${one.id}/redeliver`)
    await world.due()
    expect(overtaking.before).toBeUndefined()
    const kept = (await deliveriesOf(one.destination)).find(({ id }) => id === one.id)
    expect(kept?.state).toBe('waiting')
  })

  it('a delivery that is purged during its redelivery does not return', async () => {
    const { id, destination } = await delivery()
    overtaking.before = async () => {
      await world.admin('DELETE', `webhooks/${destination}`)
      await world.due()
    }
    const again = await world.admin('POST', `webhooks/${destination}/deliveries/${id}/redeliver`)
    expect([again.status, overtaking.before]).toEqual([404, undefined])
    expect(await world.app.deps.store.get('acme', 'delivery', id)).toBeUndefined()
  })

  it("a redelivery is refused when the reviewer's session ends during the request", async () => {
    const { id, destination } = await delivery()
    const session = await world.signIn('ann')
    const path = `webhooks/${destination}/deliveries/${id}/redeliver`
    const headers = session.credentials()
    overtaking.before = () => world.admin('DELETE', 'reviewers/acme/ann/sessions')
    const again = await call(`${world.url}/api/admin/${path}`, 'POST', { headers })
    expect([again.status, overtaking.before]).toEqual([401, undefined])
  })
})

describe('a rejection that a failover reverts during a poll', () => {
  it('is not returned, because the thread is undecided', async () => {
    const replicated = new Overtaking()
    const own = await openWorld({
      wrapStore: (store) => overriding(replicated.wrapStore(store), { durability: 'replicated' }),
      tampered: true,
    })
    try {
      const { deps } = own.app
      const { store } = deps
      const agent = await own.agent()
      const { thread } = await held(agent)
      const before = await store.get('acme', 'thread', thread)
      await (await own.reviewer('ann')).vote(thread, { decision: 'reject', revision: 1 })
      replicated.before = async () => {
        const writes = [{ op: 'put', type: 'thread', id: thread, body: before?.body ?? '' } as const]
        const commit = { commitId: deps.nextCommitId(), deadline: Infinity, guards: [], writes, events: [] }
        expect(await store.commit('acme', commit)).toMatchObject({ ok: true })
      }
      expect((await agent.poll({ thread_id: thread })).body.status).toBe('pending_review')
      expect(replicated.before).toBeUndefined()
    } finally {
      await own.close()
    }
  })
})
