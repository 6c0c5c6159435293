import type { JsonObject } from '../contract/json.ts'
import type { CallId, CallIds } from '../sdk/call-ids.ts'
import { type Gate, type GuardOptions, NotExecuted, type Payload } from '../sdk/index.ts'
import { factsOf, isUndecided, told } from '../sdk/told.ts'
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
import { createTools, type Tools } from './tools.ts'

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
  /** Time between two signs of life for a client that asked for them, ms. */
  readonly progressEveryMs: number
}

export function createProxy(parts: ProxyParts): Proxy {
  const questions = createQuestions((message) => parts.toServer(lineOf(message)))
  const tools = createTools({
    ...parts,
    client: parts.gate.client,
    ask: (method, params) => questions.ask(method, params),
  })
  const proxy: State = {
    ...parts,
    questions,
    tools,
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
  readonly tools: Tools
  /** What the client calls itself. */
  client: string | undefined
}

/** A call that is held until it is allowed, and then with the server. */
interface UnderWay {
  readonly abort: AbortController
  readonly progress: Progress
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
  if (message['method'] === 'tools/list' && id !== undefined) proxy.tools.asked(id, message['params'])
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
  return failureMessage(id, told(refused), factsOf(refused))
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
  const one: UnderWay = { abort: new AbortController(), progress: progressOf(proxy, asked) }
  underWay.set(id, one)
  const line = await guarded(proxy, asked, one)
  underWay.delete(id)
  if (line !== undefined) toClient(line)
}

/** What the client is told; undefined when it does not listen any more. */
async function guarded(proxy: State, asked: ToolCall, one: UnderWay): Promise<Uint8Array | undefined> {
  const { gate, maxWaitMs, server, taskId } = proxy
  const { name, args, client = proxy.client } = asked
  const callId = await proxy.callIds.take({ taskId, server, name, args, client: client ?? '' })
  const { progress } = one
  const options: GuardOptions<Payload> = {
    callId: callId.id,
    maxWaitMs,
    signal: one.abort.signal,
    onPending: ({ thread_id }) => {
      callId.hold()
      progress.begin(`waiting for people to decide, thread ${thread_id ?? ''}`)
    },
    ...(client === undefined ? {} : { workflow_name: client }),
  }
  const run = (args: Payload): Promise<Uint8Array> => {
    // people have decided: from here on it is the server that tells of its progress
    progress.end()
    callId.end()
    return send(proxy, asked, args, one)
  }
  try {
    const about = { signal: one.abort.signal, meta: asked.rest['_meta'] }
    const tool = await proxy.tools.contractOf(asked.name, about)
    return await gate.guard(tool, asked.args, run, options)
  } catch (error) {
    settle(error, callId)
    return failureOf(whyOf(error, one), asked.id, one)
  } finally {
    progress.end()
  }
}

/** Resolves with what the server answers, in its own bytes. @throws ToolFailed */
async function send({ toServer }: State, asked: ToolCall, args: Payload, one: UnderWay): Promise<Uint8Array> {
  const answer = new Promise<ServerAnswer>((resolve, reject) => {
    one.sent = { answer: resolve, fail: reject }
  })
  toServer(lineOf(callMessage(asked, args)))
  const { failed, line } = await answer
  if (failed) throw new ToolFailed(withEnd(line))
  return withEnd(line)
}

/** Of a call that was held when the server ended, that it did: its client is there, and waits. */
function whyOf(error: unknown, { abort: { signal } }: UnderWay): unknown {
  const isHeld = error instanceof NotExecuted && signal.aborted
  return isHeld && signal.reason instanceof ServerEnded ? signal.reason : error
}

/** Only a call that is not decided goes on: one that the client cancelled is withdrawn. */
function settle(error: unknown, callId: CallId): void {
  if (error instanceof NotExecuted && isUndecided(error)) callId.leave()
  else callId.end()
}

function failureOf(error: unknown, id: Id, { abort }: UnderWay): Uint8Array | undefined {
  if (error instanceof ToolFailed) return error.line
  if (error instanceof ServerEnded) return lineOf(errorMessage(id, SERVER_ENDED, error.message))
  if (!(error instanceof NotExecuted)) return undefined
  if (abort.signal.aborted) return undefined
  return lineOf(failureMessage(id, told(error), factsOf(error)))
}

function fromServer(proxy: State, line: Uint8Array): void {
  const said = readServer(line)
  if (said?.kind === 'outdated') proxy.tools.outdated()
  if (said?.kind === 'answer' && answered(proxy, said)) return
  // by the specification progress must increase, and the client has heard of some
  if (said?.kind === 'progress' && isOld(proxy, said)) return
  proxy.toClient(withEnd(line))
}

/** Whether the proxy has dealt with an answer of the server; all others are the client's. */
function answered(proxy: State, said: ServerAnswer): boolean {
  const { underWay, note, tools, questions } = proxy
  if (questions.answered(said)) return true
  const one = underWay.get(said.id)
  if (one !== undefined) {
    if (one.sent === undefined) note('the server answered a call that it was not asked: left out')
    else one.sent.answer(said)
    return true
  }
  const listed = said.result && tools.answered(said.id, said.result)
  if (listed !== undefined) void passList(proxy, said, listed)
  return listed !== undefined
}

const isOld = ({ underWay }: State, said: ServerProgress): boolean =>
  [...underWay.values()].some((one) => one.progress.isBehind(said))

/** As it came, unless a tool in it runs no more. */
async function passList(
  { toClient }: State,
  { id, line, result }: ServerAnswer,
  listed: Promise<JsonObject>,
): Promise<void> {
  const shown = await listed
  toClient(shown === result ? withEnd(line) : lineOf({ jsonrpc: '2.0', id, result: shown }))
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
