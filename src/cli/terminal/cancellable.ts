import { CliFailure } from './failure.ts'
import { STOP_SIGNALS } from './signals.ts'

/**
 * Lets a signal end a slow command like a failure, so that the command undoes its unfinished work. A second signal ends
 * the command immediately.
 *
 * @param what name of the work, such as `the export`
 * @param signals the source of signals; tests pass their own, because other listeners of the process would receive a
 * simulated signal
 * @throws CliFailure when a signal ended the work, and the errors of `run`
 */
export async function breakable<T>(
  what: string,
  run: (signal: AbortSignal) => Promise<T>,
  signals: Pick<NodeJS.EventEmitter, 'on' | 'off'> = process,
): Promise<T> {
  const controller = new AbortController()
  const leave = (): void => {
    for (const name of STOP_SIGNALS) signals.off(name, stop)
  }
  const stop = (name: string): void => {
    leave()
    controller.abort(new CliFailure(`${what} was interrupted by ${name}: nothing of it remains`))
  }
  for (const name of STOP_SIGNALS) signals.on(name, stop)
  try {
    return await run(controller.signal)
  } catch (error) {
    // the reader of a stream does not receive the reason for its end
    const isUnaware = controller.signal.aborted && (error as Error).name === 'AbortError'
    throw isUnaware ? controller.signal.reason : error
  } finally {
    leave()
  }
}
