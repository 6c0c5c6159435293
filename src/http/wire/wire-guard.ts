import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import { isSurplus } from './pipelining.ts'
import { countOf } from './strict-json.ts'

/** `uri-host [ ":" port ]` of RFC 9110 section 7.2: a literal address in brackets, or a name, which may be empty. */
const HOST = /^(?:\[[0-9a-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[0-9a-f]{2})*)(?::\d*)?$/i

export interface Acceptance {
  /** The target that the router receives. A refused request does not reach a route. */
  readonly targetOf: (request: IncomingMessage) => string
  readonly refusalOf: (request: IncomingMessage) => GatewayError | undefined
}

/** A target without a route. */
const NOWHERE = '/-/nowhere'

/** Checks each request once, before the router does. */
export function acceptRequests(): Acceptance {
  const refused = new WeakMap<IncomingMessage, GatewayError>()
  return {
    targetOf: (request) => {
      const target = request.url ?? ''
      const refusal = refusalOf(request)
      if (refusal !== undefined) refused.set(request, refusal)
      return refusal === undefined && isPlain(target) ? target : NOWHERE
    },
    refusalOf: (request) => refused.get(request),
  }
}

/** The reason for refusing a request on any route. The connection ends after the refusal. */
function refusalOf(request: IncomingMessage): GatewayError | undefined {
  if (isSurplus(request))
    return new GatewayError('rate_limited', 'too many requests wait on this connection for their turn')
  const why =
    unlikeTarget(request.url ?? '') ?? unlikeNames(request) ?? unlikeHost(request) ?? unlikeFraming(request)
  if (why !== undefined) return new GatewayError('invalid_request', why)
  const { expect } = request.headers
  if (expect === undefined || expect.trim().toLowerCase() === '100-continue') return undefined
  return new GatewayError('expectation_failed', 'send the request without this Expect header')
}

function unlikeTarget(target: string): string | undefined {
  if (target.length > LIMITS.TARGET_CHARS)
    return `the target of the request is longer than ${LIMITS.TARGET_CHARS} characters`
  if (!target.startsWith('/') || target.includes('#'))
    return 'the target of the request must be a path that begins with `/`, without host and fragment'
  return isEscaped(target)
    ? undefined
    : 'the target of the request has an invalid escape: write `%`, two hexadecimal digits, and UTF-8'
}

function isEscaped(target: string): boolean {
  try {
    return !target.includes('%') || decodeURIComponent(target) !== ''
  } catch {
    return false
  }
}

/**
 * Matches an escape of a character that needs no escape (RFC 3986 section 2.3): letters, digits and `-` `.` `_` `~`.
 */
const NEEDLESS_ESCAPE = /%(?:3[0-9]|[46][1-9a-f]|[57][0-9a]|2[de]|5f|7e)/i
/** Matches an empty segment, or a segment that names this folder or its parent. */
const ODD_SEGMENT = /\/(?:\.{0,2}\/|\.{1,2}$)/
/** The only two paths of the gateway whose last segment is empty. */
const ENDING_IN_SLASH: ReadonlySet<string> = new Set(['/', '/console/'])

/**
 * Returns whether the path has the only spelling that names a route. A proxy, a log or a rule may miss a second
 * spelling, so every other spelling gets 404.
 */
function isPlain(target: string): boolean {
  const [path = ''] = target.split('?', 1)
  if (NEEDLESS_ESCAPE.test(path) || ODD_SEGMENT.test(path)) return false
  return !path.endsWith('/') || ENDING_IN_SLASH.has(path)
}

/** A `token` of RFC 9110 section 5.6.2. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Parsers before llhttp 9 (Node 20.19.0 and 20.19.1) misread `Content-Length : 5`, which a proxy may accept. */
function unlikeNames({ rawHeaders }: IncomingMessage): string | undefined {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!NAME.test(rawHeaders[i] as string)) return 'the name of a header has invalid characters'
  }
  return undefined
}

/** Requires exactly one Host for HTTP/1.1, or at most one for 1.0, with a valid value (RFC 9112 section 3.2). */
function unlikeHost(request: IncomingMessage): string | undefined {
  const { httpVersion, headers } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'send the request as HTTP/1.1'
  const hosts = countOf({ raw: request }, 'host')
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) return 'send exactly one Host header'
  return HOST.test(headers.host ?? '')
    ? undefined
    : 'the Host header must be a name or an address, and a port'
}

/** Another coding beneath `chunked` would hide the body, and chunked HTTP/1.0 is faulty (RFC 9112 section 6.1). */
function unlikeFraming(request: IncomingMessage): string | undefined {
  const coding = request.headers['transfer-encoding']
  if (coding === undefined) return undefined
  return coding.toLowerCase() === 'chunked' && request.httpVersion === '1.1'
    ? undefined
    : 'the only Transfer-Encoding is `chunked`, once, in HTTP/1.1'
}
