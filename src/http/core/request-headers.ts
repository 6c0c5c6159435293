import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { RequestHeader } from '../../contract/operation.ts'
import type { Place } from '../../gateway/review/stream.ts'
import { countOf } from '../wire/strict-json.ts'

/** Parsers for the headers that an operation lists. An invalid value throws a GatewayError `invalid_request`. */
export const REQUEST_HEADERS = {
  idempotencyKey: idempotencyKeyOf,
  wait: waitOf,
  ifMatch: ifMatchOf,
  lastEventId: lastEventIdOf,
} as const satisfies Partial<Record<RequestHeader, (request: FastifyRequest) => unknown>>

export type HeaderValues = {
  readonly [Name in keyof typeof REQUEST_HEADERS]: ReturnType<(typeof REQUEST_HEADERS)[Name]>
}

function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  const fits = typeof key === 'string' && key.length <= LIMITS.IDEMPOTENCY_KEY_CHARS && /^[!-~]+$/.test(key)
  if (fits && countOf(request, 'idempotency-key') === 1) return key
  throw new GatewayError('invalid_request', 'Idempotency-Key must be 1 to 255 visible ASCII characters, once')
}

/**
 * Reads one strong tag (RFC 9110 section 13.1.1), the digest of a shown revision. `*` is refused, because it does not
 * name a revision that a person looked at.
 */
function ifMatchOf({ headers }: FastifyRequest): string | undefined {
  const header = headers['if-match']
  return /^"([^"]*)"$/.exec(header?.trim() ?? '')?.[1] ?? header
}

const EVENT_ID = /^(\d{1,15})(?:-([\w.-]{1,128}))?$/

/** The id in the format of `idOf` in src/http/operations/stream.ts, or only a number. */
function lastEventIdOf({ headers }: FastifyRequest): Place | undefined {
  const header = headers['last-event-id']
  if (header === undefined) return undefined
  const found = typeof header === 'string' ? EVENT_ID.exec(header) : null
  if (found) return { number: Number(found[1]), commitId: found[2] }
  throw new GatewayError('invalid_request', 'Last-Event-ID was not issued by this gateway')
}

/** Elements of a list (RFC 9110 section 5.6.1). A comma in a quoted string is not a separator. */
const ELEMENT = /(?:"(?:[^"\\]|\\[^])*(?:"|$)|[^,"])+/g
const IS_WAIT = /^wait(?=[\s=;]|$)/i
const WAIT = /^wait\s*=\s*(?:"(\d{1,15})"|(\d{1,15}))\s*(?:;|$)/i

/** Seconds in the first `Prefer: wait=N` (RFC 7240 section 4.3), up to a maximum. An invalid preference is ignored. */
export function waitOf(request: FastifyRequest): number {
  const prefer = request.headers['prefer']
  const text = Array.isArray(prefer) ? prefer.join(',') : (prefer ?? '')
  const elements = text.match(ELEMENT) ?? []
  const first = elements.map((element) => element.trim()).find((element) => IS_WAIT.test(element))
  const [, quoted, plain] = WAIT.exec(first ?? '') ?? []
  return Math.min(Number(quoted ?? plain ?? 0), LIMITS.WAIT_SECONDS)
}
