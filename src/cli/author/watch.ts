import { prepareDirectory } from '../../policy/bundle/directory.ts'
import { type BundleWatch, watchBundle } from '../../policy/bundle/watch.ts'
import type { LoadResult, PreparedBundle } from '../../policy/bundle/load.ts'
import { endAfterLastWords } from '../terminal/last-words.ts'
import { STOP_SIGNALS } from '../terminal/signals.ts'

/** The output for the current state of a bundle. */
export interface View {
  /** The same text is not printed twice in a row, because an unreadable directory is read again and again. */
  readonly text: string
  readonly show: () => Promise<void> | void
}

export interface Watching extends BundleWatch {
  /** Rejects with the error that kept a view from being shown. This error is reported only here. */
  readonly fault: Promise<never>
}

/** Reads a bundle immediately, and again after each change of its files. */
export function watchPrepared(dir: string, viewOf: (bundle: PreparedBundle) => View): Watching {
  const { promise: fault, reject } = rejectable()
  let shown: string | undefined
  const load = async (): Promise<LoadResult> => {
    try {
      const bundle = await prepareDirectory(dir)
      const { text, show } = viewOf(bundle)
      if (text !== shown) await show()
      shown = text
      return bundle
    } catch (error) {
      reject(error)
      throw error
    }
  }
  return {
    ...watchBundle(dir, {
      load,
      onLoaded: () => undefined,
      onFailed: () => undefined,
      onWithdrawn: () => undefined,
    }),
    fault,
  }
}

/** A promise and its reject function, without an unhandled rejection before the first listener. */
function rejectable(): { readonly promise: Promise<never>; readonly reject: (cause: unknown) => void } {
  let reject: (cause: unknown) => void = () => undefined
  const promise = new Promise<never>((_, refuse) => (reject = refuse))
  promise.catch(() => undefined)
  return { promise, reject }
}

/**
 * Runs until Ctrl-C, or until the output is closed.
 *
 * @throws the error that kept a view from being shown
 */
export async function untilInterrupted(watch: Watching): Promise<void> {
  const interrupted = new Promise<void>((resolve) => {
    for (const signal of STOP_SIGNALS) process.once(signal, () => resolve())
    process.stdout.once('error', () => resolve())
  })
  try {
    await Promise.race([interrupted, watch.fault])
  } finally {
    await watch.close()
    endAfterLastWords()
  }
}
