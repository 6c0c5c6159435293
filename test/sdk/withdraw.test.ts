import { beforeAll, describe, expect, it } from 'vitest'
import { createGate, type GateOptions, type GuardOptions, type Payload } from '@countersign/sdk'
import { agentWorld, ann, bot as agent, world } from '../agent-world.ts'
import { until } from '../until.ts'

/* What becomes of a call, before a whole gateway, when its caller gives it up. */

agentWorld()
beforeAll(async () => {
  // polls of the gateway end by its clock
  world.clock.run()
})

let count = 0
function open(options: Partial<GateOptions> = {}) {
  const taskId = `withdraw-${++count}`
  const gate = createGate({ url: world.url, key: agent.key, taskId, ...options })
  const ran: Payload[] = []
  const guard = (more: GuardOptions<Payload>) =>
    gate.guard('hold', { n: 1 }, (payload) => void ran.push(payload), more)
  const threads = async (): Promise<string[]> =>
    (await world.allEvidence()).flatMap(({ record }) =>
      record.type === 'review.pending' && record.task_id === taskId ? [record.thread_id ?? ''] : [],
    )
  return { gate, guard, threads, ran }
}
async function statusOf(thread: string): Promise<string> {
  const { body } = await ann.show(thread)
  return body.withdrawn_at === undefined ? body.status : 'withdrawn'
}

describe('a call that its caller aborts', () => {
  it('is withdrawn during a review: no vote counts, and the reason is shown', async () => {
    const { guard, threads, ran } = open()
    const controller = new AbortController()
    const done = guard({ signal: controller.signal, onPending: () => controller.abort() })
    await expect(done).rejects.toMatchObject({ code: 'aborted' })
    const [thread = ''] = await threads()
    expect(await statusOf(thread)).toBe('withdrawn')
    expect([(await ann.approve(thread)).status, ran]).toEqual([409, []])
    expect((await ann.show(thread)).text).toContain('the agent gave up the call')
  })

  it('is withdrawn during the submit, as soon as the gateway has answered', async () => {
    const controller = new AbortController()
    const slow = async (url: string, init: RequestInit): Promise<Response> => {
      const submits = url.endsWith('/requests')
      if (submits) controller.abort()
      return fetch(url, init)
    }
    const { guard, threads } = open({ fetch: slow })
    await expect(guard({ signal: controller.signal })).rejects.toMatchObject({ code: 'aborted' })
    const [thread = ''] = await threads()
    expect(await statusOf(thread)).toBe('withdrawn')
  })

  it('reports the withdrawal when it is repeated under the same id', async () => {
    const { guard, threads } = open()
    const controller = new AbortController()
    const given = { callId: 'c1', signal: controller.signal, onPending: () => controller.abort() }
    await expect(guard(given)).rejects.toMatchObject({ code: 'aborted' })
    const again = guard({ callId: 'c1' })
    await expect(again).rejects.toMatchObject({
      code: 'withdrawn',
      reason: expect.stringMatching(/^withdrawn: /) as string,
    })
    expect(await threads()).toHaveLength(1)
  })

  it('is also withdrawn when a listener fails', async () => {
    const { guard, threads } = open()
    const failing = () => Promise.reject(new Error('no screen'))
    await expect(guard({ onPending: failing })).rejects.toMatchObject({ code: 'aborted' })
    expect(await statusOf((await threads())[0] ?? '')).toBe('withdrawn')
  })

  it('is also withdrawn for `authorize`', async () => {
    const { gate, threads } = open()
    const controller = new AbortController()
    const options = { signal: controller.signal, onPending: () => controller.abort('enough') }
    await expect(gate.authorize('hold', {}, options)).rejects.toMatchObject({ code: 'aborted' })
    expect(await statusOf((await threads())[0] ?? '')).toBe('withdrawn')
  })

  it('ends at once when the gateway no longer answers', async () => {
    const controller = new AbortController()
    const gone = async (url: string, init: RequestInit): Promise<Response> => {
      if (url.endsWith('/withdrawals')) throw new TypeError('fetch failed')
      return fetch(url, init)
    }
    const { guard, threads } = open({ fetch: gone })
    const done = guard({ signal: controller.signal, onPending: () => controller.abort() })
    await expect(done).rejects.toMatchObject({ code: 'aborted' })
    expect(await statusOf((await threads())[0] ?? '')).toBe('pending_review')
  })
})

describe('a call whose caller only stops waiting', () => {
  it('may be resumed after AbortSignal.timeout, or a reason of that name', async () => {
    for (const reason of [new DOMException('late', 'TimeoutError'), { name: 'ToolTimeoutError' }]) {
      const { guard, threads, ran } = open()
      const controller = new AbortController()
      const options = { callId: 'c', signal: controller.signal, onPending: () => controller.abort(reason) }
      const [thread = ''] = await guard(options).then(expect.unreachable, async (error: unknown) => {
        expect(error).toMatchObject({ code: 'still_pending' })
        return threads()
      })
      expect(await statusOf(thread)).toBe('pending_review')
      const again = guard({ callId: 'c' })
      await ann.approve(thread)
      await again
      expect([ran, await threads()]).toEqual([[{ n: 1 }], [thread]])
    }
  })

  it('by AbortSignal.timeout itself', async () => {
    const { guard, threads } = open()
    await expect(guard({ signal: AbortSignal.timeout(500) })).rejects.toMatchObject({ code: 'still_pending' })
    await until(async () => (await threads()).length === 1)
    expect(await statusOf((await threads())[0] ?? '')).toBe('pending_review')
  })
})
