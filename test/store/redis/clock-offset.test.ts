import { expect, it } from 'vitest'
import { createOffset, OFFSET_SAMPLES } from '../../../src/store/redis/clock-offset.ts'

it('equals that of the fastest answer of the last minute, and is never ahead of the server', () => {
  const offset = createOffset()
  expect(offset.best()).toBeUndefined()
  offset.heard(5_000, 40)
  offset.heard(5_000, 1)
  // the event loop has much to do: each answer is seen late
  for (let i = 0; i < OFFSET_SAMPLES - 2; i++) offset.heard(5_000, 800)
  expect(offset.best()).toBe(4_999)
  offset.forget()
  expect(offset.best()).toBeUndefined()
})

it('follows a clock that is set forward at once, and one that is set back after a minute', () => {
  const offset = createOffset()
  offset.heard(5_000, 1_000)
  offset.heard(9_000, 1_000)
  expect(offset.best()).toBe(8_000)
  for (let i = 0; i < OFFSET_SAMPLES - 1; i++) offset.heard(5_000, 1_000)
  expect(offset.best()).toBe(8_000)
  offset.heard(5_000, 1_000)
  expect(offset.best()).toBe(4_000)
})
