import { afterAll, describe, expect, it } from 'vitest'
import { startSizes } from '../../src/app/sizes.ts'
import { census } from '../../src/gateway/jobs/backlog.ts'
import { loadConfig } from '../../src/settings/config.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import { MINUTE, openWorld, type World } from '../gateway-fixture.ts'
import { Places } from '../store/places.ts'
import { until } from '../until.ts'

const places = new Places()
afterAll(() => places.dispose())

/** Lets the minute before the first measurement pass. */
async function due(world: World): Promise<void> {
  await until(async () => (await world.app.deps.store.get('_system', 'sizes', 'all')) !== undefined)
  world.clock.advance(MINUTE)
}

describe('the sizes of a gateway', () => {
  it.each(['embedded', 'redis'] as const)('are measured in the background: %s', async (kind) => {
    const place = kind === 'redis' ? await places.redis() : places.embedded()
    let store: Store | undefined
    const world = await openWorld({ openStore: async (clock) => (store = await place.open(clock)) })
    await world.agent()
    const args = ['--store', place.address]
    const { config } = loadConfig({ args, parseYaml: () => undefined })
    const warnings: unknown[] = []
    const log = { warn: (facts: unknown) => void warnings.push(facts) }
    const sizes = startSizes(world.app.deps, config, { store: store as Store, log, everyMs: 1 })
    await due(world)
    await until(async () => (await census(world.app.deps)).sizes !== undefined)
    await sizes.close()
    expect((await census(world.app.deps)).sizes?.kinds['record key']?.count).toBe(1)
    expect(warnings).toEqual([])
    await world.close()
  })

  it('log a failed measurement', async () => {
    const world = await openWorld()
    const { config } = loadConfig({ args: ['--store', 'file:none'], parseYaml: () => undefined })
    const warnings: unknown[] = []
    const log = { warn: (facts: unknown) => void warnings.push(facts) }
    const broken = {
      now: () => world.clock.now,
      partitions: () => Promise.reject(new StoreUnavailable('away')),
    }
    const sizes = startSizes(world.app.deps, config, { store: broken as unknown as Store, log, everyMs: 1 })
    await due(world)
    await until(() => warnings.length > 0)
    await sizes.close()
    await world.close()
  })
})
