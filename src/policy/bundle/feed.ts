import type { CompiledSnapshot } from '../evaluate/compile.ts'
import type { Diagnostic } from '../report/diagnostics.ts'
import type { Withdrawal } from '../language/snapshot.ts'
import { type WatchClock, watchBundle } from './watch.ts'
import type { Texts } from './directory.ts'
import type { LoadResult } from './load.ts'

/** The result of the last load of the bundle. */
export interface LoadReport {
  readonly ok: boolean
  /** ms since 1970. */
  readonly at: number
  readonly revision?: string
  readonly diagnostics: readonly Diagnostic[]
}

export interface FeedStatus {
  readonly loadedAt?: number
  readonly commit?: string
  readonly lastLoad?: LoadReport
}

export interface FeedOptions {
  readonly load: (signal: AbortSignal, texts?: Texts) => Promise<LoadResult>
  readonly now: () => number
  readonly rescanMs: number
  /** Receives the report of every load, after the snapshot was swapped. */
  readonly onLoad: (report: LoadReport, snapshot: CompiledSnapshot | undefined) => void
  /** Called when a withdrawal begins or changes. */
  readonly onWithdrawn: (withdrawal: Withdrawal) => void
  readonly clock?: WatchClock
}

/** The active bundle: one pointer, which is swapped as a whole. A failed load does not change the active bundle. */
export interface PolicyFeed {
  current(): CompiledSnapshot | undefined
  status(): FeedStatus
  /** Loads a bundle that does not take effect. */
  trial(texts: Texts): Promise<LoadResult>
  /** Resolves when the first load ends, even if it fails. */
  readonly ready: Promise<void>
  close(): Promise<void>
}

export function openPolicyFeed(
  dir: string,
  { load, now, rescanMs, onLoad, onWithdrawn, ...more }: FeedOptions,
): PolicyFeed {
  let whole: CompiledSnapshot | undefined
  let snapshot: CompiledSnapshot | undefined
  let status: FeedStatus = {}
  const watch = watchBundle(dir, {
    load,
    rescanMs,
    ...more,
    onLoaded: (loaded) => {
      const { revision, commit, diagnostics } = loaded
      const lastLoad = { ok: true, at: now(), revision, diagnostics }
      snapshot = whole = loaded
      status = { loadedAt: lastLoad.at, lastLoad, ...(commit === undefined ? {} : { commit }) }
      onLoad(lastLoad, loaded)
    },
    onFailed: (diagnostics, revision) => {
      const lastLoad = { ok: false, at: now(), diagnostics, ...(revision === undefined ? {} : { revision }) }
      status = { ...status, lastLoad }
      onLoad(lastLoad, undefined)
    },
    onWithdrawn: (newer) => {
      if (newer.digest === snapshot?.withdrawal?.digest) return
      snapshot = whole?.without(newer)
      if (snapshot?.withdrawal) onWithdrawn(snapshot.withdrawal)
    },
  })
  return {
    current: () => snapshot,
    status: () => status,
    trial: (texts) => load(new AbortController().signal, texts),
    ready: watch.ready,
    close: () => watch.close(),
  }
}
