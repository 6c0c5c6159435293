import type { CompiledSnapshot } from '../evaluate/compile.ts'
import type { Diagnostic } from '../report/diagnostics.ts'
import { watchBundle } from './watch.ts'
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
  readonly load: (signal: AbortSignal) => Promise<LoadResult>
  readonly now: () => number
  readonly rescanMs: number
  /** Receives the report of every load, after the snapshot was swapped. */
  readonly onLoad: (report: LoadReport, snapshot: CompiledSnapshot | undefined) => void
}

/** The active bundle: one pointer, which is swapped as a whole. A failed load does not change the active bundle. */
export interface PolicyFeed {
  current(): CompiledSnapshot | undefined
  status(): FeedStatus
  /** Resolves when the first load ends, even if it fails. */
  readonly ready: Promise<void>
  close(): Promise<void>
}

export function openPolicyFeed(dir: string, { load, now, rescanMs, onLoad }: FeedOptions): PolicyFeed {
  let snapshot: CompiledSnapshot | undefined
  let status: FeedStatus = {}
  const watch = watchBundle(dir, {
    load,
    rescanMs,
    onLoaded: (loaded) => {
      const { revision, commit, diagnostics } = loaded
      const lastLoad = { ok: true, at: now(), revision, diagnostics }
      snapshot = loaded
      status = { loadedAt: lastLoad.at, lastLoad, ...(commit === undefined ? {} : { commit }) }
      onLoad(lastLoad, loaded)
    },
    onFailed: (diagnostics, revision) => {
      const lastLoad = { ok: false, at: now(), diagnostics, ...(revision === undefined ? {} : { revision }) }
      status = { ...status, lastLoad }
      onLoad(lastLoad, undefined)
    },
  })
  return { current: () => snapshot, status: () => status, ready: watch.ready, close: () => watch.close() }
}
