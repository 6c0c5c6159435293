import { Worker } from 'node:worker_threads'

/**
 * A worker thread that reads and checks a bundle. It can be started before the modules that need its result are even loaded: it sends
 * nothing until the first `next`, and its end is remembered.
 */
export interface BundleWorker {
  readonly worker: Worker
  /** Resolves with its error, or with undefined when it just ended. */
  readonly ended: Promise<unknown>
}

/** More memory than this for one load means that a bundle defeats the checks. */
const MAX_HEAP_MB = 256
/** Reading YAML makes much that is thrown away at once: with the usual 16 MB a tenth of the time goes into collecting it. */
const YOUNG_HEAP_MB = 64

export interface BundleWorkerData {
  readonly dir: string
  /** This process has other work that must not wait. */
  readonly inBackground: boolean
}

export interface BundleWorkerOptions {
  /** The built directory-worker.js. Default: beside this module. */
  readonly url?: URL | undefined
  /** Default: not. */
  readonly inBackground?: boolean
}

export function startBundleWorker(
  dir: string,
  { url = new URL('./directory-worker.js', import.meta.url), inBackground = false }: BundleWorkerOptions = {},
): BundleWorker {
  const worker = new Worker(url, {
    workerData: { dir, inBackground } satisfies BundleWorkerData,
    execArgv: [],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
  })
  const ended = new Promise<unknown>((resolve) => {
    worker.once('error', resolve)
    worker.once('exit', () => resolve(undefined))
  })
  return { worker, ended }
}
