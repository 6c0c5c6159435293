import type { IncomingMessage } from 'node:http'

export const KINDS = ['propose', 'follow', 'people'] as const
/** Agents ask (`propose`) and follow up what they asked (`follow`); people and administrators have places of their own. */
export type Kind = (typeof KINDS)[number]

/** An escape in one of the first two parts of a path: the router takes `%61gent` for `agent`. */
const DISGUISED = /^\/(?:[^/?]*\/)?[^/?]*%/

/** Behind `/api/agent/`: what agents ask about calls that they have proposed. */
const FOLLOWS = ['decisions', 'approvals/', 'threads/']

/** The kind of the request for this target; undefined for probes: health is answered whatever comes. */
export function kindOf(url: string): Kind | undefined {
  if (url.startsWith('/api/agent/')) {
    return FOLLOWS.some((path) => url.startsWith(path, 11)) ? 'follow' : 'propose'
  }
  if (url === '/livez' || url === '/readyz') return undefined
  return DISGUISED.test(url) ? 'propose' : 'people'
}

/** The body is as long as the header says; one of unknown length may become as long as they come. */
export function bodyBytesOf({ headers }: IncomingMessage, most: number): number {
  if (headers['transfer-encoding'] !== undefined) return most
  const length = Number(headers['content-length'] ?? 0)
  return length >= 0 && length < most ? length : most
}
