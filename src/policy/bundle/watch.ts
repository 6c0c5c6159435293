import { readDirectoryFile } from './directory-alone.ts'
import type { NewerDirectory } from '../language/snapshot.ts'
import type { Diagnostic } from '../report/diagnostics.ts'
import { fingerprint, listBundle } from './files.ts'
import type { CompiledSnapshot } from '../evaluate/compile.ts'
import type { LoadResult } from './load.ts'

/** The timers of a watch; a test may replace them. */
export interface WatchClock {
  setTimeout(callback: () => void, ms: number): unknown
  clearTimeout(timer: unknown): void
  now(): number
}

export interface WatchOptions {
  /** Loads the whole bundle: `(signal) => loadBundleInChild(dir, { signal })`. The watch ignores an aborted result. */
  readonly load: (signal: AbortSignal) => Promise<LoadResult>
  /** Receives a snapshot to activate, if its revision is new or the last load failed. */
  readonly onLoaded: (snapshot: CompiledSnapshot) => void
  /** Receives the findings of a failed load. The last good snapshot remains active. */
  readonly onFailed: (diagnostics: readonly Diagnostic[], revision: string | undefined) => void
  /** Receives the directory of a bundle that does not load, once two reads found the same file. */
  readonly onWithdrawn: (newer: NewerDirectory) => void
  /** The interval between checks of all files, in addition to file system events. Default 1 s. */
  readonly rescanMs?: number
  /** The time without changes that must pass before the bundle is read. Default 200 ms. */
  readonly quietMs?: number
  readonly clock?: WatchClock
}

export interface BundleWatch {
  /** Resolves after the first load, even if it fails. */
  readonly ready: Promise<void>
  /** Checks for a change now. If the check starts a load, resolves when that load ends. */
  check(): Promise<void>
  /** Stops watching. No load starts afterwards, and no report is sent. */
  close(): Promise<void>
}

const DEFAULT_RESCAN_MS = 1_000
const DEFAULT_QUIET_MS = 200
/** The time between two reads of a directory whose bundle does not load. A file in the middle of a write differs. */
export const READS_APART_MS = 3_000
/** The maximum number of quiet periods that a load waits while a directory keeps changing. */
const MAX_QUIET_PERIODS = 10
/** Failures that may disappear without a change to the files. */
const TRANSIENT = new Set([
  'bundle-changing',
  'bundle-unreadable',
  'file-unreadable',
  'load-timeout',
  'load-crashed',
])

const SYSTEM_CLOCK: WatchClock = {
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
  now: () => performance.now(),
}

/**
 * Loads a bundle, and reloads it whenever its files change. File system events are only hints (a swapped link sends no
 * event), so the watch checks all files every `rescanMs`. Triggers during a load cause one more load.
 */
export function watchBundle(dir: string, options: WatchOptions): BundleWatch {
  const { rescanMs = DEFAULT_RESCAN_MS, clock = SYSTEM_CLOCK } = options
  const closing = new AbortController()
  let rescan: unknown
  const loop = createReloadLoop(dir, options, closing.signal)
  const quiet = createQuiet(options, () => void loop.check())
  const scheduleRescan = (): void => {
    if (closing.signal.aborted) return
    rescan = clock.setTimeout(() => void loop.check().then(scheduleRescan), rescanMs)
  }
  const hints = openHints(
    dir,
    () => quiet.trigger(),
    () => closing.signal.aborted,
  )
  const ready = loop.check().then(scheduleRescan)
  return {
    ready,
    check: () => loop.check(),
    async close() {
      closing.abort()
      quiet.stop()
      clock.clearTimeout(rescan)
      await Promise.all([hints.then((stop) => stop()), loop.idle()])
    },
  }
}

/** Runs at most one load at a time. Requests during a load cause one more load. */
function createReloadLoop(dir: string, options: WatchOptions, closing: AbortSignal) {
  const { clock = SYSTEM_CLOCK } = options
  let print: string | undefined
  let revision: string | undefined
  let failing = false
  let running: Promise<void> | undefined
  let again = false
  let candidate: { readonly newer: NewerDirectory; readonly since: number } | undefined

  async function once(): Promise<void> {
    const seen = await printOf(dir)
    if (closing.aborted) return
    if (seen !== undefined && seen === print) return confirm()
    const result = await options.load(closing).catch(loadCrashed)
    if (closing.aborted) return
    print = seen
    if (result.ok) {
      if (result.snapshot.revision !== revision || failing) options.onLoaded(result.snapshot)
      revision = result.snapshot.revision
      candidate = undefined
    } else {
      if (result.diagnostics.some((one) => TRANSIENT.has(one.code))) print = undefined
      options.onFailed(result.diagnostics, result.revision)
    }
    failing = !result.ok
    if (!result.ok) await consider(result.newer)
  }

  /** Waits for a second read, unless the same file was found before. */
  function consider(newer: NewerDirectory | undefined): Promise<void> | undefined {
    if (newer === undefined) candidate = undefined
    else if (newer.digest !== candidate?.newer.digest) candidate = { newer, since: clock.now() }
    return confirm()
  }

  async function confirm(): Promise<void> {
    if (candidate === undefined || clock.now() - candidate.since < READS_APART_MS) return
    const { newer } = candidate
    candidate = undefined
    const found = await readDirectoryFile(dir).catch(() => undefined)
    if (closing.aborted) return
    if (found?.digest === newer.digest) options.onWithdrawn(newer)
    else print = undefined
  }

  async function drain(): Promise<void> {
    try {
      do {
        again = false
        await once()
      } while (again && !closing.aborted)
    } finally {
      running = undefined
    }
  }

  return {
    check(): Promise<void> {
      if (closing.aborted) return Promise.resolve()
      if (running) again = true
      return (running ??= drain())
    },
    idle: (): Promise<void> => running ?? Promise.resolve(),
  }
}

function loadCrashed(): LoadResult {
  const message = 'the load failed unexpectedly'
  return {
    ok: false,
    diagnostics: [{ code: 'load-crashed', severity: 'error', file: '.', line: 1, column: 1, message }],
  }
}

/** Returns undefined when the directory cannot be listed; the load then reports why. */
async function printOf(dir: string): Promise<string | undefined> {
  return listBundle(dir).then(fingerprint, () => undefined)
}

function createQuiet({ quietMs = DEFAULT_QUIET_MS, clock = SYSTEM_CLOCK }: WatchOptions, run: () => void) {
  let timer: unknown
  let since: number | undefined
  const stop = (): void => {
    clock.clearTimeout(timer)
    timer = undefined
    since = undefined
  }
  return {
    stop,
    trigger(): void {
      const now = clock.now()
      since ??= now
      clock.clearTimeout(timer)
      const left = since + quietMs * MAX_QUIET_PERIODS - now
      timer = clock.setTimeout(
        () => {
          stop()
          run()
        },
        Math.max(0, Math.min(quietMs, left)),
      )
    },
  }
}

/**
 * Listens for file system events, as hints. Errors (the inotify limit) do not matter, because the rescan still runs.
 */
async function openHints(
  dir: string,
  trigger: () => void,
  isClosed: () => boolean,
): Promise<() => Promise<void>> {
  const { watch } = await import('chokidar')
  if (isClosed()) return () => Promise.resolve()
  const watcher = watch(dir, {
    ignoreInitial: true,
    followSymlinks: false,
    depth: 6,
    ignored: (path) => /[/\\](?:\.git|node_modules)(?:[/\\]|$)/.test(path.slice(dir.length)),
  })
  watcher.on('all', () => {
    if (!isClosed()) trigger()
  })
  watcher.on('error', () => undefined)
  return () => watcher.close()
}
