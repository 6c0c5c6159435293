import { ConfigError, SETTING_ROWS } from './settings.ts'
import { didYouMean, nearest } from '../policy/language/nearest.ts'

/*
 * Variables that begin as ours do and belong to no setting. A slip leaves the default in force, unseen: another store, sessions that are too long, groups that
 * nobody looks up. So a slip ends the start, as an unknown flag or key of the file does.
 */

const PREFIX = 'COUNTERSIGN_'
const IN_FILE = '_FILE'
/** What commands, clients and hooks read, and a gateway does not. */
const OF_CLIENTS = ['URL', 'REVIEWER_KEY', 'AGENT_KEY']
/** What the tests of this repository read. */
const OF_TESTS = /^TEST_/
/** Kubernetes and Docker set these for each service whose name begins with ours; `_PORT` is one only with such a value. */
const OF_SERVICES =
  /(?:^|_)SERVICE_(?:HOST|PORT(?:_\w+)?)$|(?:^|_)PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/
const LINK = /^(?:tcp|udp|sctp):\/\//

/**
 * The variables that belong to no setting, sorted: those of another program, or of a later version. Whoever starts warns of them.
 * @throws ConfigError for one that is almost the name of a setting
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
  if (meant !== undefined) throw new ConfigError(`\`${variable}\` is no setting; did you mean \`${meant}\`?`)
}

/** `COUNTERSIGN_PORT=tcp://10.0.0.1:8787`: the address of a Service, and no setting, though one has that name. */
export function isServiceLink(variable: string, value: string | undefined): boolean {
  return variable.startsWith(PREFIX) && variable.endsWith('_PORT') && LINK.test(value ?? '')
}

function isOfOthers(name: string, value: string): boolean {
  return OF_TESTS.test(name) || OF_SERVICES.test(name) || (name.endsWith('_PORT') && LINK.test(value))
}

/** What `parseArgs` says of a flag that there is not, when it is almost one of these; undefined for anything else. */
export function suggestFlag(message: string, flags: readonly string[]): string | undefined {
  const [, name = ''] = /^Unknown option '--([\w-]+)'/.exec(message) ?? []
  const meant = nearest(name, flags)
  return meant === undefined ? undefined : `unknown option \`--${name}\`; did you mean \`--${meant}\`?`
}

/** What to write in place of a key of the file that no setting has. */
export function suggestion(key: string, settings: readonly string[]): string {
  return didYouMean(key, settings) ?? `known are ${settings.join(', ')}`
}
