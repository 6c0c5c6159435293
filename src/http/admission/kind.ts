import type { IncomingMessage } from 'node:http'
import type { Operation, RequestKind } from '../../contract/operation.ts'
import { OPERATIONS } from '../../contract/operations/operations.ts'

/** Matches an escape in one of the first two segments of a path, because the router decodes `%61gent` to `agent`. */
const DISGUISED = /^\/(?:[^/?]*\/)?[^/?]*%/

/**
 * Paths of agents up to the first parameter, and paths of probes, from the table of operations. All other paths are
 * used by people.
 */
const KINDS = new Map(
  Object.values<Operation>(OPERATIONS).flatMap(({ path, admission }) =>
    admission === undefined ? [] : [[path.replace(/\{.*/, ''), admission] as const],
  ),
)
const AGENT = '/api/agent/'

/**
 * The kind of a request, from its target before routing; none for probes, which are always answered. Requests for
 * unknown agent paths will be refused after admission. Until then, such requests wait with proposals.
 */
export function kindOf(url: string): RequestKind | 'none' {
  if (!url.startsWith(AGENT)) return KINDS.get(url) ?? (DISGUISED.test(url) ? 'propose' : 'people')
  for (const [path, kind] of KINDS) if (url.startsWith(path)) return kind
  return 'propose'
}

/** The length of the body from the header; `most` when its length is unknown. */
export function bodyBytesOf({ headers }: IncomingMessage, most: number): number {
  if (headers['transfer-encoding'] !== undefined) return most
  const length = Number(headers['content-length'] ?? 0)
  return length >= 0 && length < most ? length : most
}
