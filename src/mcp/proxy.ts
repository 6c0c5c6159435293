import type { JsonObject } from '../contract/json.ts'
import {
  type Gate,
  type GuardOptions,
  InvalidPayload,
  NotExecuted,
  type Payload,
  Withdrawn,
} from '@countersign/sdk'
import {
  type CallId,
  type CallIds,
  isUndecided,
  leaveWaiting,
  refusalFacts,
  refusalText,
  withdrawLeft,
} from '@countersign/sdk/runtime'
import { fromServer } from './from-server.ts'
import {
  callMessage,
  clientNameIn,
  errorMessage,
  failureMessage,
  type FromClient,
  type Id,
  idOf,
  INVALID_REQUEST,
  isUnpinnedMethod,
  lineOf,
  readClient,
  type Refusal,
  SERVER_ENDED,
  type ToolCall,
  withEnd,
} from './message.ts'
import { createPatience, isTimeout, type Patience } from './patience.ts'
import { type Progress, progressOf } from './progress.ts'
import { createQuestions, type Questions } from './questions.ts'
import type { ServerAnswer } from './server-message.ts'
import { type Contracts, createContracts } from './tools.ts'
import { unpinnedRequest } from './unpinned.ts'

/**
 * Relays messages between an MCP client and one MCP server (specification, transport `stdio`). The proxy sends a
 * `tools/call` only after the gateway allows it (docs/agent-api.md), with exactly the approved arguments. The proxy
 * fails closed: it answers an undecided call itself, and does not send the call.
 */
export interface Proxy {
  /** Handles a line from the client, without its end. Resolves when the line is handled completely. Never rejects. */
  fromClient(line: Uint8Array): Promise<void>
  /** Handles a line from the server, without its line end. */
  fromServer(line: Uint8Array): void
  /** Ends all calls, because the ended server answers no request and runs no held call. */
  serverEnded(): void
  /** Ends held calls, because the client has exited. */
  clientEnded(): void
}

export interface ProxyParts {
  readonly gate: Gate
  readonly callIds: CallIds
  readonly toServer: (line: Uint8Array) => void
  readonly toClient: (line: Uint8Array) => void
  /** Writes a note for people who read the client's log. */
  readonly note: (text: string) => void
  /** The prefix of contract names, such as `github.`, for tools that no `source` names. */
  readonly prefix: string
  /** The server's name in contracts. */
  readonly server: string
  /** True to pass instructions, prompts and resources, which no contract pins. */
  readonly passUnpinned: boolean
  /** The task of all calls. */
  readonly taskId: string
  /** Maximum time to hold a call for reviewers, ms. */
  readonly maxWaitMs: number
  /** Time in which a client whose own time limit ended a call may make the call again, seconds. */
  readonly graceSeconds: number
  /** Maximum time in which the server must list all its tools, ms. Calls that arrive earlier wait for the list. */
  readonly listWithinMs: number
  /** Time between two progress messages to a client that requests them, ms. */
  readonly progressEveryMs: number
}

export function createProxy(parts: ProxyParts): Proxy {
  const questions = createQuestions((message) => parts.toServer(lineOf(message)))
  const contracts = createContracts({
    ...parts,
    client: parts.gate.client,
    ask: (...question) => questions.ask(...question),
  })
  const proxy: State = {
    ...parts,
    questions,
    contracts,
    underWay: new Map(),
    relayed: new Set(),
    reviewHeld: () => void reviewHeld(proxy),
    patience: createPatience(parts.maxWaitMs),
    client: undefined,
  }
  return {
    fromClient: (line) => handle(proxy, readClient(line)),
    fromServer: (line) => fromServer(proxy, line),
    serverEnded: () => {
      questions.end('the server ended')
      for (const one of proxy.underWay.values()) {
        one.abort.abort(new ServerEnded('the server ended: the tool did not run'))
        one.sent?.fail(
          new ServerEnded('the server ended before it answered: whether the tool ran is unknown'),
        )
      }
    },
    clientEnded: () => {
      const gone = new DOMException('the client has disconnected', 'TimeoutError')
      for (const { abort } of proxy.underWay.values()) abort.abort(gone)
    },
  }
}

interface State extends ProxyParts {
  /** Open calls by id. 1 and '1' are two ids. */
  readonly underWay: Map<Id, UnderWay>
  /** The client's other requests that the server has not answered. */
  readonly relayed: Set<Id>
  readonly reviewHeld: () => void
  /** The proxy's own requests to the server. */
  readonly questions: Questions
  readonly contracts: Contracts
  readonly patience: Patience
  /** The client's name for itself. */
  client: string | undefined
}

/** An open call. The proxy holds the call until the gateway allows it, and then sends it to the server. */
interface UnderWay {
  readonly asked: ToolCall
  /** By performance.now(), ms. */
  readonly begunAt: number
  readonly abort: AbortController
  readonly progress: Progress
  /** The gateway's name of the tool, once its contract is known. */
  tool?: string
  /** The reason why the call must no longer run, although its client waits. */
  refused?: NotExecuted
  sent?: {
    readonly answer: (answer: ServerAnswer) => void
    readonly fail: (why: Error) => void
  }
}

/**
 * The error for the end of the server. The name of this error keeps the thread open, because the client may start the
 * server again.
 */
class ServerEnded extends Error {
  override readonly name = 'TimeoutError'
}

/** The client's own time limit ended its wait. The client may make the same call again. */
class ClientTimedOut extends Error {
  override readonly name = 'TimeoutError'
}

/** A failed call. `line` is the answer to the client. When this error is thrown, the guard reports the failure. */
class ToolFailed extends Error {
  readonly line: Uint8Array

  constructor(line: Uint8Array) {
    super('the tool failed')
    this.line = line
  }
}

async function handle(proxy: State, wanted: FromClient): Promise<void> {
  switch (wanted.kind) {
    case 'call':
      return call(proxy, wanted.call)
    case 'cancel':
      return cancel(proxy, wanted)
    case 'refuse':
      if (wanted.cancelled !== undefined) giveUp(proxy, wanted.cancelled, '')
      return refuse(proxy, wanted)
    case 'relay':
      return relay(proxy, wanted.message)
  }
}

function relay(proxy: State, message: JsonObject): void {
  proxy.client = clientNameIn(message) ?? proxy.client
  const id = idOf(message['id'])
  if (!proxy.passUnpinned && isUnpinnedMethod(message)) return refuse(proxy, unpinnedRequest(id))
  if ('method' in message && id !== undefined) proxy.relayed.add(id)
  if (message['method'] === 'tools/list' && id !== undefined) proxy.contracts.asked(id, message['params'])
  proxy.toServer(lineOf(message))
}

function refuse({ toClient, toServer, note }: State, refusal: Refusal): void {
  const { id, code, why, asker, isCorrectable = false } = refusal
  note(`refused: ${why}`)
  if (id === undefined) return
  if (isCorrectable && id !== null) return toClient(lineOf(misfit(id, why)))
  const line = lineOf(errorMessage(id, code, why))
  if (asker === 'client') toClient(line)
  else toServer(line)
}

function misfit(id: Id, why: string): JsonObject {
  const refused = new InvalidPayload(why)
  return failureMessage(id, refusalText(refused), refusalFacts(refused))
}

/** Cancels a call. Passes the message on unless the call is held, because the server does not know a held call. */
function cancel(proxy: State, { id, reason, message }: Cancelled): void {
  const one = proxy.underWay.get(id)
  if (one === undefined || one.sent !== undefined) proxy.toServer(lineOf(message))
  giveUp(proxy, id, reason)
}

type Cancelled = Extract<FromClient, { readonly kind: 'cancel' }>

/** Ends the wait for a held call after the client's own time limit or without a reason, and the call for any other. */
function giveUp({ underWay, relayed, patience }: State, id: Id, reason: string): void {
  relayed.delete(id)
  const one = underWay.get(id)
  if (one === undefined) return
  const timedOut = isTimeout(reason)
  if (timedOut) patience.ended(performance.now() - one.begunAt)
  const endsWait = timedOut || reason.trim() === ''
  one.abort.abort(endsWait ? new ClientTimedOut('the client stopped waiting') : undefined)
  one.sent?.fail(new Error('the client gave up'))
}

async function call(proxy: State, asked: ToolCall): Promise<void> {
  const { underWay, toClient } = proxy
  const { id } = asked
  if (underWay.has(id)) {
    const why = 'a request with this id is already open'
    return refuse(proxy, { kind: 'refuse', id, code: INVALID_REQUEST, why, asker: 'client' })
  }
  const one: UnderWay = {
    asked,
    begunAt: performance.now(),
    abort: new AbortController(),
    progress: progressOf(proxy, asked),
  }
  underWay.set(id, one)
  const line = await guarded(proxy, one)
  underWay.delete(id)
  if (line !== undefined) toClient(line)
}

/** Returns the answer to the client; undefined when the client no longer waits. */
async function guarded(proxy: State, one: UnderWay): Promise<Uint8Array | undefined> {
  const { gate, server, taskId, graceSeconds } = proxy
  const { asked, progress } = one
  const { name, args, client = proxy.client } = asked
  const callId = await proxy.callIds.take({ taskId, server, name, args, client: client ?? '' })
  const options: GuardOptions<Payload> = {
    callId: callId.id,
    maxWaitMs: proxy.patience.waitMs(),
    signal: one.abort.signal,
    graceSeconds: Infinity,
    onPending: ({ thread_id }) => {
      callId.hold(thread_id)
      progress.begin(`waiting for people to decide, thread ${thread_id ?? ''}`)
    },
    ...(client === undefined ? {} : { workflow_name: client }),
  }
  const run = (args: Payload): Promise<Uint8Array> => {
    // the call is decided, and from now on the server reports its progress
    progress.end()
    callId.end()
    return send(proxy, args, one)
  }
  try {
    one.tool = await contractOf(proxy, one)
    return await gate.guard(one.tool, asked.args, run, options)
  } catch (error) {
    settle(error, callId)
    if (!isOpen(error)) await withdrawLeft(gate.client, callId, error)
    else if (one.abort.signal.reason instanceof ClientTimedOut)
      await leaveWaiting(gate.client, callId.thread, graceSeconds)
    return failureOf(whyOf(error, one), one)
  } finally {
    progress.end()
  }
}

function contractOf({ contracts }: State, { asked, abort: { signal } }: UnderWay): Promise<string> {
  return contracts.contractOf(asked.name, { signal, meta: asked.rest['_meta'] })
}

/** Returns the reason why a judged call must not run: its tool or the tool's contract has changed since. */
async function changeOf(proxy: State, one: UnderWay): Promise<NotExecuted | undefined> {
  try {
    if ((await contractOf(proxy, one)) === one.tool) return undefined
    return new Withdrawn(`the contract of \`${one.asked.name}\` has changed`)
  } catch (error) {
    return error as NotExecuted
  }
}

/** Ends held calls whose tool has changed since reviewers saw it. After a late list, `send` checks again. */
async function reviewHeld(proxy: State): Promise<void> {
  const held = [...proxy.underWay.values()].filter(({ tool, sent }) => tool !== undefined && !sent)
  const reviewing = held.map(async (one) => {
    const change = await changeOf(proxy, one)
    if (change === undefined || isOpen(change) || one.sent || one.abort.signal.aborted) return
    one.refused = change
    one.abort.abort()
  })
  await Promise.all(reviewing)
}

/** Sends an approved call. Resolves with the server's answer in its original bytes. @throws ToolFailed */
async function send(proxy: State, args: Payload, one: UnderWay): Promise<Uint8Array> {
  const { asked, abort } = one
  const change = await changeOf(proxy, one)
  if (one.refused === undefined) abort.signal.throwIfAborted()
  const refused = one.refused ?? change
  if (refused !== undefined) throw new ToolFailed(notRun(asked.id, refused))
  const answer = new Promise<ServerAnswer>((resolve, reject) => {
    one.sent = { answer: resolve, fail: reject }
  })
  proxy.toServer(lineOf(callMessage(asked, args)))
  const { failed, line } = await answer
  if (failed) throw new ToolFailed(withEnd(line))
  return withEnd(line)
}

/** Returns the reason for the client: the proxy's own when the proxy ended the held call. */
function whyOf(error: unknown, { refused, abort: { signal } }: UnderWay): unknown {
  const isHeld = error instanceof NotExecuted && signal.aborted
  if (isHeld && refused !== undefined) return refused
  return isHeld && signal.reason instanceof ServerEnded ? signal.reason : error
}

function isOpen(error: unknown): boolean {
  return error instanceof NotExecuted && isUndecided(error)
}

/** Leaves an undecided call open for a later attempt. Ends any other call. */
function settle(error: unknown, callId: CallId): void {
  if (isOpen(error)) callId.leave()
  else callId.end()
}

function failureOf(error: unknown, { asked, refused, abort }: UnderWay): Uint8Array | undefined {
  if (error instanceof ToolFailed) return error.line
  if (error instanceof ServerEnded) return lineOf(errorMessage(asked.id, SERVER_ENDED, error.message))
  if (!(error instanceof NotExecuted)) return undefined
  if (abort.signal.aborted && error !== refused) return undefined
  return notRun(asked.id, error)
}

function notRun(id: Id, error: NotExecuted): Uint8Array {
  return lineOf(failureMessage(id, refusalText(error), refusalFacts(error)))
}
