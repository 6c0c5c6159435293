import { CliFailure } from './failure.ts'
import { STOP_SIGNALS } from './signals.ts'

/**
 * Lets a command that takes its time end by a signal as by any failure: what it has half done, it takes back. A second signal ends it at once.
 *
 * @param what as `the export`
 * @param signals whoever hears them; in a process with others, all of those would hear one that is made up
 * @throws CliFailure when it was broken off, and what `run` throws
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
    // who reads a stream to its end has not heard why that ended
    const isUnaware = controller.signal.aborted && (error as Error).name === 'AbortError'
    throw isUnaware ? controller.signal.reason : error
  } finally {
    leave()
  }
}
