/**
 * Every setting as a row: the parser of its text, its default, whether it is a secret, and the condition of its effect.
 * `Config`, flags, variables, the file, `countersign config` and the doctor derive from it. A test compares the rows
 * with the table in docs/reference/settings.md.
 */
import { LIMITS } from '../contract/limits.ts'
import { type Budget, BUDGETS, type Budgets } from '../domain/budget.ts'
import type { Password } from '../store/redis/address.ts'
import { ACCEPTABLE } from '../store/redis/settings.ts'
import {
  acceptables,
  allowedNetworks,
  collector,
  day,
  deployment,
  headerValue,
  host,
  issuer,
  hostNames,
  networks,
  oneOf,
  onThisMachine,
  origin,
  type Parse,
  scopes,
  signingKey,
  slackToken,
  storeAddress,
  tenant,
  text,
  tilesAddress,
  whole,
} from './parsers.ts'

export interface Setting<T = unknown> {
  readonly parse: Parse<T>
  /** The default, as text. A setting without a default may be absent. */
  readonly default?: string
  readonly help: string
  readonly secret?: true
  /** A secret whose value becomes a function that reads its file again. */
  readonly reread?: true
  /** A variable of another standard. This variable applies when the gateway's own variable is unset. */
  readonly standard?: string
  /** The condition without which the setting has no effect. */
  readonly only?: Only
}

export const ONLY = {
  redis: 'with a store on Redis',
  embedded: 'with the embedded store (file:<directory>)',
  oidc: 'with an identity provider (oidc_issuer)',
  s3: 'with tiles in S3 (tiles: s3://...)',
  slack: 'with an app of Slack (slack_app_token)',
} as const
export type Only = keyof typeof ONLY

const setting = <T, const Rest extends Omit<Setting, 'parse'>>(
  parse: Parse<T>,
  rest: Rest,
): Rest & { readonly parse: Parse<T> } => ({ ...rest, parse })

const MOST = Number.MAX_SAFE_INTEGER
const port = whole(0, 65_535)
const bytes = whole(0, MOST)
const password: Parse<Password> = text
const budget = (name: Budget, help: string) =>
  setting(whole(1, MOST), { default: String(BUDGETS[name]), help })

export const ADMIN_KEY_CHARS = 32

/** The flag of `adminKey` is `--admin-key`, its variable `COUNTERSIGN_ADMIN_KEY`, its key in the file `admin_key`. */
export const SETTINGS = {
  host: setting(host, { default: '127.0.0.1', help: 'address to listen on' }),
  port: setting(port, { default: '8787', help: 'port of the agent, review and admin API' }),
  store: setting(storeAddress, {
    default: 'file:./data',
    help: 'where state lives: file:<directory> or redis://host:port',
  }),
  deployment: setting(deployment, {
    help: 'name of this deployment, which its store and its instances share, such as production',
  }),
  acceptClock: setting(day, {
    help: 'today (UTC), to start with a clock that is more than a day ahead of the last commit',
  }),
  storeExpect: setting(oneOf('existing'), {
    help: 'existing: refuse to start with an empty store',
  }),
  storeCheckpoint: setting(text, {
    help: 'file with checkpoints of evidence; a store without the records that they cover is refused',
  }),
  storeUsername: setting(text, { only: 'redis', help: 'user of Redis, when not in the address' }),
  storePassword: setting(password, {
    only: 'redis',
    secret: true,
    reread: true,
    help: 'password of Redis, when not in the address',
  }),
  sentinelPassword: setting(password, {
    only: 'redis',
    secret: true,
    reread: true,
    help: 'password of the sentinels',
  }),
  storeReplicas: setting(whole(0, 16), {
    only: 'redis',
    default: '0',
    help: 'replicas of Redis that must confirm each commit',
  }),
  durability: setting(oneOf('async'), {
    only: 'redis',
    help: 'async: accept a Redis that may lose the last seconds',
  }),
  storeAccept: setting(acceptables, {
    only: 'redis',
    help: `unsafe settings of Redis accepted by name: ${ACCEPTABLE.join(', ')}`,
  }),
  tiles: setting(tilesAddress, {
    help: 'place of the log as tiles: file:<directory>, s3://<bucket>/<prefix> or off; absent: `tiles` in the directory of an embedded store, off with Redis',
  }),
  tilesEndpoint: setting(origin, {
    only: 's3',
    help: 'server of S3 other than that of Amazon, such as https://s3.example.com',
  }),
  tilesRegion: setting(text, { only: 's3', help: 'region of the bucket, when the environment names none' }),
  tilesPathStyle: setting(oneOf('true', 'false'), {
    only: 's3',
    default: 'false',
    help: 'true: the server expects the bucket in the path, not in the name of the host',
  }),
  policies: setting(text, { default: './policies', help: 'directory of the policy bundle' }),
  policiesRevision: setting(text, {
    help: 'commit of the policies, where their directory is no git checkout: an image, a ConfigMap',
  }),
  policiesLoad: setting(whole(1_000, 3_600_000), {
    default: '20000',
    help: 'processor time that one check of the policies may take, ms',
  }),
  policyRollout: setting(whole(0, 7 * 24 * 3_600_000), {
    default: '600000',
    help: 'longest time in which the gateways may have different policies, ms',
  }),
  adminKey: setting(headerValue(ADMIN_KEY_CHARS), {
    secret: true,
    help: 'admin key; generated and printed once when absent and the store is new',
  }),
  signingKey: setting(signingKey, {
    secret: true,
    help: 'Ed25519 key (PEM) that signs checkpoints of evidence; made and kept in the store when absent',
  }),
  webhooksAllow: setting(allowedNetworks, {
    help: 'networks and ports to which webhooks may be sent in development, such as 127.0.0.1/32:8443',
  }),
  metricsHost: setting(host, { default: '127.0.0.1', help: 'address of the metrics listener' }),
  metricsPort: setting(port, { default: '9464', help: 'port of the metrics listener' }),
  metricsNames: setting(hostNames, {
    help: 'names of the metrics listener in Host, such as metrics.example.com; addresses and private names are known',
  }),
  logLevel: setting(oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'), {
    default: 'info',
    help: 'lowest level that is logged',
  }),
  otlpEndpoint: setting(collector, {
    standard: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    help: 'collector to which spans are sent with OTLP over HTTP, such as http://127.0.0.1:4318',
  }),
  bodyLimit: setting(whole(1_024, 16 * 1024 * 1024), {
    default: String(LIMITS.BODY_BYTES),
    help: 'largest request body in bytes',
  }),
  connections: setting(whole(1, MOST), {
    default: '16384',
    help: 'connections of all callers, fewer when the process may open fewer files',
  }),
  connectionsPerAddress: setting(whole(1, MOST), {
    default: '4096',
    help: 'connections of one address without an accepted credential',
  }),
  trustedProxies: setting(networks, {
    help: 'networks of proxies whose connections are not counted by address, such as 10.0.0.0/8',
  }),
  storeDeadline: setting(whole(50, 60_000), {
    default: String(LIMITS.STORE_DEADLINE_MS),
    help: 'longest time a store call may take, ms',
  }),
  storeMinFree: setting(bytes, {
    only: 'embedded',
    default: String(64 * 1024 * 1024),
    help: 'free disk space in bytes below which writes are refused',
  }),
  storeNewCallsMinFree: setting(bytes, {
    only: 'embedded',
    default: String(256 * 1024 * 1024),
    help: 'free disk space in bytes below which new calls are refused',
  }),
  budgetWaitingPerAgent: budget('waiting_per_agent', 'waiting threads that one agent may have'),
  budgetWaitingPerTenant: budget('waiting_per_tenant', 'waiting threads that one tenant may have'),
  budgetBytesPerDay: budget(
    'bytes_per_day',
    'bytes that the calls of one tenant may add to the store in 24 hours',
  ),
  budgetIdempotencyRecords: budget('idempotency_records', 'answers kept for Idempotency-Keys of one tenant'),
  budgetSessionsPerReviewer: budget('sessions_per_reviewer', 'open console sessions of one reviewer'),
  budgetSessionsPerTenant: budget('sessions_per_tenant', 'open console sessions of one tenant'),
  policyRescan: setting(whole(100, 3_600_000), {
    default: '1000',
    help: 'time between two checks of the policy directory, ms',
  }),
  publicUrl: setting(origin, { help: 'where people reach the gateway, such as https://countersign.example' }),
  sessionIdle: setting(whole(60_000, 24 * 3_600_000), {
    default: String(LIMITS.SESSION_IDLE_MS),
    help: 'time without a request after which a console session ends, ms',
  }),
  sessionLifetime: setting(whole(60_000, 7 * 24 * 3_600_000), {
    default: String(LIMITS.SESSION_MS),
    help: 'time after which a console session ends in any case, ms',
  }),
  oidcIssuer: setting(issuer, { help: 'identity provider of the console, such as https://login.example' }),
  oidcClientId: setting(text, { help: 'id of this gateway at the identity provider' }),
  oidcClientSecret: setting(text, {
    only: 'oidc',
    secret: true,
    help: 'secret of the client; absent for a public client',
  }),
  oidcScopes: setting(scopes, {
    only: 'oidc',
    default: 'openid email profile',
    help: 'requested scopes, separated by spaces',
  }),
  oidcReviewerClaim: setting(text, {
    only: 'oidc',
    default: 'email',
    help: 'claim that names the reviewer: email is compared with the email in directory.yaml, others with the id',
  }),
  oidcGroupsClaim: setting(text, {
    only: 'oidc',
    help: 'claim that lists the groups of a reviewer, in place of directory.yaml',
  }),
  oidcTenant: setting(tenant, {
    only: 'oidc',
    help: 'tenant of everyone who signs in; absent: the tenant whose directory has the reviewer',
  }),
  oidcLabel: setting(text, {
    only: 'oidc',
    help: 'text of the button; absent: the host of the identity provider',
  }),
  slackAppToken: setting(slackToken('xapp'), {
    secret: true,
    help: 'token of the app of Slack (xapp-...) with connections:write; the gateway opens the connection',
  }),
  slackBotToken: setting(slackToken('xoxb'), {
    only: 'slack',
    secret: true,
    help: 'token of its bot (xoxb-...) with chat:write and users:read',
  }),
  slackClientId: setting(text, {
    only: 'slack',
    help: 'id of the app, with which reviewers link their accounts',
  }),
  slackClientSecret: setting(text, { only: 'slack', secret: true, help: 'secret of the app' }),
  slackServer: setting(onThisMachine, {
    only: 'slack',
    help: 'server on this machine that takes the place of Slack in a rehearsal, such as http://127.0.0.1:8790',
  }),
  chatLinkLifetime: setting(whole(60_000, 400 * 24 * 3_600_000), {
    default: String(30 * 24 * 3_600_000),
    help: 'time after which a linked account of a chat must be linked again, ms',
  }),
} as const

type Table = typeof SETTINGS
export type SettingKey = keyof Table
type Always = { [K in SettingKey]: Table[K] extends { readonly default: string } ? K : never }[SettingKey]

/** A value for each row. Values of rows without a default may be absent. */
export type Config = { readonly [K in Always]: ReturnType<Table[K]['parse']> } & {
  readonly [K in Exclude<SettingKey, Always>]?: ReturnType<Table[K]['parse']>
}

/** The rows with their names, such as flag `--admin-key`, variable `COUNTERSIGN_ADMIN_KEY`, and the key in the file. */
export const SETTING_ROWS = (Object.entries(SETTINGS) as [SettingKey, Setting][]).map(([key, row]) => {
  const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return { ...row, key, name, flag: name.replaceAll('_', '-'), variable: `COUNTERSIGN_${name.toUpperCase()}` }
})
export type SettingRow = (typeof SETTING_ROWS)[number]

export const budgetsOf = (config: Config): Budgets => ({
  waiting_per_agent: config.budgetWaitingPerAgent,
  waiting_per_tenant: config.budgetWaitingPerTenant,
  bytes_per_day: config.budgetBytesPerDay,
  idempotency_records: config.budgetIdempotencyRecords,
  sessions_per_reviewer: config.budgetSessionsPerReviewer,
  sessions_per_tenant: config.budgetSessionsPerTenant,
})

/** An error in the configuration, which prevents the start of the gateway. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
