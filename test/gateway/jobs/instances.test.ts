// @store each, in the soak
import { afterEach, describe, expect, it } from 'vitest'
import type { InstancesView } from '../../../src/contract/admin.ts'
import { reportInstance, retireInstance } from '../../../src/gateway/jobs/instances.ts'
import { HOUR, openWorld, overriding, SECOND, type World } from '../../gateway-fixture.ts'
import { until } from '../../until.ts'
import { StoreUnavailable } from '../../../src/store/store.ts'

let world: World
afterEach(() => world.close())

const listed = async (): Promise<InstancesView['instances']> => {
  const { status, body } = await world.admin<InstancesView>('GET', 'instances')
  expect(status).toBe(200)
  return body.instances
}
const instance = (id: string) => ({ id, host: `host of ${id}`, version: '1', startedAt: world.clock.now })

describe('GET instances', () => {
  it('200: lists each gateway with its bundle while it reports', async () => {
    world = await openWorld()
    expect(await listed()).toEqual([])
    const { deps } = world.app
    await reportInstance(deps, instance('a'))
    const { revision } = deps.policies.current() ?? {}
    const [one] = await listed()
    expect(one).toMatchObject({ id: 'a', host: 'host of a', version: '1', revision, load_ok: true })
    world.clock.advance(20 * SECOND)
    await reportInstance(deps, instance('b'))
    expect((await listed()).map(({ id }) => id)).toEqual(['a', 'b'])
    world.clock.advance(20 * SECOND)
    expect((await listed()).map(({ id }) => id)).toEqual(['b'])
    await retireInstance(deps, 'b')
    expect(await listed()).toEqual([])
  })

  it('forgets a gateway that has not reported for an hour', async () => {
    world = await openWorld()
    const { deps } = world.app
    await reportInstance(deps, instance('a'))
    world.clock.advance(HOUR)
    await reportInstance(deps, instance('b'))
    expect(await deps.store.get('_system', 'instance', 'a')).toBeUndefined()
  })

  it('403 for a reviewer in any role', async () => {
    world = await openWorld()
    const ann = await world.reviewer('ann')
    const headers = { authorization: `Bearer ${ann.key}` }
    expect((await world.admin('GET', 'instances', { headers })).status).toBe(403)
  })

  it('is reported by a running gateway, which is not ready while it cannot write', async () => {
    let refusing = false
    world = await openWorld({
      reportEveryMs: 40,
      wrapStore: (store) =>
        overriding(store, {
          commit: (partition, commit) =>
            refusing
              ? Promise.reject(new StoreUnavailable('redis: OOM command not allowed'))
              : store.commit(partition, commit),
        }),
    })
    await until(async () => (await listed()).length === 1)
    const ready = async (): Promise<{ status: number; store: string }> => {
      const response = await fetch(`${world.url}/readyz`)
      return { status: response.status, ...((await response.json()) as { store: string }) }
    }
    expect((await ready()).status).toBe(200)
    refusing = true
    await until(async () => (await ready()).status === 503)
    expect((await ready()).store).toBe('it refuses writes: redis: OOM command not allowed')
    refusing = false
    await until(async () => (await ready()).status === 200)
  })
})
