import type { Logger } from 'pino'
import { GatewayError } from '../contract/errors.ts'

/** What the log says of the rounds of the timer. */
export interface TimerNotes {
  onError(error: unknown): void
  onDone(): void
}

/** A store that is away is said once, and once more when it is back: the timer asks it twice a second. */
export function timerNotes(log: Pick<Logger, 'info' | 'error'>): TimerNotes {
  let away = false
  return {
    onError: (error) => {
      if (!(error instanceof GatewayError) || error.code !== 'store_unavailable') {
        log.error({ err: error }, 'a round of the timer failed; the next one tries again')
        return
      }
      if (!away) log.error({ reason: (error.cause as Error | undefined)?.message }, 'the store cannot answer')
      away = true
    },
    onDone: () => {
      if (away) log.info('the store answers again')
      away = false
    },
  }
}
