import { describe, expect, it } from 'vitest'
import { ago, countdown, duration, span } from '../../src/console/time/elapsed.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

describe('countdown', () => {
  it.each([
    [3 * 24 * HOUR + 5 * HOUR, '3 d 5 h left', 'calm'],
    [4 * HOUR, '4 h left', 'calm'],
    [2 * HOUR + 10 * MINUTE, '2 h 10 min left', 'calm'],
    [20 * MINUTE, '20 min left', 'calm'],
    [20 * MINUTE - 1, '19 min left', 'soon'],
    [5 * MINUTE, '5 min 00 s left', 'soon'],
    [3 * MINUTE + 5_000, '3 min 05 s left', 'urgent'],
    [999, '0 s left', 'urgent'],
    [0, 'time is up', 'over'],
    [-1, 'time is up', 'over'],
  ])('%d ms: %s, %s', (left, text, urgency) => {
    expect(countdown(1e12 + left, 1e12)).toEqual({ text, urgency })
  })

  it('never shows more time than is left', () => {
    for (let ms = 0; ms < 2 * HOUR; ms += 777) {
      const [a = 0, unit, b = 0] = /^(\d+) (s|min|h|d)(?: (\d+))?/.exec(span(ms))?.slice(1) ?? []
      const size = { s: 1_000, min: MINUTE, h: HOUR, d: 24 * HOUR }[String(unit)] ?? 0
      const said = Number(a) * size + Number(b) * (size === MINUTE ? 1_000 : size === HOUR ? MINUTE : 0)
      expect(said).toBeLessThanOrEqual(ms)
    }
  })
})

describe('ago and duration', () => {
  it('prints past times in words, and the near future as now', () => {
    expect([-60_000, 0, 9_000, 90_000, 3 * HOUR, 50 * HOUR].map((ms) => ago(1e12 - ms, 1e12))).toEqual([
      'just now',
      'just now',
      '9 s ago',
      '1 min ago',
      '3 h ago',
      '2 d ago',
    ])
  })

  it('prints durations in the form of policy files', () => {
    expect([90_000, 15 * MINUTE, 4 * HOUR, 48 * HOUR, 90 * MINUTE, 1_500].map(duration)).toEqual([
      '90s',
      '15m',
      '4h',
      '2d',
      '90m',
      '1500ms',
    ])
  })
})
