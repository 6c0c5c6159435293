// @store each
import { beforeEach, describe, expect, it } from 'vitest'
import type { LegalHoldAdded, LegalHoldList } from '../../src/contract/legal-hold.ts'
import { LIMITS } from '../../src/contract/limits.ts'
import type { AgentList } from '../../src/contract/agent-list.ts'
import type { ThreadList } from '../../src/contract/reviewer.ts'
import { addLegalHold, removeLegalHold } from '../../src/gateway/admin/legal-hold.ts'
import { legalHoldsNow } from '../../src/gateway/core/legal-holds.ts'
import { ann, bot, eachAgentWorld, world } from '../agent-world.ts'
import { type Agent, type Answer, elsewhere, held, HOUR, newTask, Overtaking } from '../gateway-fixture.ts'

/** Legal holds (docs/data.md): deletion stops for what they name, on every instance, once the answer arrives. */

const REASON = 'case 17-204'
const DAY = 24 * HOUR

let other: Agent
let overtaking: Overtaking

eachAgentWorld(() => {
  overtaking = new Overtaking()
  return { wrapStore: overtaking.wrapStore }
})
beforeEach(async () => {
  other = await world.agent('other')
})

type Scope = Readonly<Record<string, string | undefined>>

const add = (scope: Scope): Promise<Answer<LegalHoldAdded>> =>
  world.admin('POST', 'legal-holds', { body: { tenant: 'acme', reason: REASON, ...scope } })
const remove = (scope: Scope): Promise<Answer<object>> =>
  world.admin('POST', 'legal-holds/remove', { body: { tenant: 'acme', reason: 'settled', ...scope } })
const list = async (): Promise<LegalHoldList['legal_holds']> =>
  (await world.admin<LegalHoldList>('GET', 'legal-holds?tenant=acme')).body.legal_holds

const ended = async (agent: Agent, task = newTask()): Promise<string> => {
  const { thread } = await held(agent, {}, task)
  expect((await ann.vote(thread, { decision: 'reject', revision: 1 })).status).toBe(200)
  return thread
}
const later = async (days: number): Promise<void> => {
  world.clock.advance(days * DAY)
  await world.due()
}
const statusOf = async (thread: string): Promise<number> => (await ann.show(thread)).status

describe('POST /api/admin/legal-holds', () => {
  it('200 with a legal hold that keeps a thread, the threads of a task, or those of an agent', async () => {
    const task = newTask()
    const [thread, ofTask, ofAgent] = [await ended(bot), await ended(bot, task), await ended(other)]
    const rest = await ended(bot)
    const { status, body } = await add({ thread_id: thread })
    expect(status).toBe(200)
    expect(body).toEqual({
      tenant: 'acme',
      thread_id: thread,
      reason: REASON,
      started_at: expect.stringMatching(/^2026-/),
      by: 'admin:admin',
      known: true,
    })
    await add({ task_id: task })
    await add({ agent: 'other' })
    await later(1)
    await later(31)
    const statuses = await Promise.all([thread, ofTask, ofAgent, rest].map(statusOf))
    expect(statuses).toEqual([200, 200, 200, 404])
  })

  it('200 with a legal hold on the tenant, which keeps every thread until its removal', async () => {
    const thread = await ended(bot)
    await add({})
    await later(1)
    await later(31)
    expect(await statusOf(thread)).toBe(200)
    expect((await remove({})).status).toBe(204)
    await later(1)
    expect(await statusOf(thread)).toBe(404)
  })

  it('200 with the reason of the legal hold that it replaces', async () => {
    await add({ agent: 'bot' })
    expect((await add({ agent: 'bot', reason: 'case 18' })).body.replaced).toBe(REASON)
    expect(await list()).toMatchObject([{ agent: 'bot', reason: 'case 18' }])
  })

  it('200 with known: false for a name that the store and the directory do not have', async () => {
    const task = newTask()
    await held(bot, {}, task)
    for (const scope of [
      { agent: 'bto' },
      { task_id: 'no-such-task' },
      { thread_id: 'thr_00000000000000000000000000' },
    ])
      expect((await add(scope)).body.known).toBe(false)
    for (const scope of [{ agent: 'bot' }, { task_id: task }, {}])
      expect((await add(scope)).body.known).toBe(true)
  })

  it.each([
    ['no reason', { reason: undefined }],
    ['an empty reason', { reason: ' ' }],
    ['a reason as long as a report', { reason: 'x'.repeat(LIMITS.LEGAL_HOLD_REASON_CHARS + 1) }],
    ['a task and an agent', { task_id: 'a', agent: 'bot' }],
    ['a thread and a task', { task_id: 'a', thread_id: 'thr_00000000000000000000000000' }],
    ['an id of no thread', { thread_id: 'thr_x' }],
  ])('400 for %s', async (_, scope) => {
    const { status, problem } = await add(scope)
    expect([status, problem.code]).toEqual([400, 'invalid_request'])
  })

  it('409 too_many_legal_holds for one more name, but not for the tenant', async () => {
    const { deps } = world.app
    const holds = Array.from({ length: LIMITS.LEGAL_HOLDS }, (_, i) => ({
      agent: `a${i}`,
      reason: 'r',
      at: 0,
      by: 'b',
    }))
    await deps.store.commit('acme', {
      commitId: deps.nextCommitId(),
      deadline: Infinity,
      guards: [],
      writes: [{ op: 'put', type: 'legal_holds', id: 'all', body: JSON.stringify({ holds }) }],
      events: [],
    })
    expect((await add({ agent: 'bot' })).problem.code).toBe('too_many_legal_holds')
    expect((await add({ agent: 'a1' })).status).toBe(200)
    expect((await add({})).status).toBe(200)
  })

  it('403 for a reviewer with the admin role, who may list legal holds', async () => {
    const headers = ann.credentials()
    const ask = async (path: string, method = 'GET', body?: object): Promise<number> => {
      const sent = body && { body: JSON.stringify(body) }
      const type = { 'content-type': 'application/json' }
      const answer = await fetch(`${world.url}/api/admin/${path}`, {
        method,
        headers: { ...headers, ...type },
        ...sent,
      })
      return answer.status
    }
    const body = { tenant: 'acme', reason: REASON }
    expect(await ask('legal-holds', 'POST', body)).toBe(403)
    expect(await ask('legal-holds/remove', 'POST', body)).toBe(403)
    expect(await ask('legal-holds?tenant=acme')).toBe(200)
    expect(await ask('legal-holds?tenant=globex')).toBe(404)
  })
})

describe('POST /api/admin/legal-holds/remove', () => {
  it('204, and 404 for a scope that has no legal hold of its own', async () => {
    const thread = await ended(bot)
    await add({ agent: 'bot' })
    expect((await remove({ thread_id: thread })).status).toBe(404)
    expect((await remove({ agent: 'bot' })).status).toBe(204)
    expect((await remove({ agent: 'bot' })).status).toBe(404)
    expect(await list()).toEqual([])
  })
})

describe('a legal hold', () => {
  it('is evidence, with its reasons', async () => {
    const records = await world.evidenceOf(async () => {
      await add({ task_id: 'a' })
      await remove({ task_id: 'a' })
    })
    const commitment = expect.any(String) as string
    expect(
      records.map(({ record: { type, actor, details }, disclosures }) => [
        type,
        actor.id,
        details,
        disclosures?.members,
      ]),
    ).toEqual([
      ['legal_hold.started', 'admin', { task_id: 'a', commitment }, { reason: REASON }],
      ['legal_hold.ended', 'admin', { task_id: 'a', commitment }, { reason: 'settled' }],
    ])
  })

  it('appears on the thread, in lists and beside the agents', async () => {
    const thread = await ended(bot)
    await add({ agent: 'bot' })
    const shown = { agent: 'bot', reason: REASON }
    expect((await ann.show(thread)).body.legal_hold).toMatchObject(shown)
    expect((await ann.call<ThreadList>('GET', 'threads')).body.threads[0]?.legal_hold).toMatchObject(shown)
    expect((await ann.call<AgentList>('GET', 'agents')).body.legal_holds).toMatchObject([shown])
    await remove({ agent: 'bot' })
    expect((await ann.show(thread)).body.legal_hold).toBeUndefined()
  })

  it('of another instance stops a deletion that it overtakes', async () => {
    const thread = await ended(bot)
    await later(1)
    world.clock.advance(31 * DAY)
    overtaking.before = async () => {
      await addLegalHold(elsewhere(world), { tenant: 'acme', thread_id: thread, reason: REASON })
    }
    await world.due()
    expect(overtaking.before, 'the deletion was under way').toBeUndefined()
    expect(await statusOf(thread)).toBe(200)
    await removeLegalHold(elsewhere(world), { tenant: 'acme', thread_id: thread, reason: 'settled' })
    await later(1)
    expect(await statusOf(thread)).toBe(404)
  })

  it('outlives a restart, and answers for data without a thread', async () => {
    await add({ task_id: 'a' })
    await world.restart()
    const holds = await legalHoldsNow(world.app.deps, 'acme')
    expect(holds.over({ agent: 'bot', task_id: 'a' })).toMatchObject({ reason: REASON })
    expect(holds.over({ agent: 'bot', task_id: 'b' })).toBeUndefined()
    expect(await list()).toMatchObject([{ task_id: 'a' }])
  })
})
