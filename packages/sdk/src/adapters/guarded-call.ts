import { checkedCopy } from '../canonical-json.ts'
import { isUndecided, messageOf, NotExecuted, refusalText } from '../errors.ts'
import type { Gate } from '../gate.ts'
import type { GuardOptions } from '../options.ts'
import { type CallId, type CallIds, createCallIds } from '../runtime.ts'
import type { Payload } from '../types.ts'
import { withdrawLeft } from '../withdraw.ts'

/** What holds for every call of the tools that are wrapped with it. */
export interface AdapterOptions extends Pick<
  GuardOptions<Payload>,
  'taskId' | 'maxWaitMs' | 'onPending' | 'workflow_name' | 'task_label'
> {
  /** Stands in front of every name of a tool: the framework's `transfer` is the bundle's `ledger.transfer`. */
  readonly prefix?: string | undefined
  /** Told of each call that did not run; `message` is what the model reads. It is waited for, and what it throws takes the place of that. */
  readonly onNotExecuted?: (refusal: NotExecuted, call: ToolCall) => unknown
}

/** One call of a tool, as the framework tells of it. */
export interface ToolCall {
  /** The framework's name of the tool. */
  readonly tool: string
  /** The framework's id of the call. */
  readonly callId: string | undefined
}

/** What is asked about: the input as the framework's own parsing left it. */
export interface Asked extends ToolCall {
  readonly input: unknown
  readonly signal: AbortSignal | undefined
}

/** What became of a call. A stream is under way: the call is done, and reported, when it ends. */
export type Outcome =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'stream'; readonly stream: AsyncIterable<unknown> }
  | { readonly kind: 'refused'; readonly refusal: NotExecuted }

/** What a tool gave: never a refusal of its own. */
export type Given = Exclude<Outcome, { readonly kind: 'refused' }>

type Execute = (approved: Payload) => Promise<Given> | Given

/** By gate, because tools are often wrapped anew for each request, and the model calls again in a later one. */
const unfinished = new WeakMap<Gate, CallIds>()

/**
 * Runs `execute` as far as `gate.guard` lets it, and resolves as soon as it gave a value or a stream.
 *
 * @throws what `execute` throws, as `guard` does: a NotExecuted of its own is the cause of another error
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
    const payload = payloadOf(asked.input)
    callId = await callIdOf(gate, { tool, payload }, asked, options)
    const begin = (approved: Payload): Promise<Given> | Given => {
      begun = true
      return execute(approved)
    }
    const taken = callId
    const onPending: AdapterOptions['onPending'] = (decision) => {
      taken.hold(decision.thread_id)
      return others.onPending?.(decision)
    }
    const about = { ...others, onPending, callId: taken.id, signal: asked.signal }
    return await gate.guard(tool, payload, begin, about)
  } catch (error) {
    if (begun || !(error instanceof NotExecuted)) throw error
    if (isUndecided(error)) callId?.leave()
    else if (callId !== undefined) await withdrawLeft(gate.client, callId, error)
    const { outcome, thread_id } = error
    const refusal = new NotExecuted(outcome, refusalText(error), { thread_id, cause: error })
    await onNotExecuted?.(refusal, { tool: asked.tool, callId: asked.callId })
    return { kind: 'refused', refusal }
  }
}

/** @throws NotExecuted for what is no object of JSON */
function payloadOf(input: unknown): Payload {
  const payload = checkedCopy(input as Payload, 'the input')
  if (typeof payload === 'object' && payload !== null && !Array.isArray(payload)) return payload
  throw new NotExecuted('invalid_payload', 'the input is no JSON object: arguments have names')
}

function callIdOf(
  gate: Gate,
  action: { readonly tool: string; readonly payload: Payload },
  { callId }: Asked,
  { taskId = '', workflow_name = '', task_label = '' }: AdapterOptions,
): Promise<CallId> {
  const ids = unfinished.get(gate) ?? createCallIds()
  unfinished.set(gate, ids)
  // the gateway refuses an id of which something else is said now
  const own = isId(callId) ? [callId, workflow_name, task_label].join('\n') : undefined
  return ids.take({ ...action, taskId, workflow_name, task_label }, own).catch((cause: unknown) => {
    // an input that only just fits is nested too deeply as a member of its call
    throw new NotExecuted('invalid_payload', `the call is not JSON: ${messageOf(cause)}`, { cause })
  })
}

/** Some models leave it empty: such calls are not all the same. One that cannot be hashed would never come through, and nor would what goes on with it. */
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

/** The stream itself, whose end is the end of the call: its reader sees it after the gateway has heard of it. */
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

/** The same object with other members: what a framework keeps in symbols, getters and prototypes stays. */
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
