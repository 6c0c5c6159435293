import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Config, ConfigError, isEmbedded, type Setting, SETTINGS } from './settings.ts'
import { checkSignIn } from './sign-in.ts'
import { type IdleSetting, idleIn } from './without-effect.ts'
import { flagSlip, instead, isServiceLink, strangersIn } from './unknown-variables.ts'
import { signingKeyInPem, type SigningKey } from '../domain/checkpoint.ts'
import { isRedisAddress, parseRedisAddress, REDIS_FORMS, withoutPassword } from '../store/redis/address.ts'
import { type Allowed, parseAllowed } from '../outbound/address.ts'
import { ACCEPTABLE, type Acceptable } from '../store/redis/settings.ts'
import { networksOf } from './networks.ts'

export { ADMIN_KEY_CHARS, type Config, ConfigError, isEmbedded, type Setting, SETTINGS } from './settings.ts'

/** Where settings come from: flags > environment > countersign.yaml > defaults (docs/operations.md). The only reader of process.env. */

export type Origin = 'flag' | 'environment' | 'file' | 'default'

export interface LoadedConfig {
  readonly config: Config
  readonly origins: Readonly<Record<keyof Config, Origin>>
  /** Arguments that are no settings. */
  readonly positionals: readonly string[]
  /** Files that were named, or found. */
  readonly files: readonly NamedFile[]
  /** Variables that begin with `COUNTERSIGN_`, and mean nothing to a gateway. */
  readonly strangers: readonly string[]
  /** Variables that Kubernetes made for a Service, and that have the name of a setting. */
  readonly links: readonly string[]
  /** Settings that were made, and say nothing beside the others. */
  readonly idle: readonly IdleSetting[]
}

export interface NamedFile {
  readonly path: string
  /** The variable or flag that names it. */
  readonly by: string
  readonly holds: 'settings' | 'secrets' | 'authorities'
}

export interface ConfigSources {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Parses a YAML text; injected, because the parser is loaded only when a file is there. */
  readonly parseYaml: (text: string) => unknown
}

const FILE = 'countersign.yaml'

/** @throws ConfigError naming the setting, where it came from, and what it may be */
export function loadConfig({ args, env = process.env, parseYaml }: ConfigSources): LoadedConfig {
  const { flags, positionals } = parseFlags(args)
  const links = Object.keys(env).filter((name) => isServiceLink(name, env[name]))
  const strangers = strangersIn(env)
  const place = flags['config'] ?? env['COUNTERSIGN_CONFIG']
  const file = readFile(place, parseYaml)
  const values: Record<string, unknown> = {}
  const origins: Record<string, Origin> = {}
  for (const setting of SETTINGS) {
    const [raw, origin] = pick(setting, flags, env, file)
    origins[setting.key] = origin
    if (raw !== undefined) values[setting.key] = checked(setting, raw, labelOf(setting.key, origin, place))
  }
  const config = values as unknown as Config
  refuseUnsafe(config, env)
  return {
    config,
    origins: origins as LoadedConfig['origins'],
    positionals,
    files: namedFiles(place, env, file),
    strangers,
    links,
    idle: idleIn(config, ({ key }) => labelOf(key, origins[key] ?? 'default', place)),
  }
}

function pick(
  setting: Setting,
  flags: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string | undefined>>,
  file: Readonly<Record<string, unknown>>,
): [unknown, Origin] {
  const flag = flags[kebab(setting.key)]
  if (flag !== undefined) return [flag, 'flag']
  const fromEnv = environmentValue(setting, env)
  if (fromEnv !== undefined) return [fromEnv, 'environment']
  const fromFile = file[snake(setting.key)]
  return fromFile === undefined ? [setting.default, 'default'] : [fromFile, 'file']
}

function namedFiles(
  place: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  file: Readonly<Record<string, unknown>>,
): NamedFile[] {
  const secrets = SETTINGS.filter(({ secret }) => secret === true)
  const own = Object.keys(file).length === 0 ? [] : [place ?? FILE]
  const holds = secrets.some(({ key }) => file[snake(key)] !== undefined) ? 'secrets' : 'settings'
  const authorities = env['NODE_EXTRA_CA_CERTS']
  return [
    ...own.map((path): NamedFile => ({ path, by: '--config', holds })),
    ...secrets.flatMap(({ key }): NamedFile[] => {
      const by = `${variableOf(key)}_FILE`
      const path = env[by]
      return path === undefined || path === '' ? [] : [{ path, by, holds: 'secrets' }]
    }),
    ...(authorities ? [{ path: authorities, by: 'NODE_EXTRA_CA_CERTS', holds: 'authorities' } as const] : []),
  ]
}

/** A secret may stand in a file that `<NAME>_FILE` names. */
function environmentValue(
  setting: Setting,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const name = variableOf(setting.key)
  if (isServiceLink(name, env[name])) return undefined
  if (setting.standard !== undefined && !env[name]) return env[setting.standard] || undefined
  const path = setting.secret ? env[`${name}_FILE`] : undefined
  if (path === undefined || path === '') return env[name] === '' ? undefined : env[name]
  if (env[name]) throw new ConfigError(`both \`${name}\` and \`${name}_FILE\` are set: use one`)
  try {
    return readFileSync(path, 'utf8').trimEnd()
  } catch (cause) {
    throw new ConfigError(`cannot read \`${path}\`, named by \`${name}_FILE\`: ${reasonOf(cause)}`, { cause })
  }
}

function checked(setting: Setting, raw: unknown, label: string): string | number {
  const problem = setting.type === 'integer' ? integerProblem(setting, raw) : textProblem(setting, raw)
  if (problem === undefined)
    return setting.type === 'integer' ? Number(raw) : isHost(setting) ? bare(raw as string) : (raw as string)
  const shown = setting.secret ? 'the value' : `\`${String(raw)}\``
  throw new ConfigError(`${label}: ${shown} ${problem}`)
}

const isHost = ({ key }: Setting): boolean => key === 'host' || key === 'metricsHost'

/** `[::]`, as in a URL, is `::`. */
const bare = (host: string): string => /^\[([0-9a-f:.]+)\]$/i.exec(host)?.[1] ?? host

function integerProblem(
  { minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: Setting,
  raw: unknown,
): string | undefined {
  const value = typeof raw === 'number' || /^\d{1,15}$/.test(String(raw)) ? Number(raw) : Number.NaN
  const fits = Number.isInteger(value) && value >= minimum && value <= maximum
  return fits ? undefined : `must be a whole number from ${minimum} to ${maximum}`
}

function textProblem({ oneOf, minLength = 1, sentInHeader }: Setting, raw: unknown): string | undefined {
  if (typeof raw !== 'string') return 'must be text'
  if (oneOf && !oneOf.includes(raw)) return `must be one of ${oneOf.join(', ')}`
  if (raw.length < minLength) return `must have at least ${minLength} characters`
  return sentInHeader && !HEADER_VALUE.test(raw)
    ? 'goes into a header: it must be printable ASCII, without a space or a line break at either end'
    : undefined
}

const HEADER_VALUE = /^[!-~][\t -~]*[!-~]$/

function labelOf(key: string, origin: Origin, place = FILE): string {
  if (origin === 'flag') return `--${kebab(key)}`
  return origin === 'environment' ? variableOf(key) : `${snake(key)} in ${place}`
}

function parseFlags(args: readonly string[]): { flags: Record<string, string>; positionals: string[] } {
  const names = ['config', ...SETTINGS.map((setting) => kebab(setting.key))]
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]))
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    return { flags: values as Record<string, string>, positionals }
  } catch (cause) {
    const { message } = cause as Error
    throw new ConfigError(flagSlip(message, names) ?? message, { cause })
  }
}

function readFile(path: string | undefined, parseYaml: (text: string) => unknown): Record<string, unknown> {
  if (path === undefined && !existsSync(FILE)) return {}
  const text = textOf(path ?? FILE)
  const value = parsed(path ?? FILE, () => parseYaml(text))
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new ConfigError(`${path ?? FILE}: expected settings, one per line`)
  }
  const known = SETTINGS.map((setting) => snake(setting.key))
  const unknown = Object.keys(value).find((key) => !known.includes(key))
  if (unknown !== undefined) {
    throw new ConfigError(`${path ?? FILE}: unknown setting \`${unknown}\`; ${instead(unknown, known)}`)
  }
  return value as Record<string, unknown>
}

/** Its place only: what a parser complains of stands beside it, and there may be secrets. @throws ConfigError */
function parsed(path: string, parse: () => unknown): unknown {
  try {
    return parse()
  } catch (cause) {
    const [start] = (cause as { linePos?: readonly { line: number; col: number }[] }).linePos ?? []
    const place = start === undefined ? '' : ` at line ${start.line}, column ${start.col}`
    throw new ConfigError(`${path} is no YAML${place}; text with special characters goes in quotes`, {
      cause,
    })
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new ConfigError(`cannot read the configuration file \`${path}\`: ${reasonOf(cause)}`, { cause })
  }
}

/** `EACCES: permission denied`, without what was done and the path, which is said already. */
function reasonOf(cause: unknown): string {
  return (cause as Error).message.split(',')[0] ?? ''
}

/** The key that signs evidence, when it is not to be the one in the store. @throws ConfigError */
export function evidenceKeyOf({ signingKey }: Pick<Config, 'signingKey'>): SigningKey | undefined {
  if (signingKey === undefined) return undefined
  const key = signingKeyInPem(signingKey)
  if (key === undefined)
    throw new ConfigError(
      'signing_key: this is no Ed25519 private key as PEM; `openssl genpkey -algorithm ed25519` makes one',
    )
  return key
}

/** Combinations that would break a promise of the product. */
function refuseUnsafe(config: Config, env: Readonly<Record<string, string | undefined>>): void {
  if (/json-rules-engine|\*/.test(env['DEBUG'] ?? '')) {
    throw new ConfigError('DEBUG: the rules engine would print payloads to the log; unset it')
  }
  checkSignIn(config)
  checkEndpoint(config)
  networksOf(config.trustedProxies, 'trusted_proxies')
  evidenceKeyOf(config)
  acceptedOf(config)
  allowedOf(config)
  if (isRedisAddress(config.store)) {
    redisAddressOf(config)
    return
  }
  if (!isEmbedded(config)) {
    // its scheme only: what is no address may be anything, a password that lacks an @ too
    const scheme = /^[a-z][\w+.-]*:/i.exec(config.store)?.[0]
    throw new ConfigError(
      `store: ${scheme === undefined ? 'an address without a scheme' : `\`${scheme}\``} is not known here; use file:<directory> or ${REDIS_FORMS}`,
    )
  }
  if (storePath(config) === '')
    throw new ConfigError('store: `file:` names no directory; use file:<directory>')
  const data = storePath(config)
  const { policies } = config
  if (isWithin(resolve(data), resolve(policies)) || isWithin(realPath(data), realPath(policies)))
    throw new ConfigError('store: state must not lie inside the policy directory')
}

const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`)

/** Where a path leads when links are followed; of what is not there yet, as far as it is there. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(resolve(path))
    return parent === resolve(path) ? parent : join(realPath(parent), basename(path))
  }
}

/** @throws ConfigError for what is no network and port */
export function allowedOf({ webhooksAllow = '' }: Config): Allowed[] {
  try {
    return parseAllowed(webhooksAllow)
  } catch (cause) {
    throw new ConfigError(`webhooks_allow: ${(cause as Error).message}`, { cause })
  }
}

/** @throws ConfigError */
function checkEndpoint({ otlpEndpoint }: Config): void {
  if (otlpEndpoint === undefined) return
  const url = URL.canParse(otlpEndpoint) ? new URL(otlpEndpoint) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new ConfigError('otlp_endpoint: must be an http or https address, such as http://127.0.0.1:4318')
  if (url.username !== '' || url.password !== '' || url.search !== '')
    throw new ConfigError('otlp_endpoint: credentials do not belong in it; use OTEL_EXPORTER_OTLP_HEADERS')
}

/** The server of the address, with the credentials that stand beside it. @throws ConfigError */
export function redisAddressOf(config: Config): ReturnType<typeof parseRedisAddress> {
  const { store, storeUsername: username, storePassword: password } = config
  try {
    const address = parseRedisAddress(store)
    return {
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      ...address,
    }
  } catch (cause) {
    throw new ConfigError(`store: ${(cause as Error).message}`, { cause })
  }
}

/** @throws ConfigError for a name that nothing has */
export function acceptedOf({ storeAccept = '' }: Config): Acceptable[] {
  return storeAccept
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .map((name) => {
      const known = ACCEPTABLE.find((one) => one === name)
      if (known === undefined)
        throw new ConfigError(`store_accept: \`${name}\` is no name; known are ${ACCEPTABLE.join(', ')}`)
      return known
    })
}

/** Where the store is, as it may be shown. */
export const shownStore = (config: Config): string => withoutPassword(config.store)

/** The directory of the embedded store. */
export function storePath(config: Config): string {
  return config.store.slice('file:'.length)
}

/** Every setting with its value and where that came from; secrets masked. */
export function describeConfig({
  config,
  origins,
}: LoadedConfig): { name: string; value: string; origin: Origin }[] {
  return SETTINGS.map((setting) => {
    const value = config[setting.key]
    const shown = value === undefined ? '' : setting.secret ? '********' : shownValue(setting, value)
    return { name: variableOf(setting.key), value: shown, origin: origins[setting.key] }
  })
}

function shownValue({ key }: Setting, value: string | number | readonly string[]): string {
  return key === 'store' ? withoutPassword(String(value)) : String(value)
}

export const kebab = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
const snake = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const variableOf = (key: string): string => `COUNTERSIGN_${snake(key).toUpperCase()}`

/** What the command line needs of the environment to reach a running gateway. */
export function clientEnvironment(env: Readonly<Record<string, string | undefined>> = process.env): {
  url?: string
  reviewerKey?: string
  agentKey?: string
} {
  const pairs = [
    ['url', env['COUNTERSIGN_URL']],
    ['reviewerKey', env['COUNTERSIGN_REVIEWER_KEY']],
    ['agentKey', env['COUNTERSIGN_AGENT_KEY']],
  ] as const
  return Object.fromEntries(pairs.filter(([, value]) => value !== undefined && value !== ''))
}

/** The admin key, where the gateway finds it too: in a container there is often its file only. @throws ConfigError */
export function adminKeyOf(
  env: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  const setting = SETTINGS.find(({ key }) => key === 'adminKey') as Setting
  return environmentValue(setting, env)
}

/** The environment for a program of somebody else: nothing of ours, and so none of the credentials of the gateway. */
export function foreignEnvironment(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^COUNTERSIGN_/i.test(name)))
}

/**
 * Where programs of this person keep what they would miss little (XDG Base Directory Specification, which takes a relative path for none).
 *
 * @throws for somebody who has no home
 */
export function stateHome(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const named = env['XDG_STATE_HOME'] ?? ''
  return isAbsolute(named) ? named : join(homedir(), '.local', 'state')
}

/** Variables that name a proxy for outgoing connections. The guard before them connects directly (docs/operations.md). */
export function proxyVariables(env: Readonly<Record<string, string | undefined>> = process.env): string[] {
  return Object.keys(env)
    .filter((name) => /^(?:https?|all)_proxy$/i.test(name) && env[name])
    .toSorted()
}
