import { ConfigError, SETTING_ROWS } from './settings.ts'
import { didYouMean, nearest } from '../policy/text/nearest.ts'

/*
 * Variables with the prefix `COUNTERSIGN_` that belong to no setting. With a misspelt variable, the default would
 * silently remain in force, such as another store or sessions that are too long. A misspelt variable therefore ends the
 * start, like an unknown flag or key.
 */

const PREFIX = 'COUNTERSIGN_'
const IN_FILE = '_FILE'
/** Variables that only commands, clients and hooks read, not a gateway. */
const OF_CLIENTS = ['URL', 'REVIEWER_KEY', 'AGENT_KEY']
/** Variables of the tests of this repository. */
const OF_TESTS = /^TEST_/
/**
 * Kubernetes and Docker set these for each service whose name begins with `countersign`, and `_PORT` with a value of
 * LINK.
 */
const OF_SERVICES =
  /(?:^|_)SERVICE_(?:HOST|PORT(?:_\w+)?)$|(?:^|_)PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/
const LINK = /^(?:tcp|udp|sctp):\/\//

/**
 * Returns the variables that belong to no setting, sorted. Another program or another version may use such variables.
 *
 * @throws ConfigError for a name close to that of a setting
 */
export function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const settings = [`${PREFIX}CONFIG`, ...SETTING_ROWS.map(({ variable }) => variable)]
  const secrets = SETTING_ROWS.filter(({ secret }) => secret === true).map(({ variable }) => variable)
  const ours = [...settings, ...secrets.map((variable) => variable + IN_FILE)]
  const known = new Set([...ours, ...OF_CLIENTS.map((name) => PREFIX + name)])
  const unknown = Object.entries(env)
    .filter(([variable, value]) => variable.startsWith(PREFIX) && value && !known.has(variable))
    .filter(([variable, value = '']) => !isOfOthers(variable.slice(PREFIX.length), value))
    .map(([variable]) => variable)
  for (const variable of unknown) refuseSlip(variable, settings, ours)
  return unknown.toSorted()
}

function refuseSlip(variable: string, settings: readonly string[], ours: readonly string[]): void {
  const plain = variable.endsWith(IN_FILE) ? variable.slice(0, -IN_FILE.length) : undefined
  if (plain !== undefined && settings.includes(plain))
    throw new ConfigError(`\`${variable}\`: only secrets may be in a file; use \`${plain}\``)
  const meant = nearest(variable, ours)
  if (meant !== undefined)
    throw new ConfigError(`\`${variable}\` is not a setting; did you mean \`${meant}\`?`)
}

/**
 * Returns true for the address of a Service, such as `COUNTERSIGN_PORT=tcp://10.0.0.1:8787`. Such a variable is not a
 * setting.
 */
export function isServiceLink(variable: string, value: string | undefined): boolean {
  return variable.startsWith(PREFIX) && variable.endsWith('_PORT') && LINK.test(value ?? '')
}

function isOfOthers(name: string, value: string): boolean {
  return OF_TESTS.test(name) || OF_SERVICES.test(name) || (name.endsWith('_PORT') && LINK.test(value))
}

/** Suggests the nearest flag for an unknown one that `parseArgs` reports; undefined for any other message. */
export function suggestFlag(message: string, flags: readonly string[]): string | undefined {
  const [, name = ''] = /^Unknown option '--([\w-]+)'/.exec(message) ?? []
  const meant = nearest(name, flags)
  return meant === undefined ? undefined : `unknown option \`--${name}\`; did you mean \`--${meant}\`?`
}

/** Suggests a key in place of an unknown key of the file. */
export function suggestion(key: string, settings: readonly string[]): string {
  return didYouMean(key, settings) ?? `known are ${settings.join(', ')}`
}
