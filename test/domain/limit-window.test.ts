import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  amountIn,
  charged,
  decodeWindow,
  encodeWindow,
  type LimitWindow,
  spanOf,
} from '../../src/domain/limit-window.ts'
import { runs } from '../runs.ts'

const START = 1_700_000_000_000
const LENGTHS = [1, 23, 24, 25, 1_000, 3_600_000, 86_400_000] as const
const DAY = 86_400_000

const step = fc.record({
  wait: fc.oneof(fc.constant(0), fc.nat(60), fc.nat(DAY)),
  /** A decision may be charged later than it was made. */
  ago: fc.oneof(fc.constant(0), fc.nat(60), fc.nat(DAY)),
  amount: fc.nat(100),
})
const steps = fc.array(step, { maxLength: 30 })
const length = fc.constantFrom(...LENGTHS)

interface Charge {
  readonly at: number
  readonly amount: number
}

const sumSince = (charges: readonly Charge[], since: number): number =>
  charges.filter(({ at }) => at >= since).reduce((sum, { amount }) => sum + amount, 0)

describe('the window of a limit', () => {
  it('contains every charge of its length, and keeps it for another 24th of that length', () => {
    fc.assert(
      fc.property(length, steps, fc.nat(2 * DAY), (windowMs, history, later) => {
        const charges: Charge[] = []
        let window: LimitWindow | undefined
        let now = START
        for (const { wait, ago, amount } of history) {
          now += wait
          charges.push({ at: now - ago, amount })
          window = charged(window, { windowMs, at: now - ago, amount }, now)
        }
        for (const when of [now, now + (later % (2 * windowMs)), now + later]) {
          const held = amountIn(window, windowMs, when)
          expect(held).toBeGreaterThanOrEqual(sumSince(charges, when - windowMs))
          expect(held).toBeLessThanOrEqual(sumSince(charges, when - windowMs - Math.ceil(windowMs / 24)))
        }
        const last = Math.max(0, ...charges.map(({ at }) => at))
        expect(amountIn(window, windowMs, last + windowMs + Math.ceil(windowMs / 24))).toBe(0)
      }),
      { numRuns: runs(3_000) },
    )
  })

  it('keeps every recent charge when its length changes', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(length, step), { maxLength: 20 }), length, (history, asked) => {
        let charges: Charge[] = []
        let window: LimitWindow | undefined
        let now = START
        for (const [windowMs, { wait, ago, amount }] of history) {
          now += wait
          charges = [...charges, { at: now - ago, amount }].filter(({ at }) => at >= now - windowMs)
          window = charged(window, { windowMs, at: now - ago, amount }, now)
          if (window !== undefined) expect(spanOf(window)).toBeGreaterThanOrEqual(windowMs)
        }
        expect(amountIn(window, asked, now)).toBeGreaterThanOrEqual(sumSince(charges, now - asked))
      }),
      { numRuns: runs(3_000) },
    )
  })

  it('keeps each amount until its bucket expires when its length is halved or doubled', () => {
    const at = START - (START % DAY)
    const window = charged(undefined, { windowMs: DAY, at, amount: 7 }, at)
    const hour = DAY / 24
    for (const windowMs of [DAY / 2, DAY, 2 * DAY]) {
      const over = Math.max(hour, windowMs / 24) + windowMs
      expect(amountIn(window, windowMs, at + over - 1)).toBe(7)
      expect(amountIn(window, windowMs, at + over)).toBe(0)
    }
  })

  it('undoes a charge at its time, never below zero, and is deleted when it is empty', () => {
    const charge = (amount: number, at = START) => ({ windowMs: 24_000, at, amount })
    const two = charged(charged(undefined, charge(5), START), charge(3, START + 1_000), START + 1_000)
    const one = charged(two, charge(-5), START + 1_000)
    expect(amountIn(two, 24_000, START + 1_000)).toBe(8)
    expect(amountIn(one, 24_000, START + 1_000)).toBe(3)
    expect(amountIn(charged(two, charge(-9), START + 1_000), 24_000, START + 1_000)).toBe(3)
    expect(charged(one, charge(-3, START + 1_000), START + 1_000)).toBeUndefined()
    expect(charged(undefined, charge(0), START)).toBeUndefined()
    expect(charged(undefined, charge(5, START - 25_000), START)).toBeUndefined()
    expect([amountIn(undefined, 24_000, START), spanOf(undefined), spanOf(two)]).toEqual([0, 0, 24_000])
  })

  it('counts up to the largest safe integer and no further', () => {
    const most = Number.MAX_SAFE_INTEGER
    const charge = (at: number) => ({ windowMs: 24_000, at, amount: most })
    const once = charged(undefined, charge(START), START)
    const again = charged(once, charge(START), START)
    const next = charged(again, charge(START + 1_000), START + 1_000)
    for (const window of [once, again, next]) expect(amountIn(window, 24_000, START + 1_000)).toBe(most)
    expect(amountIn(next, 240_000, START + 1_000)).toBe(most)
    const cleared = charged(again, { windowMs: 24_000, at: START, amount: -most }, START)
    expect(cleared).toBeUndefined()
    expect([
      ...(charged(next, { ...charge(START), windowMs: 240_000, amount: 0 }, START)?.buckets ?? []),
    ]).toEqual([[Math.floor(START / 10_000), most]])
  })

  it('is the same after it is written and read', () => {
    const window = charged(undefined, { windowMs: 24_000, at: 5_000, amount: 3 }, 5_000) as LimitWindow
    expect(encodeWindow(window)).toBe('[1000,[5,3]]')
    expect(decodeWindow('[1000,[5,3]]')).toEqual(window)
  })
})
