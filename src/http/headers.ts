import type { FastifyRequest } from 'fastify'
import { LIMITS } from '../contract/limits.ts'

/** `Prefer: wait=N` (RFC 7240 section 4.3), capped; a preference that cannot be read is ignored, as that standard says. */
export function waitOf(request: FastifyRequest): { seconds: number } {
  const prefer = request.headers['prefer']
  const text = Array.isArray(prefer) ? prefer.join(',') : (prefer ?? '')
  const match = /(?:^|,)\s*wait\s*=\s*"?(\d{1,15})"?\s*(?:;[^,]*)?(?=,|$)/i.exec(text)
  return { seconds: Math.min(Number(match?.[1] ?? 0), LIMITS.WAIT_SECONDS) }
}

/** W3C Trace Context version 00; anything else is dropped. */
export function traceparentOf(request: FastifyRequest): string | undefined {
  const value = request.headers['traceparent']
  return typeof value === 'string' && /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(value)
    ? value
    : undefined
}
