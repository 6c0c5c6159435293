import { describe, expect, it } from 'vitest'
import { BINDINGS, strike, type Stroke } from '../../src/console/keyboard/keymap.ts'

const stroke = (key: string, more: Partial<Stroke> = {}): Stroke => ({
  key,
  typing: false,
  modified: false,
  repeated: false,
  ...more,
})

describe('strike', () => {
  it('moves in lists, decides in threads, and never the other way round', () => {
    expect(strike(stroke('j'), 'queue', false)).toEqual({ action: 'next', pending: false })
    expect(strike(stroke('a'), 'thread', false)).toEqual({ action: 'approve', pending: false })
    expect(strike(stroke('a'), 'queue', false)).toEqual({ pending: false })
    expect(strike(stroke('j'), 'thread', false)).toEqual({ pending: false })
  })

  it('takes g and a letter as one, and forgets g after anything else', () => {
    expect(strike(stroke('g'), 'thread', false)).toEqual({ pending: true })
    expect(strike(stroke('a'), 'thread', true)).toEqual({ action: 'go agents', pending: false })
    expect(strike(stroke('x'), 'thread', true)).toEqual({ pending: false })
  })

  it('does nothing while somebody types, holds a modifier, or leans on a key that decides', () => {
    expect(strike(stroke('a', { typing: true }), 'thread', false)).toEqual({ pending: false })
    expect(strike(stroke('a', { modified: true }), 'thread', false)).toEqual({ pending: false })
    expect(strike(stroke('a', { repeated: true }), 'thread', false)).toEqual({ pending: false })
    expect(strike(stroke('j', { repeated: true }), 'queue', false).action).toBe('next')
    expect(strike(stroke('Escape', { typing: true }), 'thread', false).action).toBe('back')
  })

  it('has each key once for a page', () => {
    for (const page of ['queue', 'history', 'thread', 'policies', 'agents', 'webhooks'] as const) {
      const keys = BINDINGS.filter((one) => one.on?.includes(page) ?? true).map((one) => one.keys)
      expect(new Set(keys).size).toBe(keys.length)
    }
  })
})
