import { ConfigError, SETTINGS } from './settings.ts'
import { didYouMean, nearest } from '../policy/language/nearest.ts'

/*
 * Variables that begin as ours do and are no setting. What was meant for a setting and is passed over leaves its default in force, unseen: another store, sessions
 * that are too long, groups that nobody looks up. A flag and a key of the file that nobody knows end the start, too.
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
 * The variables that no setting has. One that is a letter or two away from a setting ends the start; the others may be somebody else's, or those of a later
 * version that was taken back: whoever starts warns of them.
 *
 * @throws ConfigError naming the variable and the setting that was most likely meant
 */
export function strangersIn(env: Readonly<Record<string, string | undefined>>): string[] {
  const settings = ['CONFIG', ...SETTINGS.map(({ key }) => upperSnake(key))]
  const secrets = SETTINGS.filter(({ secret }) => secret === true).map(({ key }) => upperSnake(key))
  const ours = [...settings, ...secrets.map((name) => name + IN_FILE)]
  const known = new Set([...ours, ...OF_CLIENTS])
  const strangers = Object.entries(env).flatMap(([variable, value]) => {
    const name = variable.startsWith(PREFIX) ? variable.slice(PREFIX.length) : ''
    return name === '' || !value || known.has(name) || isOfOthers(name, value) ? [] : [name]
  })
  for (const name of strangers) refuseSlip(name, settings, ours)
  return strangers.map((name) => PREFIX + name).toSorted()
}

/** `COUNTERSIGN_PORT=tcp://10.0.0.1:8787`: the address of a Service, and no setting, though one has that name. */
export function isServiceLink(variable: string, value: string | undefined): boolean {
  return variable.startsWith(PREFIX) && variable.endsWith('_PORT') && LINK.test(value ?? '')
}

function isOfOthers(name: string, value: string): boolean {
  return OF_TESTS.test(name) || OF_SERVICES.test(name) || (name.endsWith('_PORT') && LINK.test(value))
}

function refuseSlip(name: string, settings: readonly string[], ours: readonly string[]): void {
  const plain = name.endsWith(IN_FILE) ? name.slice(0, -IN_FILE.length) : undefined
  if (plain !== undefined && settings.includes(plain))
    throw new ConfigError(`\`${PREFIX}${name}\`: only secrets may stand in a file; use \`${PREFIX}${plain}\``)
  const meant = nearest(name, ours)
  if (meant !== undefined)
    throw new ConfigError(`\`${PREFIX}${name}\` is no setting; did you mean \`${PREFIX}${meant}\`?`)
}

/** What `parseArgs` says of a flag that there is not, when it is almost one of these; undefined for anything else. */
export function flagSlip(message: string, flags: readonly string[]): string | undefined {
  const [, name = ''] = /^Unknown option '--([\w-]+)'/.exec(message) ?? []
  const meant = nearest(name, flags)
  return meant === undefined ? undefined : `unknown option \`--${name}\`; did you mean \`--${meant}\`?`
}

/** What to write in place of a key of the file that no setting has. */
export function instead(key: string, settings: readonly string[]): string {
  return didYouMean(key, settings) ?? `known are ${settings.join(', ')}`
}

const upperSnake = (key: string): string =>
  key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).toUpperCase()
