import type { Logger } from 'pino'
import type { Config } from '../settings/config.ts'
import type { LoadNotes } from '../gateway/admin/policy-load-queue.ts'
import type { FeedOptions, LoadReport, PolicyFeed } from '../policy/bundle/feed.ts'
import { loadBundleInChild } from '../policy/bundle/host.ts'
import type { LoadResult } from '../policy/bundle/load.ts'
import type { BundleChild } from '../policy/bundle/start.ts'
import { type Withdrawal, withdrawalText } from '../policy/language/snapshot.ts'
import { createPayloadChecks } from '../policy/schema/payload.ts'
import type { Metrics } from '../telemetry/count/metrics.ts'

export interface BundleLoaders {
  /** Loads the policy bundle. The default loads it in a child process. */
  readonly loadPolicies?: (dir: string, texts?: Parameters<FeedOptions['load']>[1]) => Promise<LoadResult>
  /** The child process of the first load, when it was started ahead. */
  readonly bundleChild?: BundleChild
}

export function loaderOf(
  {
    policies,
    policiesRevision: commit,
    policiesLoad: timeoutMs,
  }: Pick<Config, 'policies' | 'policiesRevision' | 'policiesLoad'>,
  { loadPolicies, bundleChild }: BundleLoaders,
): FeedOptions['load'] {
  const named = (result: LoadResult): LoadResult =>
    result.ok && commit !== undefined
      ? { ...result, snapshot: Object.assign(result.snapshot, { commit }) }
      : result
  if (loadPolicies) return async (_, texts) => named(await loadPolicies(policies, texts))
  const checks = createPayloadChecks()
  let started = bundleChild
  return async (signal, texts) => {
    const first = started
    started = undefined
    return named(await loadBundleInChild(policies, { checks, started: first, signal, texts, timeoutMs }))
  }
}

/** Listeners to loads of the bundle. */
export interface LoadListeners {
  readonly loads: Pick<LoadNotes, 'add'>
  readonly metrics: Pick<Metrics, 'observeLoad' | 'observeWithdrawal'>
  readonly policies: Pick<PolicyFeed, 'current'>
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

/** Maximum number of errors from one failed load in the log and in evidence. */
const MOST_ERRORS = 20

/**
 * Counts every load. Writes a successful load to the log and to evidence, and a failed load only when its errors are
 * new. The gateway tries an unreadable directory again every few seconds.
 */
export function noteLoads(
  { policies: directory }: Pick<Config, 'policies'>,
  { loads, metrics, policies, log }: LoadListeners,
): (report: LoadReport) => void {
  let wrong: string | undefined
  return (report) => {
    const { ok, revision, diagnostics } = report
    const snapshot = policies.current()
    metrics.observeLoad({ ok, atSeconds: report.at / 1000, bundle: snapshot })
    const named = revision === undefined ? {} : { revision }
    if (ok) {
      wrong = undefined
      log.info({ revision, warnings: diagnostics.length }, 'policies loaded')
      const facts = snapshot ? { files: snapshot.files.length, rules: snapshot.ruleCount } : {}
      const label = snapshot?.commit === undefined ? {} : { commit: snapshot.commit }
      loads.add({ ok, ...named, ...label, ...facts })
      return
    }
    const places = placesOf(report)
    const now = JSON.stringify([revision, places])
    if (now === wrong) return
    wrong = now
    const errors = places.slice(0, MOST_ERRORS)
    log.error({ revision, policies: directory, errors }, `policies not loaded: ${inForceStill(snapshot)}`)
    loads.add({ ok, ...named, errors })
  }
}

/** Counts a withdrawal, and writes it to the log and to evidence. */
export function noteWithdrawal(withdrawal: Withdrawal, { loads, metrics, log }: LoadListeners): void {
  const { digest, whole, reviewers, agents } = withdrawal
  const { revision } = whole
  metrics.observeWithdrawal({ reviewers: reviewers.withdrawn, agents: agents.withdrawn })
  log.warn({ revision, directory: digest }, withdrawalText({ revision, withdrawal }))
  loads.add({
    ok: true,
    revision,
    withdrawal: { directory: digest, reviewers: reviewers.withdrawn, agents: agents.withdrawn },
  })
}

function placesOf({ diagnostics }: LoadReport): string[] {
  const errors = diagnostics.filter(({ severity }) => severity === 'error')
  return errors.map(
    ({ file, line, column, code, message }) => `${file}:${line}:${column} ${code}: ${message}`,
  )
}

function inForceStill(snapshot: object | undefined): string {
  return snapshot
    ? 'the last good bundle stays in force'
    : 'no bundle is in force, and every call is rejected'
}
