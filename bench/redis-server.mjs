/* redis-server processes for benchmarks, on free ports of loopback and in temporary directories. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@redis/client'
import { endWithUs } from './gateway.mjs'

/** Redis writes each commit to disk before its answer, and evicts nothing. */
const DURABLE = {
  bind: '127.0.0.1',
  save: '',
  appendonly: 'yes',
  appendfsync: 'always',
  'maxmemory-policy': 'noeviction',
  'repl-diskless-sync-delay': '0',
}
const READY_WITHIN_MS = 30_000

/** Flags for a gateway that accepts a server that may lose the last second. */
export const ASYNC = ['--durability', 'async']

export function redisVersion() {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  if (!stdout) throw new Error('redis-server is not installed: on Debian `apt-get install redis-server`')
  return /v=(\S+)/.exec(stdout)?.[1]
}

export async function startRedis(config = {}) {
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-redis-'))
  const settings = { ...DURABLE, port: String(port), dir: directory, ...config }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  let child
  const ask = (...command) => askOn(port, command)
  const start = async () => {
    child = spawn('redis-server', args, { stdio: 'ignore' })
    const until = performance.now() + READY_WITHIN_MS
    while ((await ask('PING').catch(() => undefined)) !== 'PONG') {
      if (child.exitCode !== null || performance.now() > until) throw new Error('redis-server did not start')
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  await start()
  endWithUs(() => child)
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    pid: () => child.pid,
    ask,
    start,
    kill,
    signal: (signal) => child.kill(signal),
    usedMemory: async () => Number(/^used_memory:(\d+)/m.exec(await ask('INFO', 'memory'))?.[1]),
    stop: async () => {
      await kill()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Starts a replica, and waits until it has caught up. */
export async function startReplica(primary, config = {}) {
  const replica = await startRedis({ replicaof: `127.0.0.1 ${primary.port}`, ...config })
  while (!(await replica.ask('INFO', 'replication')).includes('master_link_status:up'))
    await new Promise((resolve) => setTimeout(resolve, 20))
  return replica
}

async function askOn(port, command) {
  const client = createClient({
    RESP: 2,
    socket: { host: '127.0.0.1', port, reconnectStrategy: false },
    disableClientInfo: true,
  })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await client.sendCommand(command.map(String))
  } finally {
    client.destroy()
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
