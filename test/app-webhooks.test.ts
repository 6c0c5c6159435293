import { expect, it } from 'vitest'
import { INDEX } from '../src/gateway/records.ts'
import { StoreUnavailable } from '../src/store/store.ts'
import { openWorld, overriding, until } from './gateway-fixture.ts'

it('a store that is away is no line of the log at each look at the outbox; another failure is', async () => {
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
