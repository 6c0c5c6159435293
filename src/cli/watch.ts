import { prepareDirectory } from '../policy/directory/directory.ts'
import { type BundleWatch, watchBundle } from '../policy/directory/watch.ts'
import type { LoadResult, PreparedBundle } from '../policy/load.ts'

/** What is to be said of a bundle as it lies there. */
export interface View {
  /** The same text is not said twice in a row: a directory that cannot be read is tried again and again. */
  readonly text: string
  readonly show: () => Promise<void> | void
}

/** Looks at a bundle at once, and again after each change of its files. */
export function watchPrepared(dir: string, viewOf: (bundle: PreparedBundle) => View): BundleWatch {
  let shown: string | undefined
  const load = async (): Promise<LoadResult> => {
    const bundle = await prepareDirectory(dir)
    const { text, show } = viewOf(bundle)
    if (text !== shown) await show()
    shown = text
    return bundle
  }
  return watchBundle(dir, { load, onLoaded: () => undefined, onFailed: () => undefined })
}

export async function untilInterrupted(watch: BundleWatch): Promise<void> {
  await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve))
  await watch.close()
}
