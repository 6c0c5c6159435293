import type { Logger } from 'pino'
import type { Observation } from '../../gateway/core/deps.ts'
import { seldom } from './throttle.ts'

/** Logs commits that the store refuses because its clock is behind: once a minute for each tenant. */
export function behindNotes(
  log: Pick<Logger, 'error'>,
  now?: () => number,
): (commit: Extract<Observation, { kind: 'commit' }>) => void {
  let behindMs = 0
  const say = seldom((tenant, untold) => {
    const facts = { tenant, behind_seconds: behindMs / 1_000, untold }
    log.error(
      facts,
      "the store's clock is behind the last write of this tenant: its commits are refused until it has caught up",
    )
  }, now)
  return ({ tenant, result }) => {
    if (result === undefined || result.ok || result.reason !== 'late' || result.behindMs === undefined) return
    behindMs = result.behindMs
    say(tenant)
  }
}
