import { describe, expect, it } from 'vitest'
import { type Goals, LOAD_LIMIT, nextLimit } from '../../src/http/load-limit.ts'

const GOALS: Goals = { turnMs: LOAD_LIMIT.TURN_MS, servedMs: 2_000 * LOAD_LIMIT.SERVED_SHARE }
const { LEAST, MOST, LOOK_EVERY_MS } = LOAD_LIMIT

const SETTLED_MS = 3_000

/** A gateway in numbers: what a request costs the processor, what refusing one does, and how long the store takes. */
interface Machine {
  readonly serveMs: number
  readonly refuseMs: number
  readonly storeMs: number
  /** Requests that the store takes in a ms. */
  readonly storePerMs: number
}

const QUICK: Machine = { serveMs: 0.13, refuseMs: 0.013, storeMs: 2, storePerMs: 1_000 }

interface Sight {
  readonly limits: number[]
  readonly served: number
  readonly refused: number
  readonly longestTurnMs: number
  readonly longestMs: number
}

/** What becomes of `perMs` requests a ms over `ms` ms, turn of the event loop by turn, with a clock of its own; what comes before it is settled is not counted. */
function simulate(machine: Machine, perMs: number, ms: number, law: typeof nextLimit = nextLimit): Sight {
  const sight = { limits: [] as number[], served: 0, refused: 0, longestTurnMs: 0, longestMs: 0 }
  const underWay: { at: number; doneAt: number }[] = []
  let [now, asked, limit, storeFreeAt] = [0, 0, MOST as number, 0]
  let look = { at: 0, ms: 0, squared: 0, served: 0, servedMs: 0, most: 0 }
  while (now < ms) {
    const start = now
    const arrivals = Math.floor(now * perMs) - asked
    asked += arrivals
    const admitted = Math.min(arrivals, Math.max(0, Math.floor(limit) - underWay.length))
    now += admitted * machine.serveMs + (arrivals - admitted) * machine.refuseMs
    for (let i = 0; i < admitted; i++) {
      storeFreeAt = Math.max(storeFreeAt, now) + 1 / machine.storePerMs
      underWay.push({ at: start, doneAt: storeFreeAt + machine.storeMs })
    }
    look.most = Math.max(look.most, underWay.length)
    while (underWay[0] !== undefined && underWay[0].doneAt <= now) {
      const one = underWay.shift() as { at: number }
      look.served += 1
      look.servedMs += now - one.at
      if (now > SETTLED_MS) sight.longestMs = Math.max(sight.longestMs, now - one.at)
      if (now > SETTLED_MS) sight.served += 1
    }
    look.ms += now - start
    look.squared += (now - start) ** 2
    if (now > SETTLED_MS) sight.refused += arrivals - admitted
    if (now > SETTLED_MS) sight.longestTurnMs = Math.max(sight.longestTurnMs, now - start)
    if (now - look.at >= LOOK_EVERY_MS) {
      const servedMs = look.served === 0 ? 0 : look.servedMs / look.served
      limit = law(limit, { turnMs: look.squared / look.ms, servedMs, most: look.most }, GOALS)
      sight.limits.push(limit)
      look = { at: now, ms: 0, squared: 0, served: 0, servedMs: 0, most: underWay.length }
    }
    // the loop sleeps until there is something to do
    now = Math.max(now, start + 0.1)
  }
  return sight
}

const capacityOf = ({ serveMs, storePerMs }: Machine): number => Math.min(1 / serveMs, storePerMs)

describe('the limit', () => {
  it('stays between its bounds whatever is measured', () => {
    const readings = [0, 0.001, 1, 12, 13, 100, 1e9]
    for (const turnMs of readings) {
      for (const servedMs of readings) {
        for (const most of [0, 1, 64, 512]) {
          for (const limit of [LEAST, 100, MOST]) {
            const next = nextLimit(limit, { turnMs, servedMs, most }, GOALS)
            expect(next).toBeGreaterThanOrEqual(LEAST)
            expect(next).toBeLessThanOrEqual(MOST)
          }
        }
      }
    }
  })

  it('shrinks while turns or answers take too long, grows again when they do not, and stands still between', () => {
    const busy = { turnMs: 30, servedMs: 0, most: 400 }
    expect(nextLimit(400, busy, GOALS)).toBe(200)
    expect(nextLimit(400, { turnMs: 0, servedMs: 1_000, most: 400 }, GOALS)).toBe(386)
    expect(nextLimit(400, { ...busy, turnMs: 13 }, GOALS)).toBe(400)
    expect(nextLimit(400, { turnMs: 1, servedMs: 450, most: 400 }, GOALS)).toBe(400)
    expect(nextLimit(400, { ...busy, turnMs: 1 }, GOALS)).toBe(480)
  })

  it('a limit that was never reached shrinks from what was in use: it is of use at once', () => {
    expect(nextLimit(MOST, { turnMs: 18.75, servedMs: 0, most: 200 }, GOALS)).toBe(160)
  })
})

describe('a look', () => {
  it('shrinks the limit from where it is when more are under way, let in before it shrank, and to half of it at most', () => {
    expect(nextLimit(300, { turnMs: 30, servedMs: 0, most: 500 }, GOALS)).toBe(150)
    expect(nextLimit(500, { turnMs: 150, servedMs: 0, most: 500 }, GOALS)).toBe(250)
  })
})

describe('a gateway under the law', () => {
  it('refuses nobody while it can do what is asked', () => {
    const sight = simulate(QUICK, capacityOf(QUICK) * 0.8, 5_000)
    expect(sight.refused).toBe(0)
    expect(sight.limits.at(-1)).toBe(MOST)
  })

  it.each([1.5, 3, 5])('at %d x its capacity serves what refusing leaves, and no turn is long', (factor) => {
    const capacity = capacityOf(QUICK)
    const sight = simulate(QUICK, capacity * factor, 10_000)
    const perMs = sight.served / (10_000 - SETTLED_MS)
    const left = (1 - factor * (QUICK.refuseMs / QUICK.serveMs)) / (1 - QUICK.refuseMs / QUICK.serveMs)
    expect(perMs / capacity).toBeGreaterThan(0.95 * left)
    expect(sight.longestTurnMs).toBeLessThan(50)
    expect(sight.longestMs).toBeLessThan(100)
  })

  it('without it turns grow until nothing is in time (the model can fail)', () => {
    const sight = simulate(QUICK, capacityOf(QUICK) * 3, 5_000, () => 1e9)
    expect(sight.longestTurnMs).toBeGreaterThan(500)
  })

  it('with a store that is the slower of the two answers well within its deadline, as fast as it goes', () => {
    const slow: Machine = { ...QUICK, storeMs: 50, storePerMs: 0.4 }
    const sight = simulate(slow, capacityOf(slow) * 3, 20_000)
    expect(sight.longestMs).toBeLessThan(1_000)
    expect(sight.served / (20_000 - SETTLED_MS)).toBeGreaterThan(0.35)
  })

  it('lets everybody in again soon after', () => {
    let limit: number = LEAST
    let looks = 0
    for (; limit < MOST; looks++) limit = nextLimit(limit, { turnMs: 1, servedMs: 10, most: 64 }, GOALS)
    expect(looks * LOOK_EVERY_MS).toBeLessThan(1_000)
  })
})
