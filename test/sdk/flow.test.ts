import { describe, expect, it } from 'vitest'
import { pollAfterMs } from '../../packages/sdk/src/flow.ts'
import type { Decision } from '../../packages/sdk/src/types.ts'
import { gateBefore, THREAD } from './double.ts'

const pending = { status: 'pending_review', task_id: 't', thread_id: THREAD }
const wishing = (wish: unknown): Decision =>
  ({ ...pending, recommended_poll_after_seconds: wish }) as unknown as Decision

describe('the time from one poll to the next', () => {
  it.each([
    ['what the gateway recommends', 5, 5_000],
    ['no more than the poll might have been held', 3_600, 50_000],
    ['a second at least', 0.01, 1_000],
  ])('is %s', (_, wish, ms) => {
    expect(pollAfterMs(wishing(wish), 50)).toBe(ms)
  })

  it.each([undefined, null, 'soon', '7', -5, 0, NaN, {}])(
    'is a second without a valid recommendation: %o',
    (wish) => {
      expect(pollAfterMs(wishing(wish), 50)).toBe(1_000)
    },
  )

  it('is kept between polls that the gateway does not hold', async () => {
    const { gate, asked } = gateBefore(
      { decisions: () => ({ ...pending, recommended_poll_after_seconds: 2 }) },
      undefined,
      { maxWaitMs: 2_500 },
    )
    await expect(gate.guard('pay', {}, () => 'ran')).rejects.toMatchObject({ code: 'still_pending' })
    expect(asked.filter((route) => route === 'decisions').length).toBeLessThanOrEqual(3)
  })
})
