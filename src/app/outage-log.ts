import type { Logger } from 'pino'
import { isStoreAway } from '../gateway/core/transact.ts'
import { throttled } from '../telemetry/log/throttle.ts'

/** Logs failures of background work that is soon retried. The timer reports an unreachable store. */
export function saysTrouble(log: Pick<Logger, 'error'>, text: string): (error: unknown) => void {
  const say = throttled((error, suppressed) => log.error({ err: error, suppressed }, text))
  return (error) => {
    if (!isStoreAway(error)) say(error)
  }
}
