import { GatewayError } from '../../contract/errors.ts'
import type { Directory, Snapshot } from '../../policy/language/snapshot.ts'

const RETRY_AFTER_SECONDS = 5

/** The error while no policy is in force. */
export function notReady(detail: string): GatewayError {
  return new GatewayError('not_ready', detail, { retryAfter: RETRY_AFTER_SECONDS })
}

/**
 * The directory in force.
 *
 * @throws GatewayError `not_ready` while no bundle is in force
 */
export function requireDirectory(snapshot: Snapshot | undefined): Directory {
  if (snapshot) return snapshot.directory
  throw notReady('no policy is in force, so no reviewer is known here yet')
}
