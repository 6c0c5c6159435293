import { InvalidPayload, isUndecided, messageOf, NotExecuted, refusalText } from '../errors.ts'
import type { Gate } from '../gate.ts'
import type { GuardOptions } from '../options.ts'
import { type CallId, type CallIds, createCallIds } from '../runtime.ts'
import type { Payload } from '../types.ts'
import { toPayload } from '../values.ts'
import { withdrawLeft } from '../withdraw.ts'

/** Options for all calls of the wrapped tools. */
export interface AdapterOptions extends Pick<
  GuardOptions<Payload>,
  'taskId' | 'maxWaitMs' | 'onPending' | 'workflow_name' | 'task_label'
> {
  /** Prefix of every name: with `ledger.`, the framework's `transfer` is the bundle's `ledger.transfer`. */
  readonly prefix?: string | undefined
  /**
   * Receives each call that did not run; `message` is the text for the model. The adapter waits for this function, and
   * an error from it replaces the refusal.
   */
  readonly onNotExecuted?: (refusal: NotExecuted, call: ToolCall) => unknown
}

/** A call of a tool, with the framework's names. */
export interface ToolCall {
  /** The framework's name for the tool. */
  readonly tool: string
  /** The framework's id for the call. */
  readonly callId: string | undefined
}

/** The proposed call, with its input as parsed by the framework. */
export interface Asked extends ToolCall {
  readonly input: unknown
  readonly signal: AbortSignal | undefined
}

/** The outcome of a call. A stream is still open, so the call is finished and reported only when the stream ends. */
export type Outcome =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'stream'; readonly stream: AsyncIterable<unknown> }
  | { readonly kind: 'refused'; readonly refusal: NotExecuted }

/** The result of a tool that ran. */
export type Given = Exclude<Outcome, { readonly kind: 'refused' }>

type Execute = (approved: Payload) => Promise<Given> | Given

/**
 * Unfinished calls by gate. Tools are often wrapped again for each request, and the model may repeat a call in a later
 * request.
 */
const unfinished = new WeakMap<Gate, CallIds>()

/**
 * Runs `execute` when `gate.guard` lets it. Resolves with the tool's value or stream.
 *
 * @throws the errors of `execute`, like `guard`. A nested NotExecuted becomes the cause of another error.
 */
export function guardedCall(
  gate: Gate,
  asked: Asked,
  execute: Execute,
  options: AdapterOptions,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const done = guardedToItsEnd(gate, asked, options, async (approved) => {
      const given = await execute(approved)
      if (given.kind === 'value') return given
      const ended = end()
      resolve({ kind: 'stream', stream: relayed(given.stream, ended, () => done) })
      await ended.reached
      return given
    })
    done.then(resolve, reject)
  })
}

async function guardedToItsEnd(
  gate: Gate,
  asked: Asked,
  options: AdapterOptions,
  execute: Execute,
): Promise<Outcome> {
  const { prefix = '', onNotExecuted, ...others } = options
  const tool = prefix + asked.tool
  let begun = false
  let callId: CallId | undefined
  try {
    const payload = toPayload(asked.input, 'the input')
    callId = await callIdOf(gate, { tool, payload }, asked, options)
    const begin = (approved: Payload): Promise<Given> | Given => {
      begun = true
      return execute(approved)
    }
    const taken = callId
    const onPending: AdapterOptions['onPending'] = (decision) => {
      taken.hold(decision.thread_id)
      return (others.onPending ?? gate.onPending)(decision)
    }
    const about = { ...others, onPending, callId: taken.id, signal: asked.signal }
    return await gate.guard(tool, payload, begin, about)
  } catch (error) {
    if (begun || !(error instanceof NotExecuted)) throw error
    if (isUndecided(error)) callId?.leave()
    else if (callId !== undefined) await withdrawLeft(gate.client, callId, error)
    error.message = refusalText(error)
    await onNotExecuted?.(error, { tool: asked.tool, callId: asked.callId })
    return { kind: 'refused', refusal: error }
  }
}

function callIdOf(
  gate: Gate,
  action: { readonly tool: string; readonly payload: Payload },
  { callId }: Asked,
  { taskId = '', workflow_name = '', task_label = '' }: AdapterOptions,
): Promise<CallId> {
  const ids = unfinished.get(gate) ?? createCallIds()
  unfinished.set(gate, ids)
  // the gateway refuses an id that is reused with other claims
  const own = isId(callId) ? [callId, workflow_name, task_label].join('\n') : undefined
  return ids.take({ ...action, taskId, workflow_name, task_label }, own).catch((cause: unknown) => {
    // an input at the limit is nested too deeply as a member of its call
    throw new InvalidPayload(`the call is not JSON: ${messageOf(cause)}`, { cause })
  })
}

/**
 * True when the id can be used. Some models leave the id empty, which must not join different calls. A malformed text
 * cannot be hashed.
 */
function isId(callId: string | undefined): callId is string {
  return callId !== undefined && callId !== '' && callId.isWellFormed()
}

interface End {
  readonly reached: Promise<void>
  readonly reach: () => void
  readonly fail: (error: unknown) => void
}

function end(): End {
  let [reach, fail]: [() => void, (error: unknown) => void] = [() => undefined, () => undefined]
  const reached = new Promise<void>((resolve, reject) => {
    ;[reach, fail] = [resolve, reject]
  })
  return { reached, reach, fail }
}

/** Relays the stream. The end of the stream ends the call, and is reported to the gateway before the reader sees it. */
async function* relayed(
  stream: AsyncIterable<unknown>,
  ended: End,
  done: () => Promise<unknown>,
): AsyncGenerator<unknown, unknown> {
  try {
    return (yield* stream) as unknown
  } catch (error) {
    ended.fail(error)
    throw error
  } finally {
    ended.reach()
    await done().catch(() => undefined)
  }
}

/** A copy of the object with other members. The copy keeps symbols, getters and the prototype, which frameworks use. */
export function withMembers<T extends object>(original: T, members: object): T {
  const descriptors = {
    ...Object.getOwnPropertyDescriptors(original),
    ...Object.getOwnPropertyDescriptors(members),
  }
  return Object.create(Object.getPrototypeOf(original) as object | null, descriptors) as T
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
