// @store each
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { LIMITS } from '../../../src/contract/limits.ts'
import type { WebhookSecret } from '../../../src/contract/webhook.ts'
import { INDEX } from '../../../src/gateway/core/indexes.ts'
import { runDue } from '../../../src/gateway/jobs/scheduler.ts'
import { StoreUnavailable } from '../../../src/store/store.ts'
import { eachWorld, world } from '../../agent-world.ts'
import { edited, type Held, held, MINUTE, newTask, overriding } from '../../gateway-fixture.ts'
import { until } from '../../until.ts'

/** Events that all destinations receive in full: their commits are the largest. */

/** Each needs two characters in the request, two more in the body of a delivery, and four in its record. */
const QUOTES = '"'.repeat(LIMITS.STRING_BYTES - 1_000)
const LARGEST = { a: QUOTES, b: QUOTES }

const DUE = 'remind_after: 15m, escalate: { after: 15m, group: board }'

/** The number of large commits under way, and the most so far. */
let [underWay, most] = [0, 0]
let failing = false
/** Holds large commits back until it resolves. */
let gate = Promise.resolve()
/** The threads that large commits are about, in their order. */
let order: string[] = []
const hooks: string[] = []

eachWorld({
  config: { webhooksAllow: '127.0.0.1/32:8443' },
  files: edited('routing.yaml', 'expires: 8h', `expires: 8h, ${DUE}`),
  wrapStore: (store) =>
    overriding(store, {
      commit: async (...args) => {
        const [, { writes }] = args
        const large = writes.some((write) => write.op === 'put' && write.type === 'delivery')
        if (!large) return store.commit(...args)
        if (failing) throw new StoreUnavailable('no space left')
        underWay += 1
        most = Math.max(most, underWay)
        order.push(
          ...writes.flatMap((write) => (write.op === 'put' && write.type === 'thread' ? [write.id] : [])),
        )
        await gate
        return store.commit(...args).finally(() => (underWay -= 1))
      },
    }),
})
beforeEach(async () => {
  most = 0
  gate = Promise.resolve()
  const body = { tenant: 'acme', url: 'https://127.0.0.1:8443/', payload: 'full' }
  hooks.length = 0
  for (let i = 0; i < LIMITS.WEBHOOKS; i++) {
    const { id } = (await world.admin<WebhookSecret>('POST', 'webhooks', { body })).body
    expect((await world.admin('POST', `webhooks/${id}/pause`)).status).toBe(200)
    hooks.push(id)
  }
})

/** Makes large commits wait until the caller opens the gate. */
function closeGate(): () => void {
  let open = (): void => undefined
  gate = new Promise((resolve) => (open = resolve))
  return () => open()
}

describe('the maximum number of destinations', () => {
  it('gets every event of a large thread, and all events that are due at once', async () => {
    const { thread } = await held(await world.agent(), { tool_name: 'hold', payload: LARGEST })
    world.clock.advance(15 * MINUTE)
    const due = await world.evidenceOf(() => world.due())
    expect(due.map(({ record }) => [record.type, record.thread_id])).toEqual([
      ['review.escalated', thread],
      ['review.reminded', thread],
    ])
    const { store } = world.app.deps
    for (const hook of hooks)
      expect(await store.range('acme', INDEX.outbox(hook), { limit: 10 })).toHaveLength(3)
  })

  it('gets events of large threads one after another, because all at once would need a gigabyte', async () => {
    const agent = await world.agent()
    const threads = [1, 2, 3, 4, 5, 6].map(() => held(agent, { tool_name: 'hold', payload: LARGEST }))
    expect(await Promise.all(threads)).toHaveLength(6)
    expect([most, underWay]).toEqual([1, 0])
  })

  it('does not delay an agent while the timer writes its own events', async () => {
    const agent = await world.agent()
    const large = { tool_name: 'hold', payload: LARGEST }
    const due: Held[] = []
    for (let i = 0; i < 4; i++) due.push(await held(agent, large))
    world.clock.advance(15 * MINUTE)
    const open = closeGate()
    order = []
    const round = runDue(world.app.deps)
    await until(() => underWay === 1)
    const asking = held(agent, large)
    await until(() => underWay === 2)
    open()
    const { thread } = await asking
    await round
    expect(order).toHaveLength(due.length + 1)
    expect(order.indexOf(thread)).toBe(1)
  })

  it('gets events of small threads at the same time', async () => {
    const agent = await world.agent()
    const open = closeGate()
    const threads = [1, 2].map(() => held(agent))
    await until(() => underWay === 2)
    open()
    await Promise.all(threads)
  })

  it('gets its room back after an internal error', async () => {
    const agent = await world.agent()
    const large = { tool_name: 'hold', payload: LARGEST }
    const { deps } = world.app
    const taking = vi.spyOn(deps.outboxRoom, 'acquire')
    const nextId = deps.nextId.bind(deps)
    const faulty = vi.spyOn(deps, 'nextId').mockImplementation(() => {
      if (taking.mock.calls.length > 0) throw new Error('odd')
      return nextId()
    })
    expect((await agent.submit(newTask(), large)).status).toBe(500)
    expect(taking).toHaveBeenCalledOnce()
    faulty.mockRestore()
    await held(agent, large)
  })

  it('gets its room back after failed commits', async () => {
    const agent = await world.agent()
    const large = { tool_name: 'hold', payload: LARGEST }
    failing = true
    for (const round of [1, 2, 3])
      expect([round, (await agent.submit(newTask(), large)).status]).toEqual([round, 503])
    failing = false
    await held(agent, large)
  })
})
