import type { Connection, Peer } from './connection.ts'
import type { Script } from './scripts.ts'
import { parseRedirection } from './slots.ts'
import type { Topology } from './topology.ts'
import { afterSilence } from '../patience.ts'
import { StoreIndeterminate, StoreUnavailable } from '../store.ts'

/*
 * Calls to Redis that end by their deadline (S09), regardless of the server and the network. node-redis limits only the
 * time until a command is written, so each call races a timer of the store. The kind of error depends on whether the
 * command may have been executed. An error reply that Redis sends before it runs a script means no. A missing answer
 * means maybe.
 */
export interface Calls {
  /**
   * Runs a call. With `reads`, the call changes nothing, so a missing answer causes `StoreUnavailable`.
   *
   * @throws StoreUnavailable when the call was not executed, StoreIndeterminate when it may have been executed
   */
  run(call: Call): Promise<Answer>
}

export interface Call {
  /** Any key of the partition, which selects the server. */
  readonly key: string
  readonly args: readonly string[]
  /** The script that `args` call by its hash. The store sends it as text to a server that does not have it yet. */
  readonly script?: Script
  /** ms from now. */
  readonly ms: number
  readonly reads: boolean
}

export interface Answer {
  readonly reply: unknown
  /** The server that answered. */
  readonly peer: Peer
}

/** Errors that Redis sends before a command runs. The data is unchanged, and a retry may succeed. */
const PASSING = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|LOADING|READONLY|MASTERDOWN|NOREPLICAS|BUSY) /
/** Errors that Redis sends before a command runs. Such errors are likely to persist. */
const REFUSED = /^(OOM|MISCONF|NOPERM|NOAUTH|WRONGPASS|CROSSSLOT|NOSCRIPT) ?/
/**
 * The text that Redis adds to an error from inside a script, after a part of the script has run. Newer servers use the
 * same codes for errors before and inside a script.
 */
const FROM_INSIDE = / script: [0-9a-f]{40}/
const PAUSE_MS = 25
/** The server has another role than expected. */
const MOVED_ON = /^(READONLY|CLUSTERDOWN|MASTERDOWN) /

export function createCalls(topology: Topology): Calls {
  const attempt = async (call: Call, end: number): Promise<Answer> => {
    const peer = topology.peerOf(call.key)
    const left = end - performance.now()
    try {
      return { reply: await sent(peer, call, left), peer: peer as Peer }
    } catch (error) {
      return follow(call, end, error as Error, peer)
    }
  }

  const follow = async (call: Call, end: number, error: Error, peer: Peer | undefined): Promise<Answer> => {
    const redirection = peer && parseRedirection(error.message, peer.host)
    if (redirection === undefined || peer === undefined) throw error
    topology.refresh()
    const other = topology.peerAt(redirection.host)
    if (other === peer) throw new StoreUnavailable('the server belongs to a cluster: use redis+cluster')
    await soon(other, end)
    const left = end - performance.now()
    if (redirection.ask) {
      const connection = connectionOf(other)
      const asked = Promise.all([
        connection.sendCommand(['ASKING']),
        raced(connection, withSource(call), left),
      ])
      return { reply: (await asked)[1], peer: other }
    }
    return { reply: await sent(other, call, left), peer: other }
  }

  return {
    async run(call) {
      const end = performance.now() + call.ms
      for (;;) {
        try {
          return await attempt(call, end)
        } catch (error) {
          const failure = error as Error
          if (failure instanceof StoreUnavailable || failure instanceof StoreIndeterminate) throw failure
          const passing = isBefore(PASSING, failure)
          if (MOVED_ON.test(failure.message)) movedOn(topology, call.key, failure)
          if (!passing || end - performance.now() < 2 * PAUSE_MS) throw meaningOf(failure, call)
          await pause(PAUSE_MS * (0.5 + Math.random()))
        }
      }
    },
  }
}

/** The arguments of a script call, `keys` first. */
export function scriptArguments(script: Script, keys: readonly string[], args: readonly string[]): string[] {
  return ['EVALSHA', script.sha, String(keys.length), ...keys, ...args]
}

/** Sends the script as text. ASKING applies only to the next command, so that command must not need a second try. */
function withSource(call: Call): Call {
  const { script, ...plain } = call
  return script === undefined ? call : { ...plain, args: sourceArguments(script, call.args) }
}

function sourceArguments(script: Script, args: readonly string[]): string[] {
  return ['EVAL', script.source, ...args.slice(2)]
}

function connectionOf(peer: Peer | undefined): Connection {
  const connection = peer?.connection()
  if (connection !== undefined) return connection
  throw new StoreUnavailable(peer?.reason() ?? 'no server for this partition is known yet')
}

function sent(peer: Peer | undefined, call: Call, ms: number): Promise<unknown> {
  return raced(connectionOf(peer), call, ms)
}

/** This function is not async and uses one timer, because it is on the hot path. */
function raced(connection: Connection, call: Call, ms: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = afterSilence(() => reject(silence(call)), Math.max(ms, 0))
    const done = (reply: unknown): void => {
      connection.heardAt = performance.now()
      clearTimeout(timer)
      resolve(reply)
    }
    const failed = (error: Error): void => {
      clearTimeout(timer)
      reject(error)
    }
    connection.sendCommand(call.args).then(done, (error: Error) => {
      const { script } = call
      if (script === undefined || !error.message.startsWith('NOSCRIPT')) return failed(error)
      connection.sendCommand(sourceArguments(script, call.args)).then(done, failed)
    })
  })
}

function silence({ reads }: Call): Error {
  return reads
    ? new StoreUnavailable('the server did not answer in time')
    : new StoreIndeterminate('the server did not answer in time')
}

/** True when Redis sent an error of this kind before it ran the command. */
function isBefore(kind: RegExp, { message }: Error): boolean {
  return kind.test(message) && !FROM_INSIDE.test(message)
}

/** The states of node-redis in words, for operators who read the log. */
const SAID: Readonly<Record<string, string | undefined>> = {
  ClientOfflineError: 'there is no connection',
  ClientClosedError: 'there is no connection',
  DisconnectsClientError: 'the server stopped answering, and the connection was closed',
  SocketClosedUnexpectedlyError: 'the connection was lost before the answer arrived',
}

/** The store's error for a failure. */
function meaningOf(error: Error, { reads }: Call): Error {
  const { name } = error.constructor
  const offline = /^(ClientOffline|ClientClosed)Error$/.test(name)
  const text = `redis: ${SAID[name] ?? error.message}`
  if (reads || offline || isBefore(PASSING, error) || isBefore(REFUSED, error))
    return new StoreUnavailable(text, { cause: error })
  return new StoreIndeterminate(text, { cause: error })
}

function movedOn(topology: Topology, key: string, error: Error): void {
  topology.refresh()
  if (error.message.startsWith('READONLY')) topology.peerOf(key)?.renew('the server is no longer a primary')
}

/** Waits a short time for a server that was never connected. */
async function soon(peer: Peer, end: number): Promise<void> {
  if (peer.connection() !== undefined) return
  await Promise.race([peer.tried, pause(Math.max(0, end - performance.now()))])
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
