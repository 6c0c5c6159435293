import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createCheckpointer, type Checkpointer } from '../../src/evidence/checkpointer.ts'
import { Confirmed } from '../../src/evidence/confirmed.ts'

/** When checkpoints are signed; time is the test's. */

let now = 0
let signed: string[] = []
let fails: string | undefined
let errors = 0
let confirmed: Confirmed
let checkpointer: Checkpointer
let last = 0

const noted = (tenant: string): void =>
  confirmed.noted({ tenant, commitId: 'c', result: { ok: true, numbers: [++last] } })

beforeEach(() => {
  vi.useFakeTimers()
  now = 0
  signed = []
  fails = undefined
  errors = 0
  confirmed = new Confirmed(() => now)
  checkpointer = createCheckpointer({
    confirmed,
    make: (tenant) => {
      if (tenant === fails) return Promise.reject(new Error('away'))
      signed.push(tenant)
      return Promise.resolve({
        more: tenant === 'large' && signed.filter((one) => one === 'large').length < 3,
      })
    },
    tenants: () => Promise.resolve(['_system', 'quiet']),
    now: () => now,
    everyMs: 1_000,
    onError: () => errors++,
  })
})
afterEach(async () => {
  await checkpointer.close()
  vi.useRealTimers()
})

const pass = async (ms: number): Promise<void> => {
  now += ms
  await vi.advanceTimersByTimeAsync(ms)
}

describe('the checkpointer', () => {
  it('checks all tenants at the start and once a minute, and tenants with new records every second', async () => {
    await pass(0)
    expect(signed.splice(0)).toEqual(['_system', 'quiet'])
    noted('acme')
    noted('acme')
    await pass(999)
    expect(signed).toEqual([])
    await pass(1)
    expect(signed.splice(0)).toEqual(['acme'])
    await pass(58_000)
    expect(signed).toEqual([])
    await pass(1_000)
    expect(signed).toEqual(['_system', 'quiet'])
  })

  it('signs at once when a thousand records wait', async () => {
    await pass(0)
    signed.splice(0)
    for (let i = 0; i < 999; i++) noted('acme')
    await pass(0)
    expect(signed).toEqual([])
    noted('acme')
    await pass(0)
    expect(signed.splice(0)).toEqual(['acme'])
    await pass(999)
    expect(signed).toEqual([])
  })

  it('retries a failed tenant, reports it, serves the others, and measures its delay', async () => {
    await pass(0)
    fails = 'acme'
    noted('acme')
    noted('globex')
    signed.splice(0)
    await pass(3_000)
    expect(signed).toEqual(['globex'])
    expect([errors, confirmed.lagMs()]).toEqual([3, 3_000])
    fails = undefined
    await pass(1_000)
    expect(signed).toEqual(['globex', 'acme'])
    expect(confirmed.lagMs()).toBe(0)
  })

  it('measures the delay of a tenant for which this instance wrote nothing, and retries each second', async () => {
    fails = 'quiet'
    await pass(0)
    await pass(60_000)
    await pass(3_000)
    expect(confirmed.lagMs()).toBe(3_000)
    fails = undefined
    signed.splice(0)
    await pass(1_000)
    expect(signed).toContain('quiet')
    expect(confirmed.lagMs()).toBe(0)
  })

  it('signs a large log in several checkpoints without waiting for the next round', async () => {
    await pass(0)
    signed.splice(0)
    noted('large')
    await pass(1_000)
    expect(signed).toEqual(['large', 'large', 'large'])
    expect(confirmed.lagMs()).toBe(0)
  })

  it('signs the remaining records when it ends', async () => {
    await pass(0)
    signed.splice(0)
    noted('acme')
    await checkpointer.close()
    expect(signed).toEqual(['acme'])
    await pass(5_000)
    expect(signed).toEqual(['acme'])
  })
})
