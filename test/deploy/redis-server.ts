import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { run } from '../debian.ts'
import { until } from '../until.ts'
import { at, lines, read } from './files.ts'

/*
 * The files of deploy/redis, run by a real redis-server. Its copies change only addresses, ports and directories.
 */
export interface Node {
  readonly port: number
  /** The lines of redis-cli's answer to a command, as a user; by default as `admin`. */
  ask(command: readonly string[], as?: { user: string; password: string }): string[]
  /** Resolves when it takes commands. */
  kill(signal?: NodeJS.Signals): Promise<void>
  restart(): Promise<void>
}

export const PASSWORDS = {
  countersign: 'countersign-password-of-this-test-only',
  admin: 'admin-password-of-this-test-only-12345',
  replica: 'replica-password-of-this-test-only-123',
  sentinel: 'sentinel-password-of-this-test-only-12',
} as const

const started = new Set<ChildProcess>()

/** Ends every started server, by its own process id. */
export async function endAll(): Promise<void> {
  await Promise.all([...started].map((child) => end(child, 'SIGKILL')))
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  started.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}

/** The ACL file that acl.sh makes of users.acl and these passwords. */
export function aclFile(directory: string, users: readonly (keyof typeof PASSWORDS)[]): string {
  const pairs = users.map((user) => {
    const file = join(directory, `${user}.password`)
    writeFileSync(file, `${PASSWORDS[user]}\n`)
    return `${user}=${file}`
  })
  const made = run('sh', [at('deploy/redis/acl.sh'), at('deploy/redis/users.acl'), ...pairs])
  if (made.status !== 0) throw new Error(made.err)
  const path = join(directory, 'users.acl')
  writeFileSync(path, made.out)
  return path
}

export interface Setup {
  readonly directory: string
  readonly port: number
  /** A file below deploy/redis. */
  readonly config: string
  readonly users?: readonly (keyof typeof PASSWORDS)[]
  /** Files that the configuration includes, by name. */
  readonly privates?: Readonly<Record<string, string>>
  readonly change?: (text: string) => string
  readonly sentinel?: boolean
}

export async function startNode(setup: Setup): Promise<Node> {
  const {
    directory,
    port,
    config,
    users = [],
    privates = {},
    change = (text) => text,
    sentinel = false,
  } = setup
  const etc = join(directory, String(port))
  mkdirSync(join(etc, 'data'), { recursive: true })
  aclFile(etc, users)
  for (const [name, text] of Object.entries(privates)) writeFileSync(join(etc, name), text)
  const text = read(`deploy/redis/${config}`)
    .replaceAll('/etc/redis/', `${etc}/`)
    .replaceAll('/var/lib/redis', join(etc, 'data'))
    .replace(/^bind .*$/m, 'bind 127.0.0.1')
    .replace(/^port \d+$/m, `port ${port}`)
  const path = join(etc, 'redis.conf')
  writeFileSync(path, change(text))
  const log = join(etc, 'log')
  let child: ChildProcess
  const ask: Node['ask'] = (command, as = { user: 'admin', password: PASSWORDS.admin }) => {
    const login = sentinel ? [] : ['--user', as.user]
    const env = { REDISCLI_AUTH: as.password }
    return lines(run('redis-cli', ['-p', String(port), ...login, ...command], { env }).out)
  }
  const start = async (): Promise<void> => {
    child = spawn('redis-server', [path, ...(sentinel ? ['--sentinel'] : []), '--logfile', log], {
      stdio: 'ignore',
    })
    started.add(child)
    await until(() => {
      if (child.exitCode !== null) throw new Error(readFileSync(log, 'utf8'))
      const health = run('redis-cli', [
        '-p',
        String(port),
        '--no-auth-warning',
        '--user',
        'health',
        '--pass',
        'x',
        'ping',
      ])
      return Promise.resolve(/PONG|NOAUTH|WRONGPASS/.test(health.out + health.err))
    })
  }
  await start()
  return { port, ask, kill: (signal = 'SIGKILL') => end(child, signal), restart: start }
}

/** Runs redis-server with these arguments; the returned function ends it. */
export function startRaw(args: readonly string[]): () => Promise<void> {
  const child = spawn('redis-server', args, { stdio: 'ignore' })
  started.add(child)
  return () => end(child, 'SIGTERM')
}

/** Ports that are free, and free 10,000 above too: there a node of a cluster talks to the others. */
export async function clusterPorts(count: number): Promise<number[]> {
  const ports: number[] = []
  for (let port = 17_000 + (process.pid % 4_000); ports.length < count; port++) {
    if ((await isFree(port)) && (await isFree(port + 10_000))) ports.push(port)
  }
  return ports
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
