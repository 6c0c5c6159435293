import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRedisAddress } from '../../src/store/redis/address.ts'
import { openRedisStore } from '../../src/store/redis/store.ts'
import { openWorld, type World } from '../gateway-fixture.ts'
import { Game } from '../gateway/contract-model/game.ts'
import { BUNDLES } from '../gateway/contract-model/policy.ts'
import { type RedisServer, startRedis } from '../redis/server.ts'
import { IS_LONG } from '../runs.ts'

/**
 * Plays the game of test/gateway/contract-model/model.test.ts with three gateways on one Redis. Every gateway gives the
 * same answer. Concurrent calls are answered as if in some order. While the policies differ, each gateway judges by its
 * own policy, on the decisions of all gateways.
 */
const SEEDS = IS_LONG ? Array.from({ length: 40 }, (_, i) => i + 1) : [2]
const GAMES = SEEDS.flatMap((seed) => [
  { seed, reloads: 'on all of them', meanwhile: 0 },
  { seed, reloads: 'on one after another', meanwhile: 15 },
])
const STEPS = 60
const GATEWAYS = 3

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis({ config: { databases: '200' } })
})
afterAll(() => redis.dispose())

let databases = 0
async function openFleet(): Promise<[World, ...World[]]> {
  const address = parseRedisAddress(`${redis.url}/${databases++}`)
  const open = (): Promise<World> =>
    openWorld({ files: BUNDLES.first, openStore: (clock) => openRedisStore({ address, clock }) })
  const worlds: [World, ...World[]] = [await open()]
  while (worlds.length < GATEWAYS) worlds.push(await open())
  return worlds
}

describe('a fleet of gateways and the model of the contract', () => {
  let contended = 0
  it.each(GAMES)(
    'a fleet of gateways and the model of the contract give the same answers on every gateway (seed $seed, policy reloaded $reloads)',
    async ({ seed, meanwhile }) => {
      const worlds = await openFleet()
      try {
        const game = new Game(worlds, seed)
        await game.begin()
        for (const bundle of ['second', 'first'] as const) {
          for (let i = 0; i < STEPS; i++) await game.step()
          await game.change(bundle, meanwhile)
        }
        contended += game.contended
      } finally {
        for (const world of worlds) await world.close()
      }
    },
  )

  it('a fleet of gateways and the model of the contract had concurrent calls whose order mattered', () => {
    expect(contended).toBeGreaterThan(10 * GAMES.length)
  })
})
