import type { ThreadSummary } from '../../contract/reviewer.ts'

type Asked = Pick<ThreadSummary, 'asked_at' | 'asks_every_ms'>

const STOPPED_MS = 10 * 60_000
const INTERVALS = 3

/**
 * True when the agent no longer asked for the decision at the time of the answer. The gateway's filter `asked=stopped`
 * has the same rule.
 *
 * @param readAt the time of the answer, because later questions are no change that the page hears of
 */
export function hasStopped({ asked_at, asks_every_ms = 0 }: Asked, readAt: number): boolean {
  return (
    asked_at !== undefined && readAt - Date.parse(asked_at) > Math.max(STOPPED_MS, INTERVALS * asks_every_ms)
  )
}
