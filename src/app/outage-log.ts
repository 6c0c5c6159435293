import type { Logger } from 'pino'
import { isStoreAway } from '../gateway/core/transact.ts'
import { seldom } from '../telemetry/log/throttle.ts'

/** Logs failures of background work that is tried again soon. The timer reports an unreachable store. */
export function saysTrouble(log: Pick<Logger, 'error'>, text: string): (error: unknown) => void {
  const say = seldom((error, untold) => log.error({ err: error, untold }, text))
  return (error) => {
    if (!isStoreAway(error)) say(error)
  }
}
