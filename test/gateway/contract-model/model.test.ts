// @store each
import { describe, expect, it } from 'vitest'
import { openWorld } from '../../gateway-fixture.ts'
import { IS_LONG } from '../../runs.ts'
import { SEEN } from './answers.ts'
import { Game } from './game.ts'
import { BUNDLES } from './policy.ts'

/**
 * Random calls of agents and people, in random time: every answer equals the answer of the model.
 * `test/fault/fleet.test.ts` plays it with several gateways.
 */

const SEEDS = IS_LONG ? Array.from({ length: 60 }, (_, i) => i + 1) : [1, 2, 3, 4]
/** The number of steps under each policy. */
const STEPS = 90

describe('the gateway and a model of its contract', () => {
  const seen = new Set<string>()

  it.each(SEEDS)(
    'the gateway and a model of its contract give the same answers to every request (seed %d)',
    async (seed) => {
      const world = await openWorld({ files: BUNDLES.first })
      try {
        const game = new Game([world], seed)
        await game.begin()
        for (const bundle of ['second', 'first', 'second'] as const) {
          for (let i = 0; i < STEPS; i++) await game.step()
          await game.change(bundle)
        }
        for (let i = 0; i < STEPS; i++) await game.step()
        for (const one of game.end()) seen.add(one)
      } finally {
        await world.close()
      }
    },
  )

  it('the gateway and a model of its contract have met every possible answer', () => {
    expect(SEEN.filter((one) => !seen.has(one))).toEqual([])
  })
})
