import { isObject } from '../contract/json.ts'
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { parseArgs } from 'node:util'
import type { SettingsView } from '../contract/admin.ts'
import { defined } from '../contract/defined.ts'
import { combinationProblem, settingsWithoutEffect, type WithoutEffect } from './combinations.ts'
import { Misfit, takesNumbers } from './parsers.ts'
import { type Config, ConfigError, SETTING_ROWS, type SettingKey, type SettingRow } from './settings.ts'
import { isServiceLink, suggestFlag, suggestion, unknownVariables } from './unknown-variables.ts'

export { type Config, ConfigError } from './settings.ts'

/**
 * Reads flags > environment > countersign.yaml > defaults (docs/reference/settings.md). Only this file reads
 * process.env.
 */

export type Origin = 'flag' | 'environment' | 'file' | 'default'

export interface LoadedConfig {
  readonly config: Config
  readonly origins: Readonly<Record<SettingKey, Origin>>
  /** The text of each setting, defaults included. An absent setting has no text. */
  readonly texts: Readonly<Partial<Record<SettingKey, string>>>
  /** The arguments that are not flags. */
  readonly positionals: readonly string[]
  /** The files of the configuration. */
  readonly files: readonly NamedFile[]
  /** Unknown variables that begin with `COUNTERSIGN_`. */
  readonly unknown: readonly string[]
  /** Variables that Kubernetes set for a Service, such as `COUNTERSIGN_PORT=tcp://10.0.0.1:8787`. */
  readonly links: readonly string[]
  /** Settings that have no effect in this configuration. */
  readonly withoutEffect: readonly WithoutEffect[]
}

export interface NamedFile {
  readonly path: string
  /** The variable or flag that names the file. */
  readonly by: string
  readonly holds: 'settings' | 'secrets' | 'authorities'
}

export interface ConfigSources {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Parses YAML. Injected, so that the parser is loaded only when there is a file. */
  readonly parseYaml: (text: string) => unknown
}

const FILE = 'countersign.yaml'

type Environment = Readonly<Record<string, string | undefined>>

/** @throws ConfigError that names the setting, its origin and its form */
export function loadConfig({ args, env = process.env, parseYaml }: ConfigSources): LoadedConfig {
  const { flags, positionals } = parseFlags(args)
  const unknown = unknownVariables(env)
  const place = flags['config'] ?? env['COUNTERSIGN_CONFIG']
  const file = readSettings(place, parseYaml)
  const values: Partial<Record<SettingKey, unknown>> = {}
  const texts: Partial<Record<SettingKey, string>> = {}
  const origins: Partial<Record<SettingKey, Origin>> = {}
  for (const row of SETTING_ROWS) {
    const { key } = row
    const [raw, origin] = pick(row, flags, env, file)
    origins[key] = origin
    if (raw === undefined) continue
    const written = labelOf(row, origin, place)
    texts[key] = textOfValue(row, raw, written)
    const value = valueOf(row, texts[key], written)
    const path = row.reread && origin === 'environment' ? env[`${row.variable}_FILE`] : undefined
    values[key] = path ? async () => (await readFile(path, 'utf8')).trimEnd() : value
  }
  const config = values as Config
  const problem = combinationProblem(config, env)
  if (problem !== undefined) throw new ConfigError(problem)
  return {
    config,
    origins: origins as LoadedConfig['origins'],
    texts,
    positionals,
    files: namedFiles(place, env, file),
    unknown,
    links: Object.keys(env).filter((name) => isServiceLink(name, env[name])),
    withoutEffect: settingsWithoutEffect(config, texts, (row) =>
      labelOf(row, origins[row.key] ?? 'default', place),
    ),
  }
}

function pick(
  row: SettingRow,
  flags: Readonly<Record<string, string>>,
  env: Environment,
  file: Readonly<Record<string, unknown>>,
): [unknown, Origin] {
  const flag = flags[row.flag]
  if (flag !== undefined) return [flag, 'flag']
  const fromEnv = environmentValue(row, env)
  if (fromEnv !== undefined) return [fromEnv, 'environment']
  const fromFile = file[row.name]
  return fromFile === undefined ? [row.default, 'default'] : [fromFile, 'file']
}

/** Returns a raw value as text. A file may contain numbers for numeric settings. */
function textOfValue({ parse }: SettingRow, raw: unknown, written: string): string {
  if (typeof raw === 'string') return raw
  if (takesNumbers(parse)) return String(raw)
  throw new ConfigError(`${written}: \`${String(raw)}\` must be text`)
}

function valueOf({ parse, secret }: SettingRow, text: string, written: string): unknown {
  try {
    return parse(text)
  } catch (cause) {
    const { message } = cause as Error
    const shown = secret ? 'the value' : `\`${text}\``
    throw new ConfigError(`${written}: ${cause instanceof Misfit ? `${shown} ${message}` : message}`, {
      cause,
    })
  }
}

function namedFiles(
  place: string | undefined,
  env: Environment,
  file: Readonly<Record<string, unknown>>,
): NamedFile[] {
  const secrets = SETTING_ROWS.filter(({ secret }) => secret === true)
  const own = Object.keys(file).length === 0 ? [] : [place ?? FILE]
  const holds = secrets.some(({ name }) => file[name] !== undefined) ? 'secrets' : 'settings'
  const authorities = env['NODE_EXTRA_CA_CERTS']
  return [
    ...own.map((path): NamedFile => ({ path, by: '--config', holds })),
    ...secrets.flatMap(({ variable }): NamedFile[] => {
      const by = `${variable}_FILE`
      const path = env[by]
      return path === undefined || path === '' ? [] : [{ path, by, holds: 'secrets' }]
    }),
    ...(authorities ? [{ path: authorities, by: 'NODE_EXTRA_CA_CERTS', holds: 'authorities' } as const] : []),
  ]
}

/** Returns the value from the environment. A secret may come from a file that `<NAME>_FILE` names. */
function environmentValue(
  { variable: name, standard, secret }: Pick<SettingRow, 'variable' | 'standard' | 'secret'>,
  env: Environment,
): string | undefined {
  if (isServiceLink(name, env[name])) return undefined
  if (standard !== undefined && !env[name]) return env[standard] || undefined
  const path = secret === true ? env[`${name}_FILE`] : undefined
  if (path === undefined || path === '') return env[name] === '' ? undefined : env[name]
  if (env[name]) throw new ConfigError(`both \`${name}\` and \`${name}_FILE\` are set: use one`)
  try {
    return readFileSync(path, 'utf8').trimEnd()
  } catch (cause) {
    throw new ConfigError(`cannot read \`${path}\`, named by \`${name}_FILE\`: ${reasonOf(cause)}`, { cause })
  }
}

function labelOf({ flag, variable, name }: SettingRow, origin: Origin, place = FILE): string {
  if (origin === 'flag') return `--${flag}`
  return origin === 'environment' ? variable : `${name} in ${place}`
}

function parseFlags(args: readonly string[]): { flags: Record<string, string>; positionals: string[] } {
  const names = ['config', ...SETTING_ROWS.map(({ flag }) => flag)]
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]))
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    return { flags: values as Record<string, string>, positionals }
  } catch (cause) {
    const { message } = cause as Error
    throw new ConfigError(suggestFlag(message, names) ?? message, { cause })
  }
}

function readSettings(
  path: string | undefined,
  parseYaml: (text: string) => unknown,
): Record<string, unknown> {
  if (path === undefined && !existsSync(FILE)) return {}
  const text = textOf(path ?? FILE)
  const value = parsed(path ?? FILE, () => parseYaml(text))
  if (!isObject(value)) throw new ConfigError(`${path ?? FILE}: expected settings, one per line`)
  const known = SETTING_ROWS.map(({ name }) => name)
  const unknown = Object.keys(value).find((key) => !known.includes(key))
  if (unknown !== undefined) {
    throw new ConfigError(`${path ?? FILE}: unknown setting \`${unknown}\`; ${suggestion(unknown, known)}`)
  }
  return value
}

/** Reports only the position of an error, because the surrounding text may contain secrets. @throws ConfigError */
function parsed(path: string, parse: () => unknown): unknown {
  try {
    return parse()
  } catch (cause) {
    const [start] = (cause as { linePos?: readonly { line: number; col: number }[] }).linePos ?? []
    const place = start === undefined ? '' : ` at line ${start.line}, column ${start.col}`
    throw new ConfigError(`${path} is not YAML${place}; put text with special characters in quotes`, {
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

/** Returns `EACCES: permission denied`, without the operation and the path that follow it. */
function reasonOf(cause: unknown): string {
  return (cause as Error).message.split(',')[0] ?? ''
}

/** Returns every setting with its value and origin. Masks secrets, and the password in the store's address. */
export function describeConfig({
  config,
  texts,
  origins,
}: LoadedConfig): { name: string; value: string; origin: Origin }[] {
  return SETTING_ROWS.map(({ key, variable, secret }) => {
    const text = key === 'store' ? config.store.shown : (texts[key] ?? '')
    return { name: variable, value: secret && text !== '' ? '********' : text, origin: origins[key] }
  })
}

/** The report of a gateway about its own settings (`GET /api/admin/settings`). */
export function settingsReport(loaded: LoadedConfig): SettingsView {
  const { node, llhttp } = process.versions
  return {
    node: { node, ...defined({ llhttp }) },
    settings: describeConfig(loaded),
    unknown: [...loaded.unknown],
    without_effect: [...loaded.withoutEffect],
  }
}

/**
 * Reads the report of a gateway, which may have another version. Secrets are absent. A default takes the place of a
 * setting that the gateway does not know, and of a value that this version cannot parse.
 */
export function readReport({
  settings,
  unknown,
  without_effect: withoutEffect,
}: SettingsView): Pick<LoadedConfig, 'config' | 'origins' | 'unknown' | 'withoutEffect'> {
  const reported = new Map(settings.map((one) => [one.name, one]))
  const values: Partial<Record<SettingKey, unknown>> = {}
  const origins: Partial<Record<SettingKey, Origin>> = {}
  for (const { key, variable, secret, parse, default: standard } of SETTING_ROWS) {
    const { value = standard ?? '', origin = 'default' } = reported.get(variable) ?? {}
    origins[key] = origin
    if (secret || value === '') continue
    try {
      values[key] = parse(value)
    } catch {
      if (standard !== undefined) values[key] = parse(standard)
    }
  }
  return { config: values as Config, origins: origins as LoadedConfig['origins'], unknown, withoutEffect }
}

/** Returns the variables with which commands reach a running gateway. */
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

/** Returns the admin key from its variable or its file, like the gateway. @throws ConfigError */
export function adminKeyOf(
  env: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  return environmentValue({ variable: 'COUNTERSIGN_ADMIN_KEY', secret: true }, env)
}

/** Returns true when `npx` started this program: npm names its own command to it. */
export function isStartedByNpx(env: Environment = process.env): boolean {
  return env['npm_command'] === 'exec'
}

/** Returns the environment for other programs, without `COUNTERSIGN_` variables and thus without their credentials. */
export function environmentForChildren(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^COUNTERSIGN_/i.test(name)))
}

/**
 * Returns this user's state directory (XDG Base Directory Specification, which ignores a relative path).
 *
 * @throws for a user without a home directory
 */
export function stateHome(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const named = env['XDG_STATE_HOME'] ?? ''
  return isAbsolute(named) ? named : join(homedir(), '.local', 'state')
}

/** Returns the variables that name a proxy. The gateway ignores them (docs/reference/settings.md). */
export function proxyVariables(env: Readonly<Record<string, string | undefined>> = process.env): string[] {
  return Object.keys(env)
    .filter((name) => /^(?:https?|all)_proxy$/i.test(name) && env[name])
    .toSorted()
}
