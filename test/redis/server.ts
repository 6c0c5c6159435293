import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureProgram } from '../debian.ts'
import { freePort } from '../ports.ts'

/*
 * Real redis-server processes: on free ports of the loopback, in directories of their own, ended by their process id.
 * The system's package manager installs the program where it is missing.
 */
export interface RedisServer {
  readonly port: number
  readonly directory: string
  readonly url: string
  pid(): number
  /** One command, as text. */
  ask(...command: readonly string[]): Promise<string>
  /** The same, on another database than 0. */
  askIn(database: number, ...command: readonly string[]): Promise<string>
  signal(signal: NodeJS.Signals): void
  /** Ends the process and waits for it. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Starts it again on the same port and directory; resolves when it answers. */
  start(): Promise<void>
  /** Ends it and removes its directory. */
  dispose(): Promise<void>
}

export interface RedisSettings {
  /** Name and value as in redis.conf; replaces the defaults below. */
  readonly config?: Readonly<Record<string, string>>
  /** Lines of redis.conf that may repeat, such as lines of a sentinel. */
  readonly lines?: readonly string[]
  readonly sentinel?: boolean
}

/** Another one, such as another version or `valkey-server`, is named by the environment. */
const DEFAULT_PROGRAM = 'redis-server'
const PROGRAM = process.env['COUNTERSIGN_TEST_REDIS'] ?? DEFAULT_PROGRAM

/** Each commit is on disk before its answer; nothing is evicted. */
const DEFAULTS = {
  bind: '127.0.0.1',
  save: '""',
  appendonly: 'yes',
  appendfsync: 'always',
  'maxmemory-policy': 'noeviction',
  'protected-mode': 'no',
  'repl-diskless-sync-delay': '0',
}

export async function startRedis({
  config = {},
  lines = [],
  sentinel = false,
}: RedisSettings = {}): Promise<RedisServer> {
  if (PROGRAM === DEFAULT_PROGRAM) ensureProgram(PROGRAM, 'redis-server')
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'countersign-redis-'))
  const file = join(directory, 'redis.conf')
  const settings = { ...(sentinel ? { bind: '127.0.0.1', 'protected-mode': 'no' } : DEFAULTS), ...config }
  const all = { port: String(port), dir: directory, ...settings }
  writeFileSync(
    file,
    [...Object.entries(all).map(([name, value]) => `${name} ${value}`), ...lines].join('\n'),
  )
  const server = new Server(port, directory, [file, ...(sentinel ? ['--sentinel'] : [])])
  await server.start()
  return server
}

class Server implements RedisServer {
  readonly port: number
  readonly directory: string
  readonly #args: readonly string[]
  #child: ChildProcess | undefined

  constructor(port: number, directory: string, args: readonly string[]) {
    this.port = port
    this.directory = directory
    this.#args = args
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  pid(): number {
    return this.#child?.pid ?? 0
  }

  async start(): Promise<void> {
    this.#child = spawn(PROGRAM, this.#args, { stdio: 'ignore' })
    for (let tries = 0; tries < 1_000; tries++) {
      const answer = await this.ask('PING').catch(() => '')
      if (answer === 'PONG' || answer.startsWith('NOAUTH')) return
      if (this.#child.exitCode !== null) throw new Error(`redis-server ended with ${this.#child.exitCode}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    throw new Error('redis-server does not answer')
  }

  ask(...command: readonly string[]): Promise<string> {
    return ask(this.port, command)
  }

  /** In a script, because each command has a connection of its own. */
  askIn(database: number, ...command: readonly string[]): Promise<string> {
    const script = "redis.call('SELECT', ARGV[1]) return redis.call(unpack(ARGV, 2))"
    return this.ask('EVAL', script, '0', String(database), ...command)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    if (signal !== 'SIGKILL') child.kill('SIGCONT')
    await ended
  }

  async dispose(): Promise<void> {
    await this.kill()
    // a child that it has forked to write its files anew outlives it for a moment
    for (let left = 500; ; left--) {
      try {
        return rmSync(this.directory, { recursive: true, force: true })
      } catch (error) {
        if (left === 0 || (error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
      }
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
}

/** Sends one command on a connection of its own and returns the raw answer, its type mark and line ends left out. */
function ask(port: number, command: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.setTimeout(5_000, () => socket.destroy(new Error('no answer')))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('closed')))
    socket.on('data', (data) => {
      text += String(data)
      if (!isWhole(text)) return
      socket.end()
      resolve(
        text.startsWith('$') || text.startsWith('*')
          ? text.split('\r\n').slice(1).join('\n').trim()
          : text.slice(1).trim(),
      )
    })
    const parts = command.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`)
    socket.write(`*${command.length}\r\n${parts.join('')}`)
  })
}

/** Whether a RESP2 answer is complete; arrays are counted by their parts. */
function isWhole(text: string): boolean {
  return wholeLength(Buffer.from(text), 0) !== undefined
}

function wholeLength(bytes: Buffer, at: number): number | undefined {
  const end = bytes.indexOf('\r\n', at)
  if (end < 0) return undefined
  const kind = String.fromCharCode(bytes[at] as number)
  const count = Number(bytes.toString('latin1', at + 1, end))
  if (kind === '$') {
    const next = count < 0 ? end + 2 : end + 2 + count + 2
    return next <= bytes.length ? next : undefined
  }
  let next: number | undefined = end + 2
  for (let i = 0; kind === '*' && i < count && next !== undefined; i++) next = wholeLength(bytes, next)
  return next
}
