import { createServer } from 'node:net'

const ALL_OF_BOTH = '::'
const ALL_OF_IPV4 = '0.0.0.0'
/** Errors of a system without IPv6. */
const NO_IPV6 = ['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL']

/** `::` takes connections of both families. On a machine without IPv6 it means all addresses of IPv4. */
export async function listenAddress(host: string, tryToListen = listenOnce): Promise<string> {
  if (host !== ALL_OF_BOTH) return host
  const code = await tryToListen(host)
  return code !== undefined && NO_IPV6.includes(code) ? ALL_OF_IPV4 : host
}

/** The code of the error, if there is one. */
function listenOnce(host: string): Promise<string | undefined> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
    server.listen(0, host, () => server.close(() => resolve(undefined)))
  })
}

/** The address that a program on this machine connects to: a wildcard is only for listening. */
export const addressToAsk = (host: string): string =>
  [ALL_OF_BOTH, ALL_OF_IPV4].includes(host) ? '127.0.0.1' : host

export const hostInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host)
