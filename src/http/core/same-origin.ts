import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import { countOf } from '../wire/strict-json.ts'

/**
 * The address at which people reach this gateway. The address never comes from a request, because clients choose the
 * Host header.
 */
export interface Site {
  /** The origin of the gateway's pages, without a final slash, such as `https://countersign.example`. */
  readonly url: string
}

/** Names under which programs on the same machine reach a listener. */
const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']
const ANY_ADDRESS = ['0.0.0.0', '::', '[::]']

/** The site of the listener at `host` and `port`, unless the operator has set `publicUrl`. */
export function siteOf(publicUrl: string | undefined, host: string, port: number): Site {
  if (publicUrl !== undefined) return { url: new URL(publicUrl).origin }
  // the zone of a link-local address (`fe80::1%eth0`) is this machine's own name for a network; URLs may not contain it
  const bare = host.replace(/%.*$/, '')
  const name = bare.includes(':') && !bare.startsWith('[') ? `[${bare}]` : bare
  return { url: new URL(`http://${ANY_ADDRESS.includes(host) ? LOOPBACK[0] : name}:${port}`).origin }
}

/** True when `host`, from a URL or a listener, is this machine itself. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.includes(host) || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** True when browsers keep a `__Host-` cookie, because the connection is secure or cannot leave the machine. */
export function keepsCookies({ url }: Site): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || isLoopback(hostname)
}

/** The URL of a one-time link. The token is in the fragment, which browsers never send. */
export const linkUrl = (site: Site, token: string): string => `${site.url}/console/#/sign-in/${token}`

/** The page of the console that shows a thread. */
export const threadUrl = (site: Site, thread: string): string => `${site.url}/console/#/thread/${thread}`

/**
 * The address to use for a page that was opened at `localhost`. Every server on this machine shares that name and
 * receives cookies for it. The result is undefined for a page that is already at this address, or at another name or
 * port.
 */
export function rightPlace({ url }: Site, host = ''): string | undefined {
  const ours = new URL(url)
  if (!LOOPBACK.includes(ours.hostname)) return undefined
  const others = LOOPBACK.filter((name) => name !== ours.hostname)
  const hosts = others.map((name) => new URL(`${ours.protocol}//${name}:${ours.port}`).host)
  return hosts.includes(host.toLowerCase()) ? url : undefined
}

const SAFE = ['GET', 'HEAD', 'OPTIONS']

/**
 * Refuses a request from a foreign page that uses or sets a cookie, because browsers attach cookies to requests from
 * every page. A write must prove its origin (Origin, and Sec-Fetch-Site where the browser sends it). A read is refused
 * when the browser reports a foreign page, except for navigation by a person.
 *
 * @throws GatewayError `foreign_origin`
 */
export function requireSameOrigin(request: FastifyRequest, site: Site): void {
  const ours = SAFE.includes(request.method) ? mayRead(request, site) : mayChange(request, site)
  if (!ours)
    throw new GatewayError(
      'foreign_origin',
      'the request did not come from a page of this gateway; sign in there',
    )
}

function mayChange(request: FastifyRequest, site: Site): boolean {
  const { origin, 'sec-fetch-site': from } = request.headers
  if (countOf(request, 'origin') !== 1 || origin !== site.url) return false
  return from === undefined || from === 'same-origin'
}

function mayRead(request: FastifyRequest, site: Site): boolean {
  const { origin, 'sec-fetch-site': from, 'sec-fetch-mode': mode } = request.headers
  if (origin !== undefined && origin !== site.url) return false
  return from === undefined || from === 'same-origin' || from === 'none' || mode === 'navigate'
}
