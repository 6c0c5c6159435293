import { describe, expect, it } from 'vitest'
import { stopwatch } from '../stopwatch.ts'
import { gateBefore, type Script, THREAD } from './double.ts'

/** A gateway that is away for a moment, or for good, while people decide. */
const away = (retryAfter: string): Response =>
  Response.json({ code: 'not_ready' }, { status: 503, headers: { 'retry-after': retryAfter } })

describe('a gateway that is unavailable during a review', () => {
  it('is asked again until it returns, however often it failed', async () => {
    const script: Script = { decisions: (is, tries) => (tries < 6 ? away('0') : is) }
    expect(await gateBefore(script).gate.guard('pay', {}, () => 'ran')).toBe('ran')
  })

  it.each([
    ['and wants to be asked at once', '0'],
    ['and wants to be asked in half a minute', '30'],
  ])('%s: the call ends with its waiting time, and says why', async (_, retryAfter) => {
    const { gate, asked } = gateBefore({ decisions: () => away(retryAfter) }, undefined, { maxWaitMs: 300 })
    const start = performance.now()
    const tookMs = stopwatch()
    await expect(gate.guard('pay', {}, () => 'ran')).rejects.toMatchObject({
      code: 'gateway_unavailable',
      thread_id: THREAD,
    })
    expect(performance.now() - start).toBeGreaterThan(299)
    expect(tookMs()).toBeLessThan(15_000)
    const polls = asked.filter((route) => route === 'decisions').length
    // it is never asked in a tight loop
    expect(polls).toBeLessThanOrEqual(retryAfter === '0' ? 3 : 2)
  })

  it('gets only four attempts for submitting and for redeeming, where no review is waiting', async () => {
    for (const route of ['requests', 'validate'] as const) {
      const { gate, asked } = gateBefore({ [route]: () => away('0') })
      const code = route === 'validate' ? 'outcome_unknown' : 'gateway_unavailable'
      await expect(gate.guard('pay', {}, () => 'ran')).rejects.toMatchObject({ code })
      expect(asked.filter((one) => one === route)).toHaveLength(4)
    }
  })
})
