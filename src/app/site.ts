import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { isLoopback, keepsCookies, type Site, siteOf } from '../http/core/same-origin.ts'
import type { Config } from '../settings/settings.ts'

/** The site. The address has the configured port until the server listens, because the timer may need it earlier. */
export function siteOfServer({ publicUrl, host, port }: Config, server: () => FastifyInstance): () => Site {
  let known: Site | undefined
  return () => {
    if (known) return known
    const address = server().server.address() as AddressInfo | null
    const site = siteOf(publicUrl, host, address?.port ?? port)
    if (address) known = site
    return site
  }
}

/** Logs settings that would keep people from signing in, before the first person tries. */
export function warnOfSite({ host, publicUrl }: Config, site: Site, log: Logger): void {
  const { url } = site
  if (publicUrl === undefined && !isLoopback(host))
    log.warn({ url }, 'public_url is not set: people can sign in from this machine only')
  else if (!keepsCookies(site))
    log.warn({ url }, 'browsers keep no session without https: people cannot sign in to the console')
}
