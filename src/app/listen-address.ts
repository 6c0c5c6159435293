import { createServer } from 'node:net'

const ALL_OF_BOTH = '::'
const ALL_OF_IPV4 = '0.0.0.0'
/** Errors of a system without IPv6. */
const NO_IPV6 = ['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL']

/** Returns the address to listen on: `0.0.0.0` for `::` on a machine without IPv6, any other host unchanged. */
export async function listenAddress(host: string, tryToListen = listenOnce): Promise<string> {
  if (host !== ALL_OF_BOTH) return host
  const code = await tryToListen(host)
  return code !== undefined && NO_IPV6.includes(code) ? ALL_OF_IPV4 : host
}

/** Tries to listen. Returns the code of the error, or undefined. */
function listenOnce(host: string): Promise<string | undefined> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
    server.listen(0, host, () => server.close(() => resolve(undefined)))
  })
}

/**
 * Returns the address to which a program on this machine connects. Programs cannot connect to a wildcard address, which
 * is only for listening.
 */
export const addressToAsk = (host: string): string =>
  [ALL_OF_BOTH, ALL_OF_IPV4].includes(host) ? '127.0.0.1' : host

export const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host)
