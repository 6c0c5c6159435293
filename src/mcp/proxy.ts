/**
 * Holds: the proxy in front of an MCP server.
 * Imports: @countersign/sdk, contract, system.
 * Start: proxy.ts, then tools.ts.
 */
import type { JsonObject } from '../contract/json.ts'
import { type Gate, type GuardOptions, NotExecuted, type Payload } from '@countersign/sdk'
import {
  type CallId,
  type CallIds,
  isUndecided,
  refusalFacts,
  refusalText,
  withdrawLeft,
} from '@countersign/sdk/runtime'
import {
  asciiJson,
  callMessage,
  clientNameIn,
  errorMessage,
  failureMessage,
  type FromClient,
  type Id,
  idOf,
  INVALID_REQUEST,
  objectIn,
  progressMessage,
  readClient,
  readServer,
  type Refusal,
  SERVER_ENDED,
  type ServerAnswer,
  type ServerProgress,
  type ToolCall,
} from './message.ts'
import { createQuestions, type Questions } from './questions.ts'
import { type Contracts, createContracts } from './tools.ts'

/**
 * Stands between an MCP client and one MCP server (specification, transport `stdio`): everything passes, but `tools/call` only as far as the gateway lets
 * it (docs/agent-api.md), with exactly the arguments that were approved. Fails closed: what cannot be decided is answered, and not sent on.
 */
export interface Proxy {
  /** A line of the client, without its end; resolves when all that follows from it has happened. Never rejects. */
  fromClient(line: Uint8Array): Promise<void>
  /** A line of the server, without its end. */
  fromServer(line: Uint8Array): void
  /** The server is gone: what it was asked will not be answered, and what is held cannot run. */
  serverEnded(): void
  /** The client is gone: what is held runs no more. */
  clientEnded(): void
}

export interface ProxyParts {
  readonly gate: Gate
  readonly callIds: CallIds
  readonly toServer: (line: Uint8Array) => void
  readonly toClient: (line: Uint8Array) => void
  /** For people who look at the log of the client. */
  readonly note: (text: string) => void
  /** In front of the server's name of a tool, where no contract says which tool it is for: `github.`. */
  readonly prefix: string
  /** As contracts name the server. */
  readonly server: string
  /** Of all calls. */
  readonly taskId: string
  /** Longest time to hold a call for people, ms. */
  readonly maxWaitMs: number
  /** How long the server may take to list all its tools, ms. A call that comes before the list waits for it. */
  readonly listWithinMs: number
  /** Time between two signs of life for a client that asked for them, ms. */
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
      const gone = new DOMException('the client is gone', 'TimeoutError')
      for (const { abort } of proxy.underWay.values()) abort.abort(gone)
    },
  }
}

interface State extends ProxyParts {
  /** Calls by id. 1 and '1' are two ids. */
  readonly underWay: Map<Id, UnderWay>
  /** Of the proxy itself to the server. */
  readonly questions: Questions
  readonly contracts: Contracts
  /** What the client calls itself. */
  client: string | undefined
}

/** A call that is held until it is allowed, and then with the server. */
interface UnderWay {
  readonly asked: ToolCall
  readonly abort: AbortController
  readonly progress: Progress
  /** The gateway's name of the tool, once the call is judged by it. */
  tool?: string
  /** Why it must not run any more, though its client waits. */
  refused?: NotExecuted
  sent?: {
    readonly answer: (answer: ServerAnswer) => void
    readonly fail: (why: Error) => void
  }
}

/** The client is there, and may start the server again: what people are asked goes on. */
class ServerEnded extends Error {
  override readonly name = 'TimeoutError'
}

/** Thrown so that the gateway hears of it: the server's own answer says so. */
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
      return cancel(proxy, wanted.id, wanted.message)
    case 'refuse':
      if (wanted.cancelled !== undefined) giveUp(proxy, wanted.cancelled)
      return refuse(proxy, wanted)
    case 'relay':
      return relay(proxy, wanted.message)
  }
}

function relay(proxy: State, message: JsonObject): void {
  proxy.client = clientNameIn(message) ?? proxy.client
  const id = idOf(message['id'])
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
  const refused = new NotExecuted('invalid_payload', why)
  return failureMessage(id, refusalText(refused), refusalFacts(refused))
}

/** The server knows nothing of what is held; that runs no more. */
function cancel(proxy: State, id: Id, message: JsonObject): void {
  const one = proxy.underWay.get(id)
  if (one === undefined || one.sent !== undefined) proxy.toServer(lineOf(message))
  giveUp(proxy, id)
}

function giveUp({ underWay }: State, id: Id): void {
  const one = underWay.get(id)
  one?.abort.abort()
  one?.sent?.fail(new Error('the client gave up'))
}

async function call(proxy: State, asked: ToolCall): Promise<void> {
  const { underWay, toClient } = proxy
  const { id } = asked
  if (underWay.has(id)) {
    const why = 'a request with this id is under way'
    return refuse(proxy, { kind: 'refuse', id, code: INVALID_REQUEST, why, asker: 'client' })
  }
  const one: UnderWay = { asked, abort: new AbortController(), progress: progressOf(proxy, asked) }
  underWay.set(id, one)
  const line = await guarded(proxy, one)
  underWay.delete(id)
  if (line !== undefined) toClient(line)
}

/** What the client is told; undefined when it does not listen any more. */
async function guarded(proxy: State, one: UnderWay): Promise<Uint8Array | undefined> {
  const { gate, maxWaitMs, server, taskId } = proxy
  const { asked, progress } = one
  const { name, args, client = proxy.client } = asked
  const callId = await proxy.callIds.take({ taskId, server, name, args, client: client ?? '' })
  const options: GuardOptions<Payload> = {
    callId: callId.id,
    maxWaitMs,
    signal: one.abort.signal,
    onPending: ({ thread_id }) => {
      callId.hold(thread_id)
      progress.begin(`waiting for people to decide, thread ${thread_id ?? ''}`)
    },
    ...(client === undefined ? {} : { workflow_name: client }),
  }
  const run = (args: Payload): Promise<Uint8Array> => {
    // people have decided: from here on it is the server that tells of its progress
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
    return failureOf(whyOf(error, one), one)
  } finally {
    progress.end()
  }
}

function contractOf({ contracts }: State, { asked, abort: { signal } }: UnderWay): Promise<string> {
  return contracts.contractOf(asked.name, { signal, meta: asked.rest['_meta'] })
}

/** Why a call that was judged must not run: by now its tool is another one, or has another contract. */
async function changeOf(proxy: State, one: UnderWay): Promise<NotExecuted | undefined> {
  try {
    if ((await contractOf(proxy, one)) === one.tool) return undefined
    return new NotExecuted('unknown_tool', `\`${one.asked.name}\` has another contract by now: call it again`)
  } catch (error) {
    return error as NotExecuted
  }
}

/** Ends held calls whose tool changed: reviewers looked at another tool. A list that is late is requested again before the call runs. */
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

/** Resolves with the server's answer, in its own bytes. @throws ToolFailed */
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

/** The reason that the client reads: it does not know that the call was ended from here. */
function whyOf(error: unknown, { refused, abort: { signal } }: UnderWay): unknown {
  const isHeld = error instanceof NotExecuted && signal.aborted
  if (isHeld && refused !== undefined) return refused
  return isHeld && signal.reason instanceof ServerEnded ? signal.reason : error
}

function isOpen(error: unknown): boolean {
  return error instanceof NotExecuted && isUndecided(error)
}

/** Only an undecided call continues later: one that the client cancelled is withdrawn. */
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

function fromServer(proxy: State, line: Uint8Array): void {
  const said = readServer(line)
  if (said?.kind === 'outdated') {
    proxy.contracts.outdated()
    void reviewHeld(proxy)
  }
  if (said?.kind === 'answer' && answered(proxy, said)) return
  // by the specification progress must increase, and the client has heard of some
  if (said?.kind === 'progress' && isOld(proxy, said)) return
  proxy.toClient(withEnd(line))
}

/** Whether the proxy has dealt with an answer of the server; all others are the client's. */
function answered(proxy: State, said: ServerAnswer): boolean {
  const { underWay, note, contracts, questions } = proxy
  if (questions.answered(said)) return true
  const one = underWay.get(said.id)
  if (one !== undefined) {
    if (one.sent === undefined) note('the server answered a call that it was not asked: left out')
    else one.sent.answer(said)
    return true
  }
  const listed = said.result && contracts.answered(said.id, said.result)
  if (listed !== undefined) void passList(proxy, said, listed)
  return listed !== undefined
}

const isOld = ({ underWay }: State, said: ServerProgress): boolean =>
  [...underWay.values()].some((one) => one.progress.isBehind(said))

/** As it came, unless a tool in it runs no more. */
async function passList(
  proxy: State,
  { id, line, result }: ServerAnswer,
  listed: Promise<JsonObject>,
): Promise<void> {
  const shown = await listed
  void reviewHeld(proxy)
  proxy.toClient(shown === result ? withEnd(line) : lineOf({ jsonrpc: '2.0', id, result: shown }))
}

interface Progress {
  begin(message: string): void
  end(): void
  /** Whether the client was told of as much of this call before. */
  isBehind(said: ServerProgress): boolean
}

/** Of our own: so little that a server, which counts from zero or in parts of one, is beyond it at once. */
const PROGRESS_STEP = 1 / 1_000_000

/** Signs of life while people look, for a client that asked for them: without any, many give up after a minute. */
function progressOf({ toClient, progressEveryMs }: State, { rest }: ToolCall): Progress {
  const token = idOf(objectIn(rest['_meta'])['progressToken'])
  let timer: ReturnType<typeof setInterval> | undefined
  let count = 0
  const reached = (): number => count * PROGRESS_STEP
  return {
    begin: (message) => {
      if (token === undefined) return
      const say = (): void => {
        count += 1
        toClient(lineOf(progressMessage(token, reached(), message)))
      }
      say()
      timer = setInterval(say, progressEveryMs)
    },
    end: () => clearInterval(timer),
    isBehind: (said) => count > 0 && said.token === token && said.progress <= reached(),
  }
}

function lineOf(message: JsonObject): Uint8Array {
  return withEnd(Buffer.from(asciiJson(message)))
}

function withEnd(line: Uint8Array): Uint8Array {
  return Buffer.concat([line, Buffer.from('\n')])
}
