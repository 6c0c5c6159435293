import type { Durability } from '../store.ts'

/*
 * The settings under which a Redis server keeps the promises of the store (docs/redis.md). The functions
 * are pure. The text of INFO and CONFIG GET is the input, and problems are the result.
 */

/** Facts that a server reports about itself. */
export interface ServerFacts {
  /** `redis_version`; for Valkey, the version of Redis that it is compatible with. */
  readonly version: string
  readonly role: string
  readonly replicas: number
  /** Bytes left of `maxmemory`; absent without such a limit. */
  readonly roomBytes?: number
  /** Commands that the store needs but the user may not run. */
  readonly forbidden: readonly string[]
  /** Undefined when CONFIG GET is not allowed, as on some hosted servers. */
  readonly config?: Readonly<Record<string, string>>
}

/** Problems that the operator may accept by name (COUNTERSIGN_STORE_ACCEPT). */
export const ACCEPTABLE = ['eviction', 'unconfirmed-failover', 'unread-settings'] as const
export type Acceptable = (typeof ACCEPTABLE)[number]

export interface Wanted {
  /** The number of replicas that confirm each commit (WAIT). */
  readonly replicas: number
  /** `async` allows a store that may lose the last seconds. */
  readonly durability?: 'async'
  readonly accept: readonly Acceptable[]
  /** The start of every key (keys.ts). */
  readonly prefix: string
  /** True when another server may take over: a cluster, or sentinels. */
  readonly failover: boolean
}

export const CONFIG_NAMES = [
  'appendonly',
  'appendfsync',
  'no-appendfsync-on-rewrite',
  'maxmemory',
  'maxmemory-policy',
] as const
const OLDEST = [7, 0] as const

export function readFacts(info: string, config: Readonly<Record<string, string>> | undefined): ServerFacts {
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  const most = Number(field('maxmemory') || 0)
  return {
    version: field('redis_version'),
    role: field('role'),
    replicas: Number(field('connected_slaves') || 0),
    forbidden: [],
    ...(most > 0 ? { roomBytes: Math.max(0, most - Number(field('used_memory') || 0)) } : {}),
    ...(config === undefined ? {} : { config }),
  }
}

/** The free memory of the fullest server. */
export function roomOf(servers: readonly (ServerFacts | undefined)[]): { readonly roomBytes?: number } {
  const rooms = servers.flatMap((facts) => facts?.roomBytes ?? [])
  return rooms.length === 0 ? {} : { roomBytes: Math.min(...rooms) }
}

/** The only settings under which each command is on disk before its answer, even while Redis rewrites its file. */
const SYNCED = [
  ['appendonly', 'yes'],
  ['appendfsync', 'always'],
  ['no-appendfsync-on-rewrite', 'no'],
] as const

export function durabilityOf(facts: ServerFacts, wanted: Wanted): Durability {
  if (wanted.replicas > 0 && facts.config?.['appendonly'] !== 'no') return 'replicated'
  return SYNCED.every(([name, value]) => facts.config?.[name] === value) ? 'fsync' : 'async'
}

/**
 * Returns sentences for the operator. Each sentence names a promise that the server cannot keep, and the remedy. The
 * list is empty when there is no problem.
 */
export function problemsOf(facts: ServerFacts, wanted: Wanted): string[] {
  const { config } = facts
  const problems: string[] = []
  if (!isNewEnough(facts.version))
    problems.push(`the server is Redis ${facts.version || 'of an unknown version'}: 7.0 or later is needed`)
  if (facts.role !== 'master')
    problems.push(`the server is a ${facts.role || 'server of an unknown role'}, not a primary`)
  if (facts.forbidden.length > 0)
    problems.push(
      `the user may not run ${facts.forbidden.join(', ')} on keys that begin with ${wanted.prefix}:, so commits or evidence could be incomplete. Give the user the permissions in docs/redis.md`,
    )
  if (config === undefined) {
    if (!wanted.accept.includes('unread-settings'))
      problems.push(
        'the user may not read the settings: allow +config|get, or accept `unread-settings` by name',
      )
  } else {
    problems.push(...lossProblems(facts, config, wanted))
  }
  if (
    wanted.replicas === 0 &&
    (wanted.failover || facts.replicas > 0) &&
    !wanted.accept.includes('unconfirmed-failover')
  )
    problems.push(
      'another server may take over, and no replica confirms writes: set COUNTERSIGN_STORE_REPLICAS to 1 or more, or accept `unconfirmed-failover` by name',
    )
  return problems
}

/** All problems in one sentence, so that the operator can fix them before one restart. Undefined without problems. */
export function inOneSentence(problems: readonly string[]): string | undefined {
  return problems.length === 0 ? undefined : [...new Set(problems)].join('; and ')
}

/** The command that changes a running server; CONFIG REWRITE or redis.conf makes it last. */
const setting = (name: string, value: string): string => `\`CONFIG SET ${name} ${value}\``

function lossProblems(
  facts: ServerFacts,
  config: Readonly<Record<string, string>>,
  wanted: Wanted,
): string[] {
  const problems: string[] = []
  // with replicas that confirm, the server's own file may be a second late
  const needed = wanted.replicas > 0 ? SYNCED.slice(0, 1) : SYNCED
  const wrong = needed.filter(([name, value]) => config[name] !== value)
  if (durabilityOf(facts, wanted) === 'async' && wanted.durability !== 'async')
    problems.push(
      `${wrong.map(([name]) => `${name} is ${config[name]}`).join(', ')}: the last seconds may be lost; run ${wrong.map(([name, value]) => setting(name, value)).join(' and ')}, let replicas confirm, or accept the loss with COUNTERSIGN_DURABILITY=async`,
    )
  const policy = config['maxmemory-policy'] ?? ''
  if (config['maxmemory'] !== '0' && policy !== 'noeviction' && !wanted.accept.includes('eviction'))
    problems.push(
      `maxmemory-policy is ${policy}: records may be evicted; run ${setting('maxmemory-policy', 'noeviction')}, or accept \`eviction\` by name`,
    )
  return problems
}

export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
}
