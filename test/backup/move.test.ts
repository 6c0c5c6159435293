import { afterAll, describe, expect, it } from 'vitest'
import { checkStore } from '../../src/gateway/integrity/store.ts'
import { Agent, approved, held, HOUR, openWorld, Reviewer, type World } from '../gateway-fixture.ts'
import { type Place, Places } from '../store/places.ts'
import { backupOf, restoreFrom } from './file-of.ts'

/** A gateway moves to another store, of the other kind or its own. Some data survives, and some must not. */

const places = new Places()
afterAll(() => places.dispose())

const KINDS = ['embedded', 'redis'] as const
const PAIRS = KINDS.flatMap((from) => KINDS.map((to) => [from, to] as const))

const worldOn = (place: Place, now?: number): Promise<World> =>
  openWorld({
    openStore: (clock) => {
      clock.now = now ?? clock.now
      return place.open(clock)
    },
  })

describe.each(PAIRS)('a gateway that moves from %s to %s', (one, other) => {
  it('keeps waiting threads and evidence, and honours no earlier approval', async () => {
    const [from, to] = [await places.of(one), await places.of(other)]
    const before = await worldOn(from)
    const [agent, ann] = [await before.agent(), await before.reviewer('ann')]
    const minted = await approved(agent, ann)
    const waiting = await held(agent)
    const uncollected = await held(agent)
    await ann.approve(uncollected.thread)
    before.clock.advance(HOUR / 10)
    const evidence = await before.evidence()
    const { now } = before.clock
    await before.close()

    await restoreFrom(
      await backupOf(await from.archive({ wall: () => now, monotonic: () => now })),
      await to.restore({ clock: { wall: () => now, monotonic: () => now } }),
    )
    const after = await worldOn(to, now)
    const [sameAgent, sameAnn] = [new Agent(after, agent.key), new Reviewer(after, ann.key)]
    expect(after.app.deps.store.now()).toBeGreaterThanOrEqual(now)
    expect(await after.evidence()).toEqual(evidence)

    const redeem = (made: { task: string; payload: unknown }, signature: string) =>
      sameAgent.validate({ task_id: made.task, request_payload: made.payload, signature })
    expect((await redeem(minted, minted.token)).body).toEqual({ valid: false, reason: 'invalid' })
    const collected = await sameAgent.poll({ thread_id: uncollected.thread })
    expect(collected.body).toMatchObject({
      status: 'rejected',
      message: expect.stringMatching(/^store_changed: /),
    })

    expect((await sameAnn.approve(waiting.thread)).body.status).toBe('approved')
    const { body } = await sameAgent.poll({ thread_id: waiting.thread })
    expect((await redeem(waiting, body.approval_token ?? '')).body).toEqual({ valid: true })
    expect((await redeem(waiting, body.approval_token ?? '')).body).toEqual({ valid: false, reason: 'used' })
    // checked to be numbered without a gap
    expect((await after.evidence()).length).toBeGreaterThan(evidence.length + 5)
    await after.close()
    const archive = await to.archive({ wall: () => now, monotonic: () => now })
    expect((await checkStore(archive)).findings).toEqual([])
    await archive.close()
  })
})

describe('a store restored to its own place', () => {
  it('does not accept a token that was redeemed after the backup', async () => {
    const place = await places.redis()
    const world = await worldOn(place)
    const [agent, ann] = [await world.agent(), await world.reviewer('ann')]
    const { task, payload, token } = await approved(agent, ann)
    const backup = await backupOf(await place.archive(world.clock))
    const redeem = (who: Agent) => who.validate({ task_id: task, request_payload: payload, signature: token })
    expect((await redeem(agent)).body).toEqual({ valid: true })
    const { now } = world.clock
    await world.close()
    await place.ask('FLUSHDB')
    await restoreFrom(backup, await place.restore({ clock: { wall: () => now, monotonic: () => now } }))
    const again = await worldOn(place, now)
    expect((await redeem(new Agent(again, agent.key))).body).toEqual({ valid: false, reason: 'invalid' })
    await again.close()
  })

  it('does not move time back when the wall clock was set back (S12)', async () => {
    const [from, to] = [places.embedded(), places.embedded()]
    const world = await worldOn(from)
    await world.agent()
    world.clock.advance(48 * HOUR)
    await world.agent()
    const { now } = world.clock
    await world.close()
    await restoreFrom(await backupOf(await from.archive()), await to.restore())
    const again = await worldOn(to, now - 24 * HOUR)
    expect(again.app.deps.store.now()).toBeGreaterThanOrEqual(now)
    await again.close()
  })
})
