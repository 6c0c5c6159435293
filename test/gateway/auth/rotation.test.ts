// @store each, in the soak
import { describe, expect, it } from 'vitest'
import type { IssuedKey } from '../../../src/contract/admin.ts'
import { faultsIn } from '../../evidence/replayed.ts'
import { eachWorld, world } from '../../agent-world.ts'
import { Agent, type Answer, held, MINUTE, newTask, Reviewer, SECOND } from '../../gateway-fixture.ts'

/** Two keys of one holder during an overlap. */

eachWorld()

const rotate = (who: string, overlap_ms?: number): Promise<Answer<IssuedKey>> =>
  world.admin('POST', `${who}/key`, overlap_ms === undefined ? {} : { body: { overlap_ms } })

const BOT = 'agents/acme/bot'
const works = async (bot: Agent): Promise<number> => (await bot.submit(newTask(), { tool_name: 't' })).status

describe('rotating a key', () => {
  it('201 with an overlap: both keys work until it ends, and then only the new key', async () => {
    const old = await world.agent()
    expect(await works(old)).toBe(200)
    const { status, body } = await rotate(BOT, 10 * MINUTE)
    expect([status, body.rotated, body.old_key_until]).toEqual([201, true, '2026-03-02T12:10:00.000Z'])
    const next = new Agent(world, body.api_key)
    expect([await works(old), await works(next)]).toEqual([200, 200])
    world.clock.advance(10 * MINUTE - 1)
    await world.due()
    expect([await works(old), await works(next)]).toEqual([200, 200])
    world.clock.advance(1)
    // the old key also ends without the timer
    expect([await works(old), await works(next)]).toEqual([401, 200])
    await world.due()
    expect([await works(old), await works(next)]).toEqual([401, 200])
    expect((await world.evidence()).at(-2)?.record).toMatchObject({
      type: 'key.expired',
      actor: { kind: 'gateway', id: 'timer' },
    })
  })

  it('fails no concurrent call under the old key', async () => {
    const old = await world.agent()
    const calls = Array.from({ length: 40 }, async () => [
      await works(old),
      await works(old),
      await works(old),
    ])
    const rotated = rotate(BOT, MINUTE)
    const statuses = (await Promise.all(calls)).flat()
    await rotated
    expect(new Set([...statuses, await works(old)])).toEqual(new Set([200]))
  })

  it('evidence names the key that was used', async () => {
    const old = await world.agent()
    const { body } = await rotate(BOT, MINUTE)
    const next = new Agent(world, body.api_key)
    const lines = await world.evidenceOf(async () => {
      await works(old)
      await works(next)
    })
    const names = lines.map(({ record }) => (record.actor as { key?: string }).key)
    const issued = (await world.evidence()).filter(({ record }) => record.type === 'key.issued')
    expect(names).toEqual(issued.map(({ record }) => String(record.details?.['key_hash']).slice(0, 16)))
    expect(new Set(names).size).toBe(2)
  })

  it('a proof is redeemed only under the key for which it was made, while that key is valid', async () => {
    const [old, ann] = [await world.agent(), await world.reviewer('ann')]
    const [first, second] = [await held(old), await held(old)]
    const next = new Agent(world, (await rotate(BOT, MINUTE)).body.api_key)
    const proofs = []
    for (const [bot, { task, thread: thread_id, payload: request_payload }] of [
      [old, first],
      [next, second],
    ] as const) {
      await ann.approve(thread_id)
      const { approval_token: signature } = (await bot.poll({ thread_id })).body
      proofs.push({ task_id: task, signature, request_payload })
    }
    const [ofOld, ofNext] = proofs
    expect((await next.validate(ofOld)).body).toEqual({ valid: false, reason: 'invalid' })
    expect((await old.validate(ofNext)).body).toEqual({ valid: false, reason: 'invalid' })
    expect((await old.validate(ofOld)).body).toEqual({ valid: true })
    world.clock.advance(MINUTE)
    await world.due()
    expect((await next.validate(ofNext)).body).toEqual({ valid: true })
  })

  it('a proof of the old key becomes invalid with the key', async () => {
    const [old, ann] = [await world.agent(), await world.reviewer('ann')]
    const { task, thread: thread_id, payload: request_payload } = await held(old)
    await ann.approve(thread_id)
    const { approval_token: signature } = (await old.poll({ thread_id })).body
    const next = new Agent(world, (await rotate(BOT, 30 * SECOND)).body.api_key)
    world.clock.advance(30 * SECOND)
    await world.due()
    const proof = { task_id: task, signature, request_payload }
    expect((await old.validate(proof)).status).toBe(401)
    expect((await next.validate(proof)).body).toEqual({ valid: false, reason: 'invalid' })
  })

  it('a second rotation in an overlap ends the oldest key immediately, and without an overlap both keys', async () => {
    const first = await world.agent()
    const second = new Agent(world, (await rotate(BOT, MINUTE)).body.api_key)
    expect([await works(first), await works(second)]).toEqual([200, 200])
    const third = new Agent(world, (await rotate(BOT, MINUTE)).body.api_key)
    expect([await works(first), await works(second), await works(third)]).toEqual([401, 200, 200])
    const fourth = new Agent(world, (await rotate(BOT)).body.api_key)
    expect([await works(second), await works(third), await works(fourth)]).toEqual([401, 401, 200])
    world.clock.advance(2 * MINUTE)
    await world.due()
    expect(await works(fourth)).toBe(200)
  })

  it('204: revoking during an overlap ends both keys', async () => {
    const old = await world.agent()
    const next = new Agent(world, (await rotate(BOT, MINUTE)).body.api_key)
    expect((await world.admin('DELETE', `${BOT}/key`)).status).toBe(204)
    expect([await works(old), await works(next)]).toEqual([401, 401])
  })

  it("a reviewer's key has the same overlap", async () => {
    const old = await world.reviewer('ann')
    const next = new Reviewer(world, (await rotate('reviewers/acme/ann', MINUTE)).body.api_key)
    const statuses = async () => [(await old.list()).status, (await next.list()).status]
    expect(await statuses()).toEqual([200, 200])
    world.clock.advance(MINUTE)
    expect(await statuses()).toEqual([401, 200])
    await world.due()
    expect(await statuses()).toEqual([401, 200])
  })

  it('201 without an overlap: the old key stops working immediately', async () => {
    const old = await world.agent()
    for (const body of [undefined, {}, { overlap_ms: 0 }]) {
      const answer = await world.admin<IssuedKey>('POST', `${BOT}/key`, body === undefined ? {} : { body })
      expect([answer.status, answer.body.rotated, answer.body.old_key_until]).toEqual([201, true, undefined])
    }
    expect(await works(old)).toBe(401)
  })

  it('400 for an invalid overlap', async () => {
    await world.agent()
    for (const overlap_ms of [-1, 1.5, '10m', 8 * 24 * 3_600_000])
      expect((await world.admin('POST', `${BOT}/key`, { body: { overlap_ms } })).status).toBe(400)
    expect((await world.admin('POST', `${BOT}/key`, { body: { overlap: 1 } })).status).toBe(400)
  })

  it('leaves evidence that verifies without a fault', async () => {
    const old = await world.agent()
    await rotate(BOT, MINUTE)
    await works(old)
    expect(await faultsIn(world.app.deps.store, 'acme')).toEqual([])
  })
})
