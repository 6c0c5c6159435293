import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { isObject } from '../contract/json.ts'
import type { Clock } from './web-api.ts'

/**
 * Socket Mode: the gateway opens the connection, and Slack sends clicks through it (docs/chat.md). One connection at a
 * time. When Slack is about to end a connection, the next one begins at once, and the old one stays open for
 * acknowledgements.
 */
export interface SocketOptions {
  /** The URL of the next connection. @throws Refused */
  readonly nextUrl: (signal: AbortSignal) => Promise<string>
  /** Opens the guarded connection below TLS; undefined for a server on this machine without TLS. */
  readonly open: (url: string) => Promise<Duplex | undefined>
  readonly onEnvelope: (envelope: Envelope) => void
  /** True after each hello, false when a connection has ended without a next one. */
  readonly onConnected: (is: boolean) => void
  /** Why there is no connection now. */
  readonly onTrouble: (why: string) => void
  readonly clock: Clock
}

export interface Envelope {
  readonly id: string
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
  /** Id of the app, as Slack named it for this connection. */
  readonly app: string | undefined
  /** Returns false when the connection is gone, and the acknowledgement with it. */
  acknowledge(payload?: object): boolean
}

export interface Socket {
  close(): Promise<void>
}

const HELLO_MS = 10_000
const BEAT_MS = 10_000
const SILENT_MS = 30_000
/** A retired connection stays open for acknowledgements, ms. */
const RETIRED_MS = 10_000
const MAX_PAYLOAD = 1024 * 1024
const FIRST_PAUSE_MS = 1_000
const LAST_PAUSE_MS = 5 * 60_000
/** Slack announces these ends of a connection; the app may connect again at once. */
const PLANNED = ['warning', 'refresh_requested']

export function openSocket(options: SocketOptions): Socket {
  const stop = new AbortController()
  const running = run(options, stop.signal)
  return {
    async close() {
      stop.abort()
      await running
    },
  }
}

/** Connects until the end, with growing pauses after connections that fail. */
async function run(options: SocketOptions, signal: AbortSignal): Promise<void> {
  const { clock, onConnected, onTrouble } = options
  for (let failures = 0; !signal.aborted;) {
    const ended = await connection(options, signal).catch((error: Error) => ({
      why: error.message,
      good: false,
    }))
    if (PLANNED.includes(ended.why) && ended.good) {
      failures = 0
      continue
    }
    onConnected(false)
    if (signal.aborted) return
    onTrouble(ended.why)
    failures = ended.good ? 0 : failures + 1
    const pause = Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures)
    await clock.sleep(pause, signal).catch(() => undefined)
  }
}

interface Ended {
  readonly why: string
  /** Slack had greeted, and did not refuse the app. */
  readonly good: boolean
}

/** One connection. Resolves when it has ended or Slack announces its end. */
async function connection(options: SocketOptions, signal: AbortSignal): Promise<Ended> {
  const url = await options.nextUrl(signal)
  const { WebSocket: Client } = await import('ws')
  const below = await options.open(url)
  const socket = new Client(url, {
    perMessageDeflate: false,
    maxPayload: MAX_PAYLOAD,
    handshakeTimeout: HELLO_MS,
    ...(below && { createConnection: () => below }),
  })
  return new Promise((resolve) => {
    const { clock } = options
    let [app, greeted, heard] = [undefined as string | undefined, false, clock.now()]
    const end = (why: string, good: boolean): void => {
      resolve({ why, good })
      signal.removeEventListener('abort', cut)
      // clicks under way are still acknowledged
      if (signal.aborted) socket.terminate()
      else setTimeout(() => socket.terminate(), RETIRED_MS).unref()
    }
    const cut = (): void => end('closed', true)
    signal.addEventListener('abort', cut, { once: true })
    const hello = setTimeout(() => greeted || end('no hello', false), HELLO_MS)
    const beat = setInterval(() => {
      if (clock.now() - heard > SILENT_MS) socket.terminate()
      else if (socket.readyState === socket.OPEN) socket.ping()
    }, BEAT_MS)
    for (const event of ['ping', 'pong', 'message'] as const) socket.on(event, () => (heard = clock.now()))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(hello)
      clearInterval(beat)
      end(greeted ? 'connection lost' : 'no connection', greeted)
    })
    socket.on('message', (data) => {
      const message = parseJson(String(data as Buffer))
      if (message === undefined) return
      if (message['type'] === 'hello') {
        const info = message['connection_info']
        app = isObject(info) && typeof info['app_id'] === 'string' ? info['app_id'] : undefined
        greeted = true
        options.onConnected(true)
      } else if (message['type'] === 'disconnect') {
        const why = String(message['reason'])
        end(why, greeted && (PLANNED.includes(why) || why === 'closed'))
      } else pass(message, socket, { options, app })
    })
    if (signal.aborted) cut()
  })
}

function pass(
  message: Readonly<Record<string, unknown>>,
  socket: WebSocket,
  { options, app }: { readonly options: SocketOptions; readonly app: string | undefined },
): void {
  const { envelope_id: id, type, payload } = message
  if (typeof id !== 'string' || typeof type !== 'string') return
  options.onEnvelope({
    id,
    type,
    payload: isObject(payload) ? payload : {},
    app,
    acknowledge(answer) {
      if (socket.readyState !== socket.OPEN) return false
      socket.send(JSON.stringify({ envelope_id: id, ...(answer && { payload: answer }) }))
      return true
    },
  })
}

function parseJson(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
