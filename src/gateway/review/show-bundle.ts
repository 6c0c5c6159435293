import { GatewayError } from '../../contract/errors.ts'
import type { BundleTexts } from '../../contract/reviewer.ts'
import { reviewerEntry } from '../auth/standing.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'

/** Largest bundle that a page of the playground opens, in characters. */
const MOST_CHARACTERS = 1024 * 1024

/**
 * The files of the bundle in force, for the playground.
 *
 * @throws GatewayError `not_found` for a bundle with other tenants, and for a larger bundle
 */
export function showBundle(deps: Deps, caller: Caller): BundleTexts {
  const snapshot = deps.policies.current()
  reviewerEntry(snapshot, caller)
  const files = snapshot?.textsOf(caller.tenant)
  const length = files?.reduce((sum, { text }) => sum + text.length, 0) ?? Infinity
  if (snapshot === undefined || files === undefined || length > MOST_CHARACTERS)
    throw new GatewayError('not_found', 'the bundle has other tenants, or more than 1,048,576 characters')
  return { revision: snapshot.revision, files: files.map(({ path, text }) => ({ path, text })) }
}
