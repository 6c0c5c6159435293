import { expect, it } from 'vitest'
import { INDEX } from '../../src/gateway/core/indexes.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { openWorld, overriding } from '../gateway-fixture.ts'
import { until } from '../until.ts'

it('logs a failed look at the outbox, except while the store is unavailable', async () => {
  let failure: Error | undefined
  let looks = 0
  const world = await openWorld({
    webhooks: { everyMs: 5 },
    wrapStore: (store) =>
      overriding(store, {
        range: (tenant, index, options) => {
          if (failure === undefined || index !== INDEX.webhookTenants)
            return store.range(tenant, index, options)
          looks += 1
          return Promise.reject(failure)
        },
      }),
  })
  try {
    const said = (): number => world.logged.filter((line) => line.includes('a webhook could not be')).length
    failure = new StoreUnavailable('the server is away')
    await until(() => looks >= 20)
    expect(said()).toBe(0)
    failure = new Error('a record that cannot be read')
    await until(() => said() > 0)
  } finally {
    failure = undefined
    await world.close()
  }
})

it('a tenant whose webhooks cannot be read delays other tenants by one turn at most', async () => {
  let broken = false
  let looks = 0
  const world = await openWorld({
    webhooks: { everyMs: 5 },
    wrapStore: (store) =>
      overriding(store, {
        get: (tenant, type, id) =>
          broken && tenant === 'acme' && type === 'destinations'
            ? Promise.reject(new SyntaxError('a record that cannot be read'))
            : store.get(tenant, type, id),
        claimDue: (tenant, index, claim) => {
          if (broken && tenant === 'globex' && index.startsWith('outbox/')) looks += 1
          return store.claimDue(tenant, index, claim)
        },
      }),
  })
  try {
    for (const tenant of ['acme', 'globex'])
      await world.admin('POST', 'webhooks', { body: { tenant, url: 'https://hooks.example.com/' } })
    broken = true
    await until(() => looks >= 3)
  } finally {
    broken = false
    await world.close()
  }
})
