import fc from 'fast-check'
import { expect } from 'vitest'
import type { CommitResult, LimitGuard, Store, Write } from '../../src/store/store.ts'
import { rounds } from '../runs.ts'
import { commitOf } from './commit-of.ts'
import type { Law } from './conformance.ts'

/*
 * S18. Windows are long and charges lie in the past or now, so that no clock has to move. A bucket, the 24th part of a
 * window, lasts hours.
 */
const DAY = 24 * 3_600_000
const BUCKET = DAY / 24

const guard = (amount: number, atMost: number, limit = 'l', windowMs = DAY): LimitGuard => ({
  limit,
  windowMs,
  amount,
  atMost,
})
const charge = (at: number, amount: number, limit = 'l', windowMs = DAY): Write => ({
  op: 'charge',
  limit,
  windowMs,
  at,
  amount,
})

/** Guards a limit and charges it, as an allowed call does. */
function spend(store: Store, amount: number, atMost: number): Promise<CommitResult> {
  const writes = [charge(store.now(), amount)]
  return store.commit('t', commitOf(store, { guards: [guard(amount, atMost)], writes, events: ['e'] }))
}

async function chargeAt(store: Store, ...charges: readonly Write[]): Promise<void> {
  expect(await store.commit('t', commitOf(store, { writes: charges }))).toMatchObject({ ok: true })
}

/** The sum of charges in the window, found by a search for the room that is left. */
async function held(store: Store, limit = 'l', windowMs = DAY, partition = 't'): Promise<number> {
  let [low, high] = [0, 2 ** 20]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const guards = [guard(0, middle, limit, windowMs)]
    const { ok } = await store.commit(partition, commitOf(store, { guards }))
    if (ok) high = middle
    else low = middle + 1
  }
  expect(await store.charged(partition, limit, windowMs)).toBe(low)
  return low
}

/** Guards a share of a limit and charges both. */
async function spendShare(store: Store, share: string, atMost: number): Promise<boolean> {
  const writes = [charge(store.now(), 1), charge(store.now(), 1, share)]
  const guards = [{ ...guard(1, atMost), share }]
  return (await store.commit('t', commitOf(store, { guards, writes, events: ['e'] }))).ok
}

export const LIMIT_LAWS: Record<string, Law> = {
  async 'S18 a share of a limit is at most three times what is left, also for commits at the same time'({
    store,
  }) {
    const counts: number[] = []
    for (const share of ['a', 'b', 'c']) {
      const all = await Promise.all(Array.from({ length: 120 }, () => spendShare(store, share, 100)))
      counts.push(all.filter(Boolean).length)
    }
    expect(counts).toEqual([75, 18, 5])
    const failed = await store.commit('t', commitOf(store, { guards: [{ ...guard(1, 100), share: 'a' }] }))
    expect(failed).toEqual({ ok: false, reason: 'guard', failed: [0] })
    expect(await spendShare(store, 'd', 100)).toBe(true)
    expect(await store.charged('t', 'l', DAY)).toBe(99)
  },

  async 'S18 commits that guard a limit and charge it never exceed it together'({ store }) {
    const results = await Promise.all(Array.from({ length: 500 }, () => spend(store, 1, 100)))
    expect(results.filter(({ ok }) => ok)).toHaveLength(100)
    expect(await held(store)).toBe(100)
    expect(await store.events('t', 0, 500)).toHaveLength(100)
  },

  async 'S18 amounts of every size fill a limit to its last unit and no further'({ store }) {
    const amounts = Array.from({ length: 200 }, (_, i) => (i * 37) % 23)
    const results = await Promise.all(amounts.map((amount) => spend(store, amount, 1_000)))
    const sum = amounts.filter((_, i) => results[i]?.ok).reduce((a, b) => a + b, 0)
    expect(sum).toBeLessThanOrEqual(1_000)
    expect(await held(store)).toBe(sum)
    const refused = amounts.filter((_, i) => !results[i]?.ok)
    expect(refused.length).toBeGreaterThan(0)
    for (const amount of refused) expect(sum + amount).toBeGreaterThan(1_000)
  },

  async 'S18 a failing limit guard changes nothing, charges nothing and is named with all others that fail'({
    store,
  }) {
    await chargeAt(store, charge(store.now(), 10), charge(store.now(), 10, 'm'))
    const result = await store.commit(
      't',
      commitOf(store, {
        guards: [
          guard(1, 11),
          guard(1, 10, 'm'),
          { type: 'key', id: 'k', revision: 1 },
          guard(0, 9),
          guard(5, 5, 'free'),
        ],
        writes: [charge(store.now(), 1), { op: 'put', type: 'key', id: 'k', body: 'x' }],
        events: ['e'],
      }),
    )
    expect(result).toEqual({ ok: false, reason: 'guard', failed: [1, 2, 3] })
    expect([await held(store), await held(store, 'm'), await held(store, 'free')]).toEqual([10, 10, 0])
    expect(await store.events('t', 0, 9)).toEqual([])
  },

  async 'S18 a guard sees the charges before its own commit, not those in it'({ store }) {
    const writes = [charge(store.now(), 7)]
    expect(await store.commit('t', commitOf(store, { guards: [guard(7, 7)], writes }))).toMatchObject({
      ok: true,
    })
    expect(await store.commit('t', commitOf(store, { guards: [guard(1, 7)], writes }))).toMatchObject({
      ok: false,
    })
  },

  async 'S18 a charge is unconditional'({ store }) {
    await chargeAt(store, charge(store.now(), 50))
    await chargeAt(store, charge(store.now(), 50))
    expect(await held(store)).toBe(100)
    expect(await spend(store, 0, 99)).toMatchObject({ ok: false, failed: [0] })
  },

  async 'S18 a window counts all that was charged in it, and nothing that left it a bucket ago'({ store }) {
    const now = store.now()
    await chargeAt(store, charge(now - DAY + BUCKET, 1), charge(now - DAY / 2, 10), charge(now, 100))
    await chargeAt(store, charge(now - DAY - 2 * BUCKET, 1_000))
    expect(await held(store)).toBe(111)
  },

  async 'S18 a window never counts less than was charged in it, and no more than a 24th of it longer'({
    store,
  }) {
    let limits = 0
    const past = fc.integer({ min: 0, max: 2 * DAY })
    const charges = fc.array(fc.record({ ago: past, amount: fc.integer({ min: 0, max: 50 }) }), {
      maxLength: 12,
    })
    // the search for the sum takes time: no charge may leave the window meanwhile
    const windows = fc.integer({ min: 3_600_000, max: 2 * DAY })
    await fc.assert(
      fc.asyncProperty(charges, windows, async (list, windowMs) => {
        limits += 1
        const limit = `random${limits}`
        const now = store.now()
        await chargeAt(store, ...list.map(({ ago, amount }) => charge(now - ago, amount, limit, windowMs)))
        const sum = (within: number): number =>
          list.filter(({ ago }) => ago < within).reduce((total, { amount }) => total + amount, 0)
        const found = await held(store, limit, windowMs)
        const late = store.now() - now
        expect(found).toBeGreaterThanOrEqual(sum(windowMs - late))
        expect(found).toBeLessThanOrEqual(sum(windowMs + Math.ceil(windowMs / 24)))
      }),
      { numRuns: rounds({ check: 15, short: 40, long: 40 }), seed: 7 },
    )
  },

  async 'S18 a negative charge takes back what was charged at that moment, and never more'({ store }) {
    const now = store.now()
    await chargeAt(store, charge(now - DAY / 2, 30), charge(now, 5))
    await chargeAt(store, charge(now - DAY / 2, -20))
    expect(await held(store)).toBe(15)
    await chargeAt(store, charge(now - DAY / 2, -20))
    expect(await held(store)).toBe(5)
    await chargeAt(store, charge(now - 3 * DAY, -5))
    expect(await held(store)).toBe(5)
  },

  async 'S18 a limit whose window changes keeps what was charged to it'({ store }) {
    const now = store.now()
    await chargeAt(store, charge(now - 60_000, 3), charge(now - DAY / 2, 4))
    const longer = [charge(now, 5, 'l', 7 * DAY)]
    await store.commit('t', commitOf(store, { writes: longer }))
    expect(await held(store, 'l', 7 * DAY)).toBe(12)
    expect(await held(store, 'l', 3_600_000)).toBeGreaterThanOrEqual(8)
  },

  async 'S18 a charge that does not guard the limit never shortens its window'({ store }) {
    const now = store.now()
    await chargeAt(store, charge(now - DAY / 2, 40), charge(now - 60_000, 5))
    // Approvals of an older policy, with a window of an hour: one ends, another one ends, a third is given.
    for (const amount of [-2, -2, 7]) await chargeAt(store, charge(now - 60_000, amount, 'l', 3_600_000))
    expect(await held(store)).toBe(48)
  },

  async 'S18 limits of other names and other partitions are apart'({ store }) {
    await chargeAt(store, charge(store.now(), 1, 'a'), charge(store.now(), 2, 'a b'))
    expect([await held(store, 'a'), await held(store, 'a b'), await held(store, 'a', DAY, 'other')]).toEqual([
      1, 2, 0,
    ])
  },

  async 'S18 the sum of a window stops at the largest safe integer and stays over every limit'({ store }) {
    const most = Number.MAX_SAFE_INTEGER
    await chargeAt(store, charge(store.now(), most), charge(store.now(), most))
    expect(await spend(store, 1, most)).toMatchObject({ ok: false })
    expect(await spend(store, 0, most - 1)).toMatchObject({ ok: false })
  },

  async 'S18 charges are there after a reopen'(opened) {
    const { store, reopen } = opened
    if (reopen === undefined) return
    await chargeAt(store, charge(store.now() - DAY / 2, 3), charge(store.now(), 4))
    const again = await reopen()
    expect(await held(again)).toBe(7)
  },
}
