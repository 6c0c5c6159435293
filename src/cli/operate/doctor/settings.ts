import { listenAddress } from '../../../app/listen-address.ts'
import { createServer } from 'node:net'
import { type Config, type LoadedConfig } from '../../../settings/config.ts'
import { error, type Finding, ok, warning } from './finding.ts'

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/
const OLDEST_NODE = [20, 19] as const
/** Node's HTTP parser since 20.19.2. */
const STRICT_PARSER = 9

export const isLoopback = (host: string): boolean => LOOPBACK.test(host)

export function lookAtNode({
  node,
  llhttp = '',
}: {
  readonly node: string
  readonly llhttp?: string
}): Finding {
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const [oldest, least] = OLDEST_NODE
  if (major < oldest || (major === oldest && minor < least))
    return error('node', `Node.js ${node} is too old`, `install ${OLDEST_NODE.join('.')} or later`)
  if (Number.parseInt(llhttp) < STRICT_PARSER)
    return warning(
      'node',
      `Node.js ${node} accepts chunks that RFC 9112 forbids (llhttp ${llhttp}), and a proxy may interpret them differently`,
      'install 20.19.2 or later',
    )
  return ok('node', `Node.js ${node}`)
}

export function lookAtConfig({
  origins,
  unknown,
  withoutEffect,
}: Pick<LoadedConfig, 'origins' | 'unknown' | 'withoutEffect'>): Finding[] {
  const from = (origin: string): number => Object.values(origins).filter((one) => one === origin).length
  const set = `${from('flag')} by flag, ${from('environment')} by environment, ${from('file')} by file`
  const ignored = unknown.map((variable) =>
    warning(
      'config',
      `${variable} is not a setting and is ignored`,
      'remove it, or find the intended setting in `countersign config`',
    ),
  )
  const without = withoutEffect.map(({ name, counts }) =>
    warning(
      'config',
      `${name} has no effect: it applies only ${counts}`,
      'remove it, or set the setting that it needs',
    ),
  )
  return [ok('config', `settings: ${set}; \`countersign config\` prints them`), ...ignored, ...without]
}

const isFar = (host: string): boolean => !isLoopback(host)
const isOpenHttp = (url = ''): boolean => url.startsWith('http:') && isFar(new URL(url).hostname)
const isRedis = ({ store }: Config): boolean => store.kind !== 'embedded'
const redisIsOpen = ({ store }: Config): boolean =>
  store.kind !== 'embedded' && !store.address.tls && store.address.hosts.some(({ host }) => isFar(host))

/** Valid settings that conflict with each other, or with production. */
const COMBINATIONS: readonly ((config: Config) => Finding | false)[] = [
  ({ host, publicUrl }) =>
    publicUrl === undefined &&
    isFar(host) &&
    warning(
      'address',
      `it listens on ${host} and public_url is not set: people can sign in from this machine only`,
      'set COUNTERSIGN_PUBLIC_URL to the https address that people type',
    ),
  ({ publicUrl }) =>
    isOpenHttp(publicUrl) &&
    error(
      'address',
      'public_url is not https: browsers keep no session, and keys are sent unencrypted',
      'add a proxy with TLS, and set the https address',
    ),
  ({ host }) =>
    isFar(host) &&
    warning('address', `it listens on ${host} without TLS of its own`, 'let only a proxy with TLS reach it'),
  ({ metricsHost }) =>
    isFar(metricsHost) &&
    warning(
      'address',
      `metrics are readable on ${metricsHost}: they name tools and rules`,
      'let only Prometheus reach that port',
    ),
  (config) =>
    redisIsOpen(config) && warning('store', 'Redis is on another machine and not encrypted', 'use rediss://'),
  (config) =>
    isRedis(config) &&
    config.durability === 'async' &&
    warning(
      'store',
      'durability=async: a power cut may lose the last seconds, of evidence and redemptions',
      'set appendfsync always, or let replicas confirm',
    ),
  (config) =>
    isRedis(config) &&
    config.storeAccept !== undefined &&
    warning(
      'store',
      `store_accept=${config.storeAccept.join(',')}`,
      'fix the settings of Redis, and remove it',
    ),
  ({ webhooksAllow }) =>
    webhooksAllow !== undefined &&
    warning(
      'webhooks',
      `webhooks may go to ${webhooksAllow.map(({ text }) => text).join(', ')}, which is not public`,
      'remove COUNTERSIGN_WEBHOOKS_ALLOW in production',
    ),
  ({ logLevel }) =>
    ['trace', 'debug'].includes(logLevel) &&
    warning('log', `log_level=${logLevel} logs every decision`, 'use info'),
  ({ otlpEndpoint }) =>
    isOpenHttp(otlpEndpoint) &&
    warning(
      'traces',
      'spans go to another machine and are not encrypted',
      'use an https address, or a collector on this machine',
    ),
]

export const lookAtCombinations = (config: Config): Finding[] =>
  COMBINATIONS.map((look) => look(config)).filter((finding) => finding !== false)

/** Checks that no other program uses the ports of a gateway that does not run. */
export async function lookAtPorts({ host, port, metricsHost, metricsPort }: Config): Promise<Finding[]> {
  const ports = [
    { name: 'port', host, port },
    { name: 'metrics_port', host: metricsHost, port: metricsPort },
  ]
  const found = await Promise.all(
    ports.map(async (one) => lookAtPort({ ...one, host: await listenAddress(one.host) })),
  )
  return found.flat()
}

function lookAtPort({ name, host, port }: { name: string; host: string; port: number }): Promise<Finding[]> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', ({ code, message }: NodeJS.ErrnoException) => {
      const why = code === 'EADDRINUSE' ? 'another process uses it' : message
      resolve([
        error(
          'ports',
          `${name} ${host}:${port}: ${why}`,
          `end the process that listens there, or choose another ${name}`,
        ),
      ])
    })
    server.listen(port, host, () => server.close(() => resolve([])))
  })
}
