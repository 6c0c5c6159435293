import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startWriteProbe, type WriteProbe } from '../../src/app/reports.ts'
import { Confirmed } from '../../src/evidence/confirmed.ts'
import { StoreUnavailable } from '../../src/store/store.ts'

/** Whether the store takes writes, as /readyz tells it. */

let refusal: Error | 'silence' | undefined
let writes = 0
let probe: WriteProbe
let confirmed: Confirmed

const write = (): Promise<void> => {
  writes += 1
  if (refusal === 'silence') return new Promise(() => {})
  return refusal === undefined ? Promise.resolve() : Promise.reject(refusal)
}
const away = (text: string): Error =>
  new Error('the store cannot answer now', { cause: new StoreUnavailable(`redis: ${text}`) })

beforeEach(() => {
  vi.useFakeTimers()
  refusal = undefined
  writes = 0
  confirmed = new Confirmed(Date.now)
  probe = startWriteProbe({ confirmed, write, everyMs: 2_000, deadlineMs: 1_000 })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('the write probe', () => {
  it('writes every two seconds, and reports nothing while writes succeed', async () => {
    await vi.advanceTimersByTimeAsync(60_000)
    expect(writes).toBeGreaterThanOrEqual(29)
    expect(probe.refusal()).toBeUndefined()
  })

  it.each([
    'OOM command not allowed when used memory > maxmemory',
    "READONLY You can't write against a read only replica.",
    'NOREPLICAS Not enough good replicas to write.',
    'MISCONF Redis is configured to save RDB snapshots',
    "NOPERM User app has no permissions to run the 'evalsha' command",
    'CLUSTERDOWN The cluster is down',
  ])('reports a refused write within seconds, and recovers by itself: %s', async (text) => {
    await vi.advanceTimersByTimeAsync(3_000)
    refusal = away(text)
    await vi.advanceTimersByTimeAsync(2_000)
    expect(probe.refusal()).toBe(`it refuses writes: redis: ${text}`)
    refusal = undefined
    await vi.advanceTimersByTimeAsync(500)
    expect(probe.refusal()).toBeUndefined()
  })

  it('writes at once when a commit fails', async () => {
    await vi.advanceTimersByTimeAsync(600)
    refusal = away('OOM')
    confirmed.noted({ tenant: 't', commitId: 'c', error: new StoreUnavailable('redis: OOM') })
    await vi.advanceTimersByTimeAsync(100)
    expect(probe.refusal()).toContain('OOM')
  })

  it('reports a write that is not acknowledged', async () => {
    await vi.advanceTimersByTimeAsync(1_000)
    refusal = 'silence'
    await vi.advanceTimersByTimeAsync(8_000)
    expect(probe.refusal()).toMatch(/^no write was acknowledged for \d+ s$/)
    const result = { ok: true, numbers: [] } as const
    confirmed.noted({ tenant: 't', commitId: 'c', result })
    expect(probe.refusal()).toBeDefined()
    confirmed.noted({ tenant: 't', commitId: 'c', result: { ok: true, numbers: [1] } })
    expect(probe.refusal()).toBeUndefined()
  })

  it('stops when it is closed', async () => {
    await probe.close()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(writes).toBe(0)
  })
})
