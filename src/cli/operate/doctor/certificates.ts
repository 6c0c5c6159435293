import { isIP } from 'node:net'
import { connect } from 'node:tls'
import type { Config } from '../../../settings/config.ts'
import {} from '../../../settings/config.ts'
import { error, type Finding, ok, warning } from './finding.ts'

const CONNECT_MS = 3_000
const DAY_MS = 24 * 3_600_000
const SOON_DAYS = 21
/** The address that people use, which may be unreachable from the gateway. */
const FRONT = 'public_url'

/** Checks the certificates of the public address, and of the servers that the gateway calls. */
export async function lookAtCertificates(config: Config): Promise<Finding[]> {
  return Promise.all(peersOf(config).map(({ what, host, port }) => lookAt(what, host, port)))
}

interface Peer {
  readonly what: string
  readonly host: string
  readonly port: number
}

function peersOf(config: Config): Peer[] {
  const { publicUrl, otlpEndpoint, oidcIssuer } = config
  const urls = { [FRONT]: publicUrl, otlp_endpoint: otlpEndpoint, oidc_issuer: oidcIssuer }
  const fromUrls = Object.entries(urls).flatMap(([what, text]) => {
    if (text?.startsWith('https:') !== true) return []
    const { hostname: host, port } = new URL(text)
    return [{ what, host: host.replace(/^\[|\]$/g, ''), port: Number(port || 443) }]
  })
  if (config.store.kind === 'embedded') return fromUrls
  const { tls, hosts } = config.store.address
  return [...fromUrls, ...(tls ? hosts.map((host) => ({ what: 'Redis', ...host })) : [])]
}

function lookAt(what: string, host: string, port: number): Promise<Finding> {
  const name = `${what} (${host}:${port})`
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      rejectUnauthorized: false,
    })
    const end = (finding: Finding): void => {
      socket.destroy()
      resolve(finding)
    }
    socket.setTimeout(CONNECT_MS, () => end(unreachable(what, name, 'no answer')))
    socket.once('error', ({ message }) => end(unreachable(what, name, message)))
    socket.once('secureConnect', () => {
      const { authorizationError, authorized } = socket
      if (!authorized) end(untrusted(name, String(authorizationError)))
      else end(certificateFinding(name, new Date(socket.getPeerCertificate().valid_to)))
    })
  })
}

const unreachable = (what: string, name: string, why: string): Finding =>
  warning(
    'certificates',
    `${name} cannot be reached by TLS from this machine: ${why}`,
    what === FRONT ? 'test it from where users connect' : 'the gateway itself must reach it',
  )

const untrusted = (name: string, why: string): Finding =>
  error(
    'certificates',
    `the certificate of ${name} is not accepted: ${why}`,
    'renew it, or name its authority in NODE_EXTRA_CA_CERTS',
  )

export function certificateFinding(name: string, until: Date, now = Date.now()): Finding {
  const days = Math.floor((until.getTime() - now) / DAY_MS)
  if (days < 0) return error('certificates', `${name}: expired on ${until.toISOString()}`, 'renew it')
  if (days < SOON_DAYS) return warning('certificates', `${name}: expires in ${days} days`, 'renew it')
  return ok('certificates', `${name}: valid for ${days} days`)
}
