import type { Logger } from 'pino'
import { isStoreAway } from '../gateway/core/transact.ts'
import { seldom } from '../telemetry/log/throttle.ts'

/** What the log says of work that nobody waits for, and that is tried again soon. A store that is away is said by the timer. */
export function saysTrouble(log: Pick<Logger, 'error'>, text: string): (error: unknown) => void {
  const say = seldom((error, untold) => log.error({ err: error, untold }, text))
  return (error) => {
    if (!isStoreAway(error)) say(error)
  }
}
