import type { Logger } from 'pino'
import type { Config } from '../settings/config.ts'
import type { LoadNotes } from '../gateway/admin/policy-load-queue.ts'
import type { LoadReport, PolicyFeed } from '../policy/bundle/feed.ts'
import { type Withdrawal, withdrawalText } from '../policy/language/snapshot.ts'
import type { Metrics } from '../telemetry/count/metrics.ts'

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
