import type { FastifyReply, FastifyRequest } from 'fastify'

/** `__Host-`: only this host can have set it, over a secure connection, for all paths (RFC 6265bis section 4.1.3.2). */
export const SESSION_COOKIE = '__Host-countersign'

/**
 * The value of a cookie; undefined when the cookie is missing or present twice, because another site may have set one
 * of the two.
 */
export function cookieOf(request: FastifyRequest, name: string): string | undefined {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const values = pairs.filter((pair) => pair.startsWith(`${name}=`))
  return values.length === 1 ? values[0]?.slice(name.length + 1) : undefined
}

export interface CookieForm {
  /**
   * `Strict`: browsers never send the cookie with requests from another site. `Lax`: browsers send the cookie when a
   * person follows a link from another site.
   */
  readonly sameSite: 'Strict' | 'Lax'
  /** Absent when the cookie lasts until the browser closes. */
  readonly maxAgeSeconds?: number
}

export function setCookie(
  reply: FastifyReply,
  name: string,
  value: string,
  { sameSite, maxAgeSeconds }: CookieForm,
): void {
  const age = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`
  reply.header('set-cookie', `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=${sameSite}${age}`)
}

export function clearCookie(reply: FastifyReply, name: string, sameSite: CookieForm['sameSite']): void {
  setCookie(reply, name, '', { sameSite, maxAgeSeconds: 0 })
}
