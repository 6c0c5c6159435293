// @store each
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkStore } from '../../../src/gateway/integrity/store.ts'
import { IS_LONG } from '../../runs.ts'
import { Places } from '../../store/places.ts'
import { type Receiver, Receivers } from '../../webhooks/receiver.ts'
import { Board, TENANTS } from './board.ts'
import { Fleet } from './fleet.ts'
import { EVENTS, Game } from './game.ts'
import { AGENTS } from './work.ts'

/**
 * Random acts of agents, people and administrators on two gateways, to receivers of every mood.
 * The gateways share a store and make deliveries together.
 * Each destination receives the deliveries of the model, as often and as late as the model says.
 * Lists, states and evidence agree.
 */

const SEEDS = IS_LONG ? Array.from({ length: 60 }, (_, i) => i + 1) : [1]
const STEPS = 40
/** Events that the end of every game causes. */
const ALWAYS_SEEN = [
  'webhook.ping',
  'delivered after one',
  'dead after ten',
  'forgotten delivered',
  'forgotten dead',
  'gone',
  'paused when gone',
]
/** Events of the long run. Timing decides which of them one game meets. */
const SEEN = [
  ...EVENTS,
  ...ALWAYS_SEEN,
  'delivered after some',
  'dead after one',
  'again delivered',
  'again dead',
  'again waiting',
  'several again',
  'told while paused',
  'told while failing',
  'told while gone',
  'failing',
  'two signatures',
  'hidden value',
  'no answer',
  'refused',
  'unheard',
  'not noted',
  'made again after its lease',
]
const RECEIVERS = 12

const KIND = process.env['COUNTERSIGN_TEST_STORE'] === 'redis' ? 'redis' : 'embedded'
const places = new Places()
const receivers = new Receivers()
const open: Receiver[] = []
beforeAll(async () => {
  while (open.length < RECEIVERS) open.push(await receivers.open())
})
afterAll(async () => {
  await receivers.dispose()
  await places.dispose()
})

/** Returns every trace of deliveries that the store still holds. The destinations themselves may remain. */
async function leftovers(place: Awaited<ReturnType<Places['of']>>, now: number): Promise<string[]> {
  const archive = await place.archive({ wall: () => now, monotonic: () => now })
  try {
    expect((await checkStore(archive)).findings).toEqual([])
    const left: string[] = []
    for (const tenant of TENANTS)
      for await (const entry of archive.dump(tenant)) {
        if (entry.kind === 'record' && entry.type === 'delivery') left.push(`delivery ${entry.id}`)
        if (entry.kind !== 'index') continue
        const isOurs =
          /^(?:outbox|deliveries)\//.test(entry.index) || /^(?:webhook|delivery) /.test(entry.member)
        if (isOurs) left.push(`${entry.index} ${entry.member}`)
      }
    return left
  } finally {
    await archive.close()
  }
}

describe('webhooks and a model of them', () => {
  const seen = new Set<string>()

  it.each(SEEDS)(
    'webhooks and a model of them agree on every delivery (seed %d)',
    { timeout: 300_000 },
    async (seed) => {
      const place = await places.of(KIND)
      const fleet = await Fleet.open({ place, receivers, ports: open.map(({ port }) => port) })
      let now: number
      try {
        const game = new Game(new Board(fleet, open, { seed, seen }))
        await game.begin(AGENTS)
        for (let i = 0; i < STEPS; i++) await game.step()
        await game.end()
      } finally {
        now = fleet.now
        await fleet.close()
      }
      expect(await leftovers(place, now)).toEqual([])
    },
  )

  it('webhooks and a model of them have met every possible event', () => {
    expect((IS_LONG ? SEEN : ALWAYS_SEEN).filter((one) => !seen.has(one))).toEqual([])
  })
})
