import type { FastifyRequest } from 'fastify'
import { LIMITS } from '../contract/limits.ts'

/** `Prefer: wait=N` (RFC 7240 section 4.3), capped; a preference that cannot be read is ignored, as that standard says. */
export function waitOf(request: FastifyRequest): { seconds: number } {
  const prefer = request.headers['prefer']
  const text = Array.isArray(prefer) ? prefer.join(',') : (prefer ?? '')
  const match = /(?:^|,)\s*wait\s*=\s*"?(\d{1,15})"?\s*(?:;[^,]*)?(?=,|$)/i.exec(text)
  return { seconds: Math.min(Number(match?.[1] ?? 0), LIMITS.WAIT_SECONDS) }
}
