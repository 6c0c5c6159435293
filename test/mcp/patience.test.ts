import { describe, expect, it } from 'vitest'
import { createPatience, isTimeout } from '../../src/mcp/patience.ts'

describe('the patience of a client', () => {
  it('is the longest wait until a time limit of the client has ended a call', () => {
    expect(createPatience(50_000).waitMs()).toBe(50_000)
  })

  it.each([
    [60_000, 54_000],
    [3_000, 2_500],
    [1_000, 500],
  ])('answers before a limit of %d ms', (limitMs, waitMs) => {
    const patience = createPatience(60_000)
    patience.ended(limitMs)
    expect(patience.waitMs()).toBe(waitMs)
    patience.ended(limitMs * 2)
    expect(patience.waitMs()).toBe(waitMs)
  })

  it('does not learn from a call that ended at once', () => {
    const patience = createPatience(50_000)
    patience.ended(20)
    expect(patience.waitMs()).toBe(50_000)
  })
})

it.each([
  ['McpError: MCP error -32001: Request timed out', true],
  ['timeout', true],
  ['Time-out of 60 s', true],
  ['deadline exceeded', true],
  ['the time limit was reached', true],
  ['the user pressed stop', false],
  ['AbortError: This operation was aborted', false],
  ['', false],
])('the reason %j names a time limit: %s', (reason, expected) => {
  expect(isTimeout(reason)).toBe(expected)
})
