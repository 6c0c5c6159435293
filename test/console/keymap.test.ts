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
  it('moves in lists and in threads, and decides only in threads', () => {
    expect(strike(stroke('j'), 'queue', false)).toEqual({ action: 'next', pending: false })
    expect(strike(stroke('a'), 'thread', false)).toEqual({ action: 'approve', pending: false })
    expect(strike(stroke('a'), 'queue', false)).toEqual({ pending: false })
    expect(strike(stroke('j'), 'thread', false).action).toBe('next')
  })

  it('takes g and a letter as one shortcut, and forgets g after any other key', () => {
    expect(strike(stroke('g'), 'thread', false)).toEqual({ pending: true })
    expect(strike(stroke('a'), 'thread', true)).toEqual({ action: 'go agents', pending: false })
    expect(strike(stroke('x'), 'thread', true)).toEqual({ pending: false })
  })

  it('ignores keys while a reviewer types, holds a modifier, or holds down a deciding key', () => {
    expect(strike(stroke('a', { typing: true }), 'thread', false)).toEqual({ pending: false })
    expect(strike(stroke('a', { modified: true }), 'thread', false)).toEqual({ pending: false })
    expect(strike(stroke('a', { repeated: true }), 'thread', false)).toEqual({ pending: false })
    expect(strike(stroke('j', { repeated: true }), 'queue', false).action).toBe('next')
    expect(strike(stroke('Escape', { typing: true }), 'thread', false).action).toBe('back')
  })

  it('binds each key once per page', () => {
    for (const page of ['queue', 'history', 'thread', 'several', 'policies', 'agents', 'webhooks'] as const) {
      const keys = BINDINGS.filter((one) => one.on?.includes(page) ?? true).map((one) => one.keys)
      expect(new Set(keys).size).toBe(keys.length)
    }
  })
})
