import type { FastifyRequest } from 'fastify'
import { LIMITS } from '../../contract/limits.ts'

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
