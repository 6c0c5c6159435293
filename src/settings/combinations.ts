import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { type Config, type Only, ONLY, SETTING_ROWS, type SettingKey, type SettingRow } from './settings.ts'

/** Returns the reason why the settings must not be combined, as one sentence; undefined when they may be combined. */
export function combinationProblem(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const { store, tiles, policies } = config
  if (/json-rules-engine|\*/.test(env['DEBUG'] ?? ''))
    return 'DEBUG: the rules engine would print payloads to the log; unset it'
  const incomplete = TOGETHER.map((keys) => incompleteIn(config, keys)).find((one) => one !== undefined)
  if (incomplete !== undefined) return incomplete
  if (tiles?.kind === 'directory' && isInside(tiles.path, policies))
    return 'tiles: they must not lie inside the policy directory'
  return store.kind === 'embedded' && isInside(store.path, policies)
    ? 'store: state must not lie inside the policy directory'
    : undefined
}

/** Settings that need one another. Without one of those of Slack, no reviewer could decide there. */
const TOGETHER = [
  ['oidcIssuer', 'oidcClientId'],
  ['slackAppToken', 'slackBotToken', 'slackClientId', 'slackClientSecret'],
] as const satisfies SettingKey[][]

function incompleteIn(config: Config, keys: readonly SettingKey[]): string | undefined {
  const missing = keys.find((key) => config[key] === undefined)
  const given = keys.find((key) => config[key] !== undefined)
  if (missing === undefined || given === undefined) return undefined
  return `${nameOf(given)}: it needs ${nameOf(missing)} as well`
}

const nameOf = (key: SettingKey): string => SETTING_ROWS.find((row) => row.key === key)?.name ?? key

const isInside = (path: string, directory: string): boolean =>
  isWithin(resolve(path), resolve(directory)) || isWithin(realPath(path), realPath(directory))

const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`)

/** Returns the path with its links resolved, as far as the path exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(resolve(path))
    return parent === resolve(path) ? parent : join(realPath(parent), basename(path))
  }
}

/** A setting that has a value but no effect in this configuration. */
export interface WithoutEffect {
  /** The name that the user wrote: a flag, a variable, or a key and its file. */
  readonly name: string
  /** The condition under which the setting has an effect (ONLY). */
  readonly counts: string
}

/** Returns the settings without an effect here, except those that repeat their default (`store_replicas: 0`). */
export function settingsWithoutEffect(
  { store, tiles, oidcIssuer, slackAppToken }: Config,
  texts: Readonly<Partial<Record<SettingKey, string>>>,
  nameOf: (row: SettingRow) => string,
): WithoutEffect[] {
  const there: readonly Only[] = [
    store.kind,
    ...(oidcIssuer === undefined ? [] : (['oidc'] as const)),
    ...(tiles?.kind === 's3' ? (['s3'] as const) : []),
    ...(slackAppToken === undefined ? [] : (['slack'] as const)),
  ]
  return SETTING_ROWS.flatMap((row) => {
    const { only, key } = row
    if (only === undefined || there.includes(only) || texts[key] === row.default) return []
    return [{ name: nameOf(row), counts: ONLY[only] }]
  })
}
