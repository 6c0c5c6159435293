import type { Deps } from '../core/deps.ts'
import { runDue } from './scheduler.ts'

/** Runs `runDue` in rounds, one after another, until closed. */
export interface Timer {
  /** Resolves when the work of the current round has ended. */
  close(): Promise<void>
}

export interface TimerOptions {
  /** Pause between two rounds, ms. */
  readonly everyMs: number
  /** Receives the error of a failed round. The next round tries again. */
  readonly onError: (error: unknown) => void
  /** Called after each successful round. */
  readonly onDone?: () => void
}

export function startTimer(deps: Deps, { everyMs, onError, onDone }: TimerOptions): Timer {
  const stop = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running = Promise.resolve()
  const attempt = async (): Promise<number> => {
    try {
      const done = await runDue(deps, stop.signal)
      onDone?.()
      return done
    } catch (error) {
      onError(error)
      return 0
    }
  }
  const round = async (): Promise<void> => {
    const done = await attempt()
    if (!stop.signal.aborted) timer = setTimeout(start, done > 0 ? 0 : everyMs)
  }
  const start = (): void => {
    running = round()
  }
  start()
  return {
    close: async () => {
      stop.abort()
      clearTimeout(timer)
      await running
    },
  }
}
