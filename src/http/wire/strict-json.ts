import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import type { JsonValue } from '../../contract/json.ts'
import { LIMITS } from '../../contract/limits.ts'
import { parseRequest } from '../../contract/strict-json.ts'

/** Whitespace consists only of spaces and tabs (RFC 9110 section 5.6.3). */
const MEDIA_TYPE = /^application\/json[ \t]*(?:;[ \t]*(?:charset[ \t]*=[ \t]*(?:"utf-8"|utf-8)[ \t]*)?)*$/i

/** Fastify remembers the parser of a named type. It parses the media type of every other request. */
const ANY_TYPE = ['application/json', '*']

/**
 * Accepts only `application/json` in UTF-8 without encoding, after the strict scan. All other bodies are refused with
 * 415 or 400.
 */
export function acceptStrictJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(ANY_TYPE, { parseAs: 'buffer' }, (request, body, done) => {
    try {
      checkMediaType(request)
      const parsed = parseRequest(body as Buffer, { longTextsIn: 'payload' })
      afterATurn(body as Buffer, () => done(null, parsed))
    } catch (error) {
      done(error as Error, undefined)
    }
  })
}

/**
 * Parses bodies for the route that answers 200 to any body. A body that is not strict JSON arrives as undefined. The
 * limit leaves room for a payload of maximum size and the members around it.
 */
export function acceptAnything(app: FastifyInstance, bodyBytes: number): void {
  app.removeAllContentTypeParsers()
  const bodyLimit = bodyBytes + LIMITS.PROOF_BYTES
  app.addContentTypeParser(ANY_TYPE, { parseAs: 'buffer', bodyLimit }, (request, body, done) => {
    const read = parsed(request, body as Buffer)
    afterATurn(body as Buffer, () => done(null, read))
  })
}

/** Parsing and judging a body of 256 KiB each take a few ms. */
const LARGE_BYTES = 32 * 1024

/**
 * Gives the work after a large body a separate turn of the event loop, so that no other request waits for both steps.
 */
function afterATurn({ length }: Buffer, follow: () => void): void {
  if (length > LARGE_BYTES) setImmediate(follow)
  else follow()
}

/** Members of a proof that a proposal does not have. */
const PROOF_MEMBERS = 8

function parsed(request: FastifyRequest, body: Buffer): JsonValue | undefined {
  try {
    checkMediaType(request)
    return parseRequest(body, { spare: PROOF_MEMBERS, longTextsIn: 'request_payload' })
  } catch {
    return undefined
  }
}

function checkMediaType(request: FastifyRequest): void {
  const { 'content-type': type, 'content-encoding': encoding } = request.headers
  if (type === undefined || !MEDIA_TYPE.test(type) || countOf(request, 'content-type') > 1) {
    throw new GatewayError('unsupported_media_type', 'send application/json; charset=utf-8')
  }
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new GatewayError('unsupported_media_type', 'send the body without Content-Encoding')
  }
}

/** The number of occurrences of a header in the request, because Node keeps only the first of some headers. */
export function countOf({ raw }: { readonly raw: IncomingMessage }, header: string): number {
  const { rawHeaders } = raw
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === header.length && name.toLowerCase() === header) count++
  }
  return count
}
