import { CliFailure } from './failure.ts'
import { STOP_SIGNALS } from './signals.ts'

/**
 * Lets a signal end a slow command as a failure would: the command undoes its unfinished work. A second signal ends it
 * at once.
 *
 * @param what such as `the export`
 * @param signals the source of signals; a test uses its own, because other listeners of the process would hear a
 *   simulated one
 * @throws CliFailure when a signal ended it, and the errors of `run`
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
    controller.abort(new CliFailure(`${what} was broken off by ${name}: nothing of it is left`))
  }
  for (const name of STOP_SIGNALS) signals.on(name, stop)
  try {
    return await run(controller.signal)
  } catch (error) {
    // a reader of a stream does not receive the reason of its end
    const isUnaware = controller.signal.aborted && (error as Error).name === 'AbortError'
    throw isUnaware ? controller.signal.reason : error
  } finally {
    leave()
  }
}
