import { createClient } from 'redis'
import type { Host, Password } from './address.ts'
import { createOffset } from './clock-offset.ts'
import { SCRIPTS } from './scripts.ts'
import {
  CONFIG_NAMES,
  isNewEnough,
  type ServerFacts,
  inOneSentence,
  problemsOf,
  readFacts,
  type Wanted,
} from './settings.ts'
import { within } from '../patience.ts'
import { StoreUnavailable } from '../store.ts'

/*
 * Keeps the connection to one Redis server. The gateway drops a server that has not answered for `SILENCE_MS`: all
 * calls in progress end, and the gateway reconnects. No call is queued without a connection.
 */

/** The part of a node-redis connection that the store uses. */
export interface Connection {
  /** Time of the last answer, by `performance.now()`. Senders update this time. */
  heardAt: number
  sendCommand(args: readonly string[]): Promise<unknown>
  sSubscribe(channel: string, listener: () => void): Promise<void>
  sUnsubscribe(channel: string): Promise<void>
  destroy(): void
}

export interface PeerOptions {
  readonly host: Host
  readonly tls: boolean
  readonly username?: string
  readonly password?: Password
  readonly database?: number
  readonly wanted: Wanted
  /** Called each time the server becomes usable or unusable. */
  readonly onChange: (peer: Peer) => void
}

const CONNECT_MS = 1_000
const HEARTBEAT_MS = 250
export const SILENCE_MS = 1_000
const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000
/** Interval at which settings are checked, because they may change while the server runs. */
const PROBE_EVERY_MS = 10_000
/** The slot of a key or channel has moved to another node, or is moving. */
export const ELSEWHERE = /^(MOVED|ASK) /

/**
 * Opens one connection that does not reconnect by itself. `onEnd` is called once, when the connection ends or fails to
 * open.
 */
export async function connect(
  options: Omit<PeerOptions, 'wanted' | 'onChange'>,
  onEnd: () => void,
): Promise<Connection> {
  let client: ReturnType<typeof clientOf> | undefined
  let ended = false
  const end = (): void => {
    if (ended) return
    ended = true
    onEnd()
  }
  try {
    const { password } = options
    const now = typeof password === 'function' ? await within(password(), CONNECT_MS) : password
    client = clientOf(options, now)
    client.on('error', end)
    client.on('end', end)
    await within(client.connect(), CONNECT_MS)
  } catch (error) {
    client?.destroy()
    end()
    throw error
  }
  const connected = client
  return {
    heardAt: performance.now(),
    sendCommand: (args) => connected.sendCommand(args),
    sSubscribe: (channel, listener) => connected.sSubscribe(channel, listener),
    sUnsubscribe: (channel) => connected.sUnsubscribe(channel),
    destroy: () => {
      if (connected.isOpen) connected.destroy()
      end()
    },
  }
}

function clientOf(options: Omit<PeerOptions, 'wanted' | 'onChange'>, password: string | undefined) {
  const { host, port } = options.host
  return createClient({
    RESP: 2,
    socket: {
      host,
      port,
      // the store's own limit is shorter, and does not count pauses of this process
      connectTimeout: 4 * CONNECT_MS,
      reconnectStrategy: false,
      ...(options.tls ? { tls: true as const } : {}),
    },
    ...(options.username === undefined ? {} : { username: options.username }),
    ...(password === undefined ? {} : { password }),
    ...(options.database === undefined ? {} : { database: options.database }),
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandOptions: { timeout: 0 },
  })
}

export class Peer {
  readonly host: Host
  /** Resolves when the first attempt to connect is over. */
  readonly tried: Promise<void>
  readonly #options: PeerOptions
  readonly #channels = new Map<string, () => void>()
  #main: Connection | undefined
  #waiter: Promise<Connection> | undefined
  #subscriber: Promise<Connection> | undefined
  #facts: ServerFacts | undefined
  #reason: string | undefined = 'not connected yet'
  readonly #offset = createOffset()
  #failures = 0
  #probedAt = -Infinity
  #timer: NodeJS.Timeout | undefined
  #unheard = 0
  /** The timer after which the connection for messages is tried again. */
  #listenTimer: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: PeerOptions) {
    this.#options = options
    this.host = options.host
    this.tried = this.#open()
  }

  /**
   * The connection. Undefined while the server is not connected, does not answer, is not a primary or has unsafe
   * settings. `reason` returns the reason.
   */
  connection(): Connection | undefined {
    return this.#reason === undefined ? this.#main : undefined
  }

  reason(): string | undefined {
    return this.#reason
  }

  facts(): ServerFacts | undefined {
    return this.#facts
  }

  /**
   * The difference, in ms, between the server's clock and `performance.now()`. The estimate is never too high.
   * Undefined before the first answer.
   */
  clockOffset(): number | undefined {
    return this.#offset.best()
  }

  /** A separate connection for WAIT, which blocks all later commands on its connection. */
  waiter(): Promise<Connection> {
    this.#waiter ??= this.#aside((gone) => {
      if (this.#waiter === gone) this.#waiter = undefined
    })
    return this.#waiter
  }

  async subscribe(channel: string, listener: () => void): Promise<void> {
    this.#channels.set(channel, listener)
    try {
      await (await this.#listening()).sSubscribe(channel, listener)
    } catch (error) {
      this.#channels.delete(channel)
      throw error
    }
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#channels.delete(channel)
    if (this.#subscriber !== undefined) await (await this.#subscriber).sUnsubscribe(channel)
  }

  /** Drops the connection and opens a new connection, because the server was demoted or misbehaves. */
  renew(reason: string): void {
    if (this.#main !== undefined) this.#drop(reason)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#drop('closed')
  }

  async #open(): Promise<void> {
    let main: Connection | undefined
    try {
      main = await connect(this.#options, () => {
        if (main !== undefined && this.#main === main) this.#drop('the connection was lost')
      })
      if (this.#closed) return main.destroy()
      this.#main = main
      await this.#probe()
      if (main !== this.#main) return
      this.#failures = 0
      this.#heartbeatLater()
      void this.#resubscribe()
    } catch (error) {
      // the connection was dropped in the meantime, and the next attempt has begun
      if (main !== this.#main) return
      const { host, port } = this.host
      this.#drop(`no connection to ${host}:${port}: ${(error as Error).message}`)
    }
  }

  /** Ends all calls in flight. Unless closed, reconnects after a pause. */
  #drop(reason: string): void {
    const [main, aside] = [this.#main, [this.#waiter, this.#subscriber]]
    this.#main = undefined
    this.#waiter = undefined
    this.#subscriber = undefined
    this.#offset.forget()
    this.#state(reason)
    main?.destroy()
    for (const one of aside) void one?.then((connection) => connection.destroy()).catch(() => undefined)
    clearTimeout(this.#timer)
    clearTimeout(this.#listenTimer)
    this.#listenTimer = undefined
    if (this.#closed) return
    this.#timer = setTimeout(() => void this.#open(), pauseAfter(this.#failures))
    this.#failures += 1
  }

  #state(reason: string | undefined): void {
    if (this.#reason === reason) return
    this.#reason = reason
    this.#options.onChange(this)
  }

  async #probe(): Promise<void> {
    const main = this.#main
    if (main === undefined) return
    const info = String(await within(main.sendCommand(['INFO']), SILENCE_MS))
    const config = await within(readConfig(main), SILENCE_MS)
    const facts = readFacts(info, config)
    const { wanted } = this.#options
    const forbidden = await within(readForbidden(main, facts, wanted), SILENCE_MS)
    await this.#beat(main)
    if (main !== this.#main) return
    this.#probedAt = performance.now()
    this.#facts = { ...facts, forbidden }
    this.#state(inOneSentence(problemsOf(this.#facts, wanted)))
  }

  #heartbeatLater(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#heartbeat(), HEARTBEAT_MS)
  }

  async #heartbeat(): Promise<void> {
    const main = this.#main
    if (main === undefined) return
    try {
      await this.#beat(main)
      if (performance.now() - this.#probedAt > PROBE_EVERY_MS || this.#reason !== undefined)
        await this.#probe()
      if (main === this.#main) this.#heartbeatLater()
    } catch (error) {
      if (main !== this.#main) return
      // a busy server answers earlier commands first, and each of these answers shows that the server is alive
      if (performance.now() - main.heardAt < SILENCE_MS) this.#heartbeatLater()
      else this.#drop(`the server does not answer: ${(error as Error).message}`)
    }
  }

  async #beat(main: Connection): Promise<void> {
    const [seconds, micros] = (await within(main.sendCommand(['TIME']), SILENCE_MS)) as [string, string]
    if (main !== this.#main) return
    this.#offset.heard(Number(seconds) * 1_000 + Number(micros) / 1_000, performance.now())
  }

  #listening(): Promise<Connection> {
    if (this.#listenTimer !== undefined) return Promise.reject(new Error('no messages for a moment'))
    this.#subscriber ??= this.#aside((gone) => {
      if (this.#subscriber !== gone) return
      this.#subscriber = undefined
      this.#resubscribeLater()
    })
    return this.#subscriber
  }

  #resubscribeLater(): void {
    if (this.#main === undefined || this.#listenTimer !== undefined) return
    this.#listenTimer = setTimeout(() => {
      this.#listenTimer = undefined
      void this.#resubscribe()
    }, pauseAfter(this.#unheard))
    this.#unheard += 1
  }

  /**
   * Subscribes again after a new connection. Waiters then read again, because messages were lost. Commits and reads
   * work without messages.
   */
  async #resubscribe(): Promise<void> {
    try {
      for (const [channel, listener] of this.#channels) {
        const connection = await this.#listening()
        await connection.sSubscribe(channel, listener).catch((error: unknown) => {
          if (!ELSEWHERE.test((error as Error).message)) throw error
          this.#channels.delete(channel)
        })
        listener()
      }
      this.#unheard = 0
    } catch {
      this.#resubscribeLater()
    }
  }

  #aside(onEnd: (gone: Promise<Connection>) => void): Promise<Connection> {
    if (this.#closed) return Promise.reject(new Error('closed'))
    const opened = connect(this.#options, () => onEnd(opened))
    opened.catch(() => undefined)
    return opened
  }
}

/** The pause before an attempt. The pause doubles up to a second. Jitter spreads the reconnects of many gateways. */
function pauseAfter(failures: number): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS)
  return longest * (0.5 + Math.random() / 2)
}

/** Asks a server for facts that only servers of recent versions report. Other servers were refused earlier. */
async function readForbidden(
  main: Connection,
  { role, version }: ServerFacts,
  { replicas, prefix }: Wanted,
): Promise<string[]> {
  if (role !== 'master' || !isNewEnough(version)) return []
  const confirmed = replicas > 0 ? ['confirmed'] : []
  return (await main.sendCommand(['EVAL', SCRIPTS.rights.source, '0', prefix, ...confirmed])) as string[]
}

/** The settings, or undefined when the user may not read them. */
async function readConfig(main: Connection): Promise<Record<string, string> | undefined> {
  try {
    const pairs = (await main.sendCommand(['CONFIG', 'GET', ...CONFIG_NAMES])) as string[]
    return Object.fromEntries(pairs.flatMap((name, i) => (i % 2 === 0 ? [[name, pairs[i + 1] ?? '']] : [])))
  } catch (error) {
    if (/^(NOPERM|ERR)/.test((error as Error).message)) return undefined
    throw error
  }
}

/** @throws StoreUnavailable */
export function connected(peer: Peer | undefined): Connection {
  const connection = peer?.connection()
  if (connection !== undefined) return connection
  throw new StoreUnavailable(peer?.reason() ?? 'no server for this partition is known')
}
