import { describe, expect, it } from 'vitest'
import { type ClockSources, createClock, createFollower } from '../../src/store/clock.ts'

/** A wall clock that is set by hand and a monotonic one that is wound by hand. */
function clocks(wall: number) {
  const time = { wall, monotonic: 77.5 }
  const sources = { wall: () => time.wall, monotonic: () => time.monotonic }
  const pass = (ms: number): void => {
    time.wall += ms
    time.monotonic += ms
  }
  return { time, sources, pass }
}

const HOUR = 3_600_000

describe('the store clock (S12)', () => {
  it('follows the wall clock in whole milliseconds', () => {
    const { sources, pass } = clocks(1_000)
    const clock = createClock(0, sources)
    expect(clock.now()).toBe(1_000)
    pass(1.75)
    expect(clock.now()).toBe(1_001)
    pass(HOUR)
    expect(clock.now()).toBe(1_001 + HOUR)
  })

  it('follows a forward jump, so that grants end early rather than late', () => {
    const { time, sources, pass } = clocks(1_000)
    const clock = createClock(0, sources)
    time.wall += 24 * HOUR
    expect(clock.now()).toBe(1_000 + 24 * HOUR)
    pass(5)
    expect(clock.now()).toBe(1_005 + 24 * HOUR)
  })

  it('continues at its own pace when the wall clock is set back, and after a leap second', () => {
    const { time, sources, pass } = clocks(10 * HOUR)
    const clock = createClock(0, sources)
    time.wall -= HOUR
    expect(clock.now()).toBe(10 * HOUR)
    pass(250)
    expect(clock.now()).toBe(10 * HOUR + 250)
    time.wall += HOUR - 1_000
    pass(1)
    expect(clock.now()).toBe(10 * HOUR + 251)
  })

  it('starts no earlier than the last persisted time', () => {
    const { sources, pass } = clocks(1_000)
    const clock = createClock(5_000, sources)
    expect(clock.now()).toBe(5_000)
    pass(10)
    expect(clock.now()).toBe(5_010)
    pass(10_000)
    expect(clock.now()).toBe(15_010)
  })

  it('never runs backwards, whatever the wall clock does', () => {
    const { time, sources, pass } = clocks(50_000)
    const clock = createClock(0, sources)
    let last = clock.now()
    for (let i = 0; i < 2_000; i++) {
      time.wall += Math.round(Math.sin(i * i) * 5_000)
      pass(1)
      expect(clock.now()).toBeGreaterThanOrEqual(last)
      last = clock.now()
    }
  })
})

describe('a clock that follows a server', () => {
  it("shows the server's time, and follows a forward jump", () => {
    const { time, sources, pass } = clocks(1_000)
    const clock = createFollower(sources)
    pass(1.75)
    expect(clock.now()).toBe(1_001)
    time.wall += HOUR
    expect(clock.now()).toBe(1_001 + HOUR)
  })

  it('runs at half speed while the server is behind, until both agree', () => {
    const { time, sources, pass } = clocks(10 * HOUR)
    const clock = createFollower(sources)
    time.wall -= HOUR
    expect(clock.now()).toBe(10 * HOUR)
    pass(HOUR)
    expect(clock.now()).toBe(10 * HOUR + HOUR / 2)
    pass(HOUR)
    expect(clock.now()).toBe(11 * HOUR)
    pass(HOUR)
    expect(clock.now()).toBe(12 * HOUR)
  })

  it('neither runs ahead of a server with slow seconds nor runs backwards', () => {
    const { time, sources } = clocks(0)
    const clock = createFollower(sources)
    let last = clock.now()
    for (let i = 0; i < 10_000; i++) {
      time.monotonic += 1_000
      time.wall += 1_000 - Math.round(Math.sin(i * i) * 40 + 41)
      expect(clock.now()).toBeGreaterThanOrEqual(last)
      last = clock.now()
      expect(last - time.wall).toBeLessThan(1)
    }
  })
})

describe.each([
  ['the store clock', (sources: ClockSources) => createClock(0, sources)],
  ['a clock that follows a server', createFollower],
])('a jump of more than a minute, in %s', (_, create) => {
  const MINUTE = 60_000
  function held() {
    const all = clocks(10 * HOUR)
    const clock = create({ ...all.sources, holdsJumps: true })
    clock.now()
    return { ...all, clock }
  }

  it('is held, and followed once the wall clock has run steadily for 90 s', () => {
    const { time, pass, clock } = held()
    time.wall += 24 * HOUR
    expect([clock.now(), clock.jumpMs()]).toEqual([10 * HOUR, 24 * HOUR])
    pass(89_999)
    expect([clock.now(), clock.jumpMs()]).toEqual([10 * HOUR + 89_999, 24 * HOUR])
    pass(1)
    expect([clock.now(), clock.jumpMs()]).toEqual([34 * HOUR + 90_000, undefined])
  })

  it('leaves no trace when the clock is set right within that time', () => {
    const { time, pass, clock } = held()
    time.wall += 24 * HOUR
    clock.now()
    pass(MINUTE)
    time.wall -= 24 * HOUR
    expect([clock.now(), clock.jumpMs()]).toEqual([10 * HOUR + MINUTE, undefined])
  })

  it('is looked at anew when the clock jumps again', () => {
    const { time, pass, clock } = held()
    time.wall += HOUR
    clock.now()
    pass(MINUTE)
    time.wall += HOUR
    clock.now()
    pass(MINUTE)
    expect([clock.now(), clock.jumpMs()]).toEqual([10 * HOUR + 2 * MINUTE, 2 * HOUR])
  })

  it('of a minute or less is followed at once', () => {
    const { time, clock } = held()
    time.wall += MINUTE
    expect([clock.now(), clock.jumpMs()]).toEqual([10 * HOUR + MINUTE, undefined])
  })
})
