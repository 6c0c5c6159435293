import type { Logger } from 'pino'
import { GatewayError } from '../../contract/errors.ts'
import { throttled } from './throttle.ts'

/** Logs rounds of the timer. */
export interface TimerNotes {
  onError(error: unknown): void
  onDone(): void
}

/**
 * Counts every round. Logs one line when the store becomes unreachable, and another line when it answers again.
 * Throttles other failures, because the timer runs twice a second.
 */
export function timerNotes(log: Pick<Logger, 'info' | 'error'>, observe: (ok: boolean) => void): TimerNotes {
  let away = false
  const sayFailed = throttled((error, suppressed) =>
    log.error({ err: error, suppressed }, 'a round of the timer failed; the next one tries again'),
  )
  return {
    onError: (error) => {
      observe(false)
      if (!(error instanceof GatewayError) || error.code !== 'store_unavailable') {
        sayFailed(error)
        return
      }
      if (!away) log.error({ reason: (error.cause as Error | undefined)?.message }, 'the store cannot answer')
      away = true
    },
    onDone: () => {
      observe(true)
      if (away) log.info('the store answers again')
      away = false
    },
  }
}
