import type { Logger } from 'pino'
import { GatewayError } from '../../contract/errors.ts'
import { seldom } from './throttle.ts'

/** What the log says of the rounds of the timer. */
export interface TimerNotes {
  onError(error: unknown): void
  onDone(): void
}

/** Every round is counted. A store that is away is said once, and once more when it is back: the timer asks it twice a second, and what else is wrong is not said each time either. */
export function timerNotes(log: Pick<Logger, 'info' | 'error'>, observe: (ok: boolean) => void): TimerNotes {
  let away = false
  const sayFailed = seldom((error, untold) =>
    log.error({ err: error, untold }, 'a round of the timer failed; the next one tries again'),
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
