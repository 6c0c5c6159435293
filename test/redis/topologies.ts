import { setTimeout as pause } from 'node:timers/promises'
import { type RedisServer, startRedis } from './server.ts'

/** Several servers that belong together; `dispose` ends all of them. */
export interface Servers {
  readonly url: string
  readonly servers: readonly RedisServer[]
  dispose(): Promise<void>
}

/**
 * A server that is silent for so long is replaced, ms. It is short in tests of the replacement. Elsewhere it is longer
 * than any pause of a busy machine.
 */
interface Replacing {
  readonly replacedAfterMs?: number
}
const NOT_REPLACED_MS = 20_000

/** A cluster of primaries that share the slots evenly, and replicas of them in turn. */
export async function startCluster(
  primaries = 3,
  replicas = 0,
  { replacedAfterMs = NOT_REPLACED_MS }: Replacing = {},
): Promise<Servers> {
  const config = {
    'cluster-enabled': 'yes',
    'cluster-node-timeout': String(replacedAfterMs),
    'cluster-config-file': 'nodes.conf',
  }
  const servers = await Promise.all(
    Array.from({ length: primaries + replicas }, () => startRedis({ config })),
  )
  const [first] = servers as [RedisServer]
  for (const [i, server] of servers.slice(0, primaries).entries()) {
    const from = Math.floor((16_384 * i) / primaries)
    const to = Math.floor((16_384 * (i + 1)) / primaries) - 1
    await server.ask('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to))
    await server.ask('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1))
  }
  for (const server of servers) await first.ask('CLUSTER', 'MEET', '127.0.0.1', String(server.port))
  for (const server of servers)
    await eventually(async () =>
      (await server.ask('CLUSTER', 'INFO')).includes(`cluster_known_nodes:${servers.length}`),
    )
  for (const [i, server] of servers.slice(primaries).entries()) {
    const primary = servers[i % primaries] as RedisServer
    const id = await primary.ask('CLUSTER', 'MYID')
    await eventually(async () => (await server.ask('CLUSTER', 'REPLICATE', id)) === 'OK')
    await eventually(async () => (await server.ask('INFO', 'replication')).includes('master_link_status:up'))
  }
  for (const server of servers)
    await eventually(async () => (await server.ask('CLUSTER', 'INFO')).includes('cluster_state:ok'))
  return {
    url: `redis+cluster://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    servers,
    dispose: () => disposeAll(servers),
  }
}

/** A primary, its replicas, and three sentinels that agree by two. */
export interface Sentinels extends Servers {
  readonly sentinels: readonly RedisServer[]
  /** The current primary; rejects while the sentinels disagree, or the server does not know its role yet. */
  primary(): Promise<RedisServer>
}

export interface SentinelOptions extends Replacing {
  readonly replicas?: number
  /** The port under which the others know a server, when that is not its own (a proxy). */
  readonly announced?: (port: number) => Promise<number>
  readonly config?: Readonly<Record<string, string>>
}

export async function startSentinels({
  replicas = 1,
  announced,
  config = {},
  replacedAfterMs = NOT_REPLACED_MS,
}: SentinelOptions = {}): Promise<Sentinels> {
  const timing = {
    'repl-diskless-sync-delay': '0',
    'repl-ping-replica-period': '1',
    'repl-timeout': '5',
    ...config,
  }
  const servers: RedisServer[] = []
  const names = new Map<number, number>()
  for (let i = 0; i <= replicas; i++) {
    const server = await startRedis({ config: timing })
    servers.push(server)
    const name = (await announced?.(server.port)) ?? server.port
    names.set(name, server.port)
    for (const [setting, value] of [
      ['replica-announce-ip', '127.0.0.1'],
      ['replica-announce-port', String(name)],
    ] as const)
      await server.ask('CONFIG', 'SET', setting, value)
    await server.ask('CONFIG', 'REWRITE')
  }
  const known = [...names.keys()]
  for (const server of servers.slice(1)) {
    await server.ask('REPLICAOF', '127.0.0.1', String(known[0]))
    await server.ask('CONFIG', 'REWRITE')
    await eventually(async () => (await server.ask('INFO', 'replication')).includes('master_link_status:up'))
  }
  const sentinels = await Promise.all(
    Array.from({ length: 3 }, () =>
      startRedis({
        sentinel: true,
        lines: [
          `sentinel monitor main 127.0.0.1 ${known[0]} 2`,
          `sentinel down-after-milliseconds main ${replacedAfterMs}`,
          'sentinel failover-timeout main 3000',
          'sentinel parallel-syncs main 1',
        ],
      }),
    ),
  )
  for (const sentinel of sentinels)
    await eventually(async () => {
      const facts = await sentinel.ask('SENTINEL', 'MASTER', 'main')
      return (
        fieldOf(facts, 'num-other-sentinels') === '2' && fieldOf(facts, 'num-slaves') === String(replicas)
      )
    })
  const all = [...servers, ...sentinels]
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/main`,
    servers,
    sentinels,
    primary: async () => {
      const answers = await Promise.all(
        sentinels.map((sentinel) => sentinel.ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main')),
      )
      const said = new Set(answers.map((answer) => names.get(Number(answer.split('\n').at(-1)))))
      const server = servers.find(({ port }) => said.has(port))
      if (server === undefined || said.size > 1) throw new Error('the sentinels do not agree')
      if (!(await server.ask('ROLE')).includes('master')) throw new Error('it is not yet the primary')
      return server
    },
    dispose: () => disposeAll(all),
  }
}

/** Names and values of a flat answer follow one another, each behind its length. */
function fieldOf(answer: string, name: string): string | undefined {
  const lines = answer.split('\n')
  return lines[lines.indexOf(name) + 2]
}

async function disposeAll(servers: readonly RedisServer[]): Promise<void> {
  for (const server of servers) await server.dispose()
}

/** Waits for something that servers decide among themselves, looking often; half a minute is a failure. */
export async function eventually(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_500; tries++) {
    if (await condition().catch(() => false)) return
    await pause(20)
  }
  throw new Error('what was waited for did not happen')
}
