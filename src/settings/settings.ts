/**
 * Holds: flags, variables, file and defaults, as one configuration.
 * Imports: contract, domain, outbound, policy, store.
 * Start: settings.ts, then config.ts.
 */
import { LIMITS } from '../contract/limits.ts'
import { ACCEPTABLE } from '../store/redis/settings.ts'
import { BUDGET_SETTINGS, type BudgetSettings } from './budgets.ts'

/** Every setting, in one table: config.ts says where its value comes from. */
export interface Config extends BudgetSettings {
  readonly host: string
  readonly port: number
  readonly store: string
  readonly storeUsername?: string
  readonly storePassword?: string
  readonly sentinelPassword?: string
  /** Replicas that must confirm each commit. */
  readonly storeReplicas: number
  readonly durability?: 'async'
  /** Unsafe settings of the server accepted by name, separated by commas. */
  readonly storeAccept?: string
  readonly policies: string
  /** Absent: generated and printed once when the store is new. */
  readonly adminKey?: string
  /** Ed25519 private key as PEM; absent: one that is made when the store is new, and lives in it. */
  readonly signingKey?: string
  /** Networks and ports that webhooks may go to although they are not public, as `127.0.0.1/32:8443`. */
  readonly webhooksAllow?: string
  readonly metricsHost: string
  readonly metricsPort: number
  readonly logLevel: string
  /** Where spans are sent by OTLP over HTTP; absent: nothing is recorded. */
  readonly otlpEndpoint?: string
  /** Largest request body in bytes. */
  readonly bodyLimit: number
  /** Longest time one store call may take, ms. */
  readonly storeDeadline: number
  /** Connections of one address on which no caller has proved who calls. */
  readonly connectionsPerAddress: number
  /** Networks of proxies whose connections are not counted. */
  readonly trustedProxies?: string
  /** Free space in bytes below which the embedded store refuses writes. */
  readonly storeMinFree: number
  /** Free space in bytes below which new calls are refused, and what waits goes on. */
  readonly storeNewCallsMinFree: number
  /** Time between two looks at the policy directory, ms. */
  readonly policyRescan: number
  /** Where people reach the gateway, as an origin; absent: where it listens. */
  readonly publicUrl?: string
  /** A session of the console ends when nothing was asked for so long, and in the end whatever happens; ms. */
  readonly sessionIdle: number
  readonly sessionLifetime: number
  /** The identity provider of the console. */
  readonly oidcIssuer?: string
  readonly oidcClientId?: string
  readonly oidcClientSecret?: string
  readonly oidcScopes: string
  /** The claim that says which reviewer it is. */
  readonly oidcReviewerClaim: string
  /** The claim that lists the groups, in place of the directory. */
  readonly oidcGroupsClaim?: string
  /** Where reviewers are looked for; absent: wherever exactly one is found. */
  readonly oidcTenant?: string
  /** Text of the button. */
  readonly oidcLabel?: string
}

export interface Setting {
  readonly key: keyof Config
  readonly type: 'string' | 'integer'
  readonly default?: string | number
  readonly minimum?: number
  readonly maximum?: number
  readonly oneOf?: readonly string[]
  readonly minLength?: number
  /** Callers send it in a header, which carries printable ASCII and loses spaces at either end (RFC 9110 section 5.5). */
  readonly sentInHeader?: boolean
  readonly secret?: boolean
  /** A variable that others have agreed on; it counts when ours is not set. */
  readonly standard?: string
  /** Where alone it says anything; absent: everywhere. */
  readonly countsWith?: Counterpart
  readonly help: string
}

/** What some settings are for. */
export type Counterpart = 'redis' | 'embedded' | 'oidc'

export const ADMIN_KEY_CHARS = 32
const PORT = { type: 'integer', minimum: 0, maximum: 65_535 } as const

/** One row per setting: the flag is `--admin-key`, the variable `COUNTERSIGN_ADMIN_KEY`, the key in the file `admin_key`. */
export const SETTINGS: readonly Setting[] = [
  { key: 'host', type: 'string', default: '127.0.0.1', help: 'address to listen on' },
  { key: 'port', ...PORT, default: 8787, help: 'port of the agent, review and admin API' },
  {
    key: 'store',
    type: 'string',
    default: 'file:./data',
    help: 'where state lives: file:<directory> or redis://host:port',
  },
  {
    key: 'storeUsername',
    type: 'string',
    countsWith: 'redis',
    help: 'user of Redis, when not in the address',
  },
  {
    key: 'storePassword',
    type: 'string',
    countsWith: 'redis',
    secret: true,
    help: 'password of Redis, when not in the address',
  },
  {
    key: 'sentinelPassword',
    type: 'string',
    countsWith: 'redis',
    secret: true,
    help: 'password of the sentinels',
  },
  {
    key: 'storeReplicas',
    type: 'integer',
    countsWith: 'redis',
    default: 0,
    minimum: 0,
    maximum: 16,
    help: 'replicas of Redis that must confirm each commit',
  },
  {
    key: 'durability',
    type: 'string',
    countsWith: 'redis',
    oneOf: ['async'],
    help: 'async: accept a Redis that may lose the last seconds',
  },
  {
    key: 'storeAccept',
    type: 'string',
    countsWith: 'redis',
    help: `unsafe settings of Redis accepted by name: ${ACCEPTABLE.join(', ')}`,
  },
  { key: 'policies', type: 'string', default: './policies', help: 'directory of the policy bundle' },
  {
    key: 'adminKey',
    type: 'string',
    minLength: ADMIN_KEY_CHARS,
    sentInHeader: true,
    secret: true,
    help: 'admin key; generated and printed once when absent and the store is new',
  },
  {
    key: 'signingKey',
    type: 'string',
    secret: true,
    help: 'Ed25519 key (PEM) that signs checkpoints of evidence; made and kept in the store when absent',
  },
  {
    key: 'webhooksAllow',
    type: 'string',
    help: 'networks and ports that webhooks may go to in development, as 127.0.0.1/32:8443',
  },
  { key: 'metricsHost', type: 'string', default: '127.0.0.1', help: 'address of the metrics listener' },
  { key: 'metricsPort', ...PORT, default: 9464, help: 'port of the metrics listener' },
  {
    key: 'logLevel',
    type: 'string',
    default: 'info',
    oneOf: ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    help: 'lowest level that is logged',
  },
  {
    key: 'otlpEndpoint',
    type: 'string',
    standard: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    help: 'collector that spans are sent to by OTLP over HTTP, such as http://127.0.0.1:4318',
  },
  {
    key: 'bodyLimit',
    type: 'integer',
    default: LIMITS.BODY_BYTES,
    minimum: 1_024,
    maximum: 16 * 1024 * 1024,
    help: 'largest request body in bytes',
  },
  {
    key: 'connectionsPerAddress',
    type: 'integer',
    default: 4_096,
    minimum: 1,
    help: 'connections of one address without an accepted credential',
  },
  {
    key: 'trustedProxies',
    type: 'string',
    help: 'networks of proxies whose connections are not counted by address, such as 10.0.0.0/8',
  },
  {
    key: 'storeDeadline',
    type: 'integer',
    default: LIMITS.STORE_DEADLINE_MS,
    minimum: 50,
    maximum: 60_000,
    help: 'longest time a store call may take, ms',
  },
  {
    key: 'storeMinFree',
    type: 'integer',
    countsWith: 'embedded',
    default: 64 * 1024 * 1024,
    minimum: 0,
    help: 'free disk space in bytes below which writes are refused',
  },
  {
    key: 'storeNewCallsMinFree',
    type: 'integer',
    countsWith: 'embedded',
    default: 256 * 1024 * 1024,
    minimum: 0,
    help: 'free disk space in bytes below which new calls are refused',
  },
  ...BUDGET_SETTINGS,
  {
    key: 'policyRescan',
    type: 'integer',
    default: 1_000,
    minimum: 100,
    maximum: 3_600_000,
    help: 'time between two looks at the policy directory, ms',
  },
  {
    key: 'publicUrl',
    type: 'string',
    help: 'where people reach the gateway, such as https://countersign.example',
  },
  {
    key: 'sessionIdle',
    type: 'integer',
    default: LIMITS.SESSION_IDLE_MS,
    minimum: 60_000,
    maximum: 24 * 3_600_000,
    help: 'a session of the console ends when nothing was asked for so long, ms',
  },
  {
    key: 'sessionLifetime',
    type: 'integer',
    default: LIMITS.SESSION_MS,
    minimum: 60_000,
    maximum: 7 * 24 * 3_600_000,
    help: 'a session of the console ends after so long, ms',
  },
  {
    key: 'oidcIssuer',
    type: 'string',
    help: 'identity provider of the console, such as https://login.example',
  },
  { key: 'oidcClientId', type: 'string', help: 'what the identity provider calls this gateway' },
  {
    key: 'oidcClientSecret',
    type: 'string',
    countsWith: 'oidc',
    secret: true,
    help: 'secret of the client; absent for a public client',
  },
  {
    key: 'oidcScopes',
    type: 'string',
    countsWith: 'oidc',
    default: 'openid email profile',
    help: 'scopes asked for, separated by spaces',
  },
  {
    key: 'oidcReviewerClaim',
    type: 'string',
    countsWith: 'oidc',
    default: 'email',
    help: 'claim that names the reviewer: email is compared with the email in directory.yaml, others with the id',
  },
  {
    key: 'oidcGroupsClaim',
    type: 'string',
    countsWith: 'oidc',
    help: 'claim that lists the groups of a reviewer, in place of directory.yaml',
  },
  {
    key: 'oidcTenant',
    type: 'string',
    countsWith: 'oidc',
    help: 'tenant of all who sign in; absent: the one that knows the reviewer',
  },
  {
    key: 'oidcLabel',
    type: 'string',
    countsWith: 'oidc',
    help: 'text of the button; absent: the host of the identity provider',
  },
]

/** Else it is on Redis. */
export const isEmbedded = ({ store }: Config): boolean => store.startsWith('file:')

/** Something about the configuration that must be mended before the gateway starts. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
