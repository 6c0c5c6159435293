import { canonicalJson, sha256 } from '../canonical-json.ts'
import { carrierOf, type ToolSchema } from '../carrier.ts'
import { ArgumentsChanged, InvalidPayload, NotExecuted } from '../errors.ts'
import { isUndecided } from '../refusal.ts'
import type { Gate } from '../gate.ts'
import type { Handle } from '../handle.ts'
import type { GuardOptions } from '../options.ts'
import type { Payload } from '../types.ts'
import { toJson, toPayload } from '../values.ts'

/** Options for all calls of the guarded tools. */
export interface AdapterOptions extends Pick<
  GuardOptions<Payload>,
  'onPending' | 'workflow_name' | 'task_label'
> {
  /** Prefix of every name: with `ledger.`, the framework's `transfer` is the bundle's `ledger.transfer`. */
  readonly prefix?: string | undefined
  /** Time to wait in memory for reviewers, ms, in place of the framework's own pause. */
  readonly maxWaitMs?: number | undefined
  /**
   * Receives each call that did not run; `message` is the text for the model. The adapter waits for this function, and
   * an error from it replaces the refusal.
   */
  readonly onNotExecuted?: ((refusal: NotExecuted, call: ToolCall) => unknown) | undefined
}

/** A call of a tool, with the framework's names. */
export interface ToolCall {
  /** The framework's name for the tool. */
  readonly tool: string
  /** The framework's id for the call. */
  readonly callId: string | undefined
}

/** A call as the framework asks for it. @internal */
export interface Asked extends ToolCall {
  /** The conversation. */
  readonly taskId: string
  /** The model's arguments. */
  readonly raw: unknown
  /** The arguments after the framework's own parsing. */
  readonly input: unknown
  readonly schema: unknown
  readonly signal?: AbortSignal | undefined
}

/** The part of a proposed call that the framework's state keeps. @internal */
export interface Saved {
  readonly handle: Handle
  /** SHA-256 of the model's arguments. */
  readonly args: string
  /** The program's own approval is needed too. */
  readonly own?: true
}

/**
 * The outcome of a call. A stream is still open, so the call is finished and reported only when the stream ends.
 *
 * @internal
 */
export type Outcome =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'stream'; readonly stream: AsyncIterable<unknown> }
  | { readonly kind: 'refused'; readonly refusal: NotExecuted }

/** The result of a tool that ran. @internal */
export type Given = Exclude<Outcome, { readonly kind: 'refused' }>

type Execute = (approved: never) => Promise<Given> | Given

/** The calls of an adapter. @internal */
export interface Calls {
  /**
   * Proposes a call once, before the framework pauses.
   *
   * @param isTold another process has already called `onPending`
   * @throws NotExecuted
   */
  propose(asked: Asked, isTold?: boolean): Promise<Saved>
  /** Whether the framework should pause. False for a call that is refused: its run gives the reason. */
  isHeld(asked: Asked): Promise<boolean>
  /** Whether reviewers have to decide a call of an earlier request. @throws NotExecuted for an outage */
  waits(asked: Asked): Promise<boolean>
  /**
   * Runs `execute` once if the call may run. Resolves with the tool's value or stream.
   *
   * @param saved from the framework's state, where it keeps some
   * @throws the errors of `execute`. A nested NotExecuted becomes the cause of another error.
   */
  run(asked: Asked, execute: Execute, saved?: Saved): Promise<Outcome>
}

/** Maximum number of calls that an adapter remembers. A forgotten call is proposed again, and joins its thread. */
const MOST_CALLS = 1_000

/** @internal */
export function createCalls(gate: Gate, options: AdapterOptions): Calls {
  const { prefix = '', maxWaitMs, onNotExecuted, onPending: _, ...claims } = options
  /** The first result of the framework's parsing, by action hash. */
  const values = new Map<string, unknown>()
  const propose = proposerOf(gate, options, values)
  const resume = async (asked: Asked, execute: Execute, saved?: Saved): Promise<Given> => {
    const { handle, args } = saved ?? (await propose(asked))
    const { tool_name, nonce, action_hash, thread_id } = handle
    if (args !== (await argsOf(asked)) || tool_name !== prefix + asked.tool || nonce !== idOf(asked))
      throw new ArgumentsChanged('these are not the arguments that were proposed', { thread_id })
    const first =
      values.get(action_hash) ?? (handle.payload === undefined ? objectIn(asked.input) : undefined)
    return gate.resume(handle, execute, {
      ...claims,
      payload: first as object | undefined,
      schema: schemaIn(asked.schema) as ToolSchema<never>,
      signal: asked.signal,
      maxWaitMs: maxWaitMs ?? 0,
    })
  }
  const runToItsEnd = async (asked: Asked, execute: Execute, saved?: Saved): Promise<Outcome> => {
    let begun = false
    const begin: Execute = (approved) => {
      begun = true
      return execute(approved)
    }
    try {
      return await resume(asked, begin, saved)
    } catch (error) {
      if (begun || !(error instanceof NotExecuted)) throw error
      await onNotExecuted?.(error, { tool: asked.tool, callId: asked.callId })
      return { kind: 'refused', refusal: error }
    }
  }
  return {
    propose,
    isHeld: async (asked) => {
      if (maxWaitMs !== undefined) return false
      const held = propose(asked).then(({ handle }) => handle.status === 'pending_review')
      return held.catch((error: unknown) => expectRefusal(error) && false)
    },
    waits: (asked) => propose(asked, true).then(({ handle }) => waits(gate, handle), hasNoWait),
    run: (asked, execute, saved) => relaying(execute, (relayed) => runToItsEnd(asked, relayed, saved)),
  }
}

function proposerOf(
  gate: Gate,
  { prefix = '', onPending, workflow_name, task_label }: AdapterOptions,
  values: Map<string, unknown>,
): Calls['propose'] {
  const proposals = new Map<string, Promise<Saved>>()
  const claims = {
    ...(workflow_name === undefined ? {} : { workflow_name }),
    ...(task_label === undefined ? {} : { task_label }),
  }
  const proposeOnce = async (asked: Asked, args: string, isTold: boolean): Promise<Saved> => {
    const handle = await gate.propose(prefix + asked.tool, objectIn(asked.input), {
      ...claims,
      taskId: await taskOf(asked.taskId),
      callId: idOf(asked),
      schema: schemaIn(asked.schema),
      signal: asked.signal,
      onPending: isTold ? () => undefined : onPending,
    })
    keep(values, handle.action_hash, asked.input)
    return { handle: { ...handle }, args }
  }
  return async (asked, isTold = false) => {
    const args = await argsOf(asked)
    const key = canonicalJson([asked.taskId, asked.tool, idOf(asked), args])
    const known = proposals.get(key)
    if (known !== undefined) return known
    const made = proposeOnce(asked, args, isTold)
    keep(proposals, key, made)
    // a refusal may end
    made.catch(() => proposals.delete(key))
    return made
  }
}

/** Resolves with the open stream of a tool, or with the outcome of its run. */
function relaying(execute: Execute, run: (execute: Execute) => Promise<Outcome>): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const done = run(async (approved) => {
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

/**
 * Whether reviewers have to decide the call of this handle.
 *
 * @throws NotExecuted for an outage, which decides nothing: the caller has to wake the program again
 * @internal
 */
export const waits = (gate: Gate, handle: Handle): Promise<boolean> =>
  gate.decision(handle).then(({ status }) => status === 'pending_review', hasNoWait)

function hasNoWait(error: unknown): false {
  if (expectRefusal(error) && isUndecided(error)) throw error
  return false
}

function expectRefusal(error: unknown): error is NotExecuted {
  if (error instanceof NotExecuted) return true
  throw error
}

/** @throws TypeError when no payload can hold what the schema of the tool gives @internal */
export function checkSchema(schema: unknown, tool: string): void {
  carrierOf(schemaIn(schema), tool)
}

const schemaIn = (schema: unknown): ToolSchema | undefined =>
  typeof schema === 'object' && schema !== null && '~standard' in schema ? (schema as ToolSchema) : undefined

/** The result of the framework's parsing. @throws NotExecuted when the schema refuses them @internal */
export async function parsed(schema: unknown, raw: unknown): Promise<unknown> {
  const made = (await schemaIn(schema)?.['~standard'].validate(raw)) as Validated | undefined
  if (made?.issues !== undefined)
    throw new InvalidPayload(made.issues.map(({ message }) => message).join('; '))
  return made === undefined ? raw : made.value
}

interface Validated {
  readonly value?: unknown
  readonly issues?: readonly { readonly message: string }[]
}

/** @throws InvalidPayload unless the value is an object */
function objectIn(value: unknown): object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? value
    : toPayload(value, 'the input')
}

const argsOf = ({ raw }: Asked): Promise<string> => sha256(canonicalJson(toJson(raw ?? null)))

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  const [oldest = ''] = map.keys()
  if (map.size > MOST_CALLS) map.delete(oldest)
}

/** The id of the call. Some models leave it empty: then the same arguments are the same call. */
const idOf = ({ callId = '' }: Asked): string => (callId === '' ? 'no-id' : callId.toWellFormed())

/** The task of a conversation: its id, or the hash of an id that does not fit. @internal */
export async function taskOf(conversation: string): Promise<string> {
  return /^[!-~]{1,256}$/.test(conversation) ? conversation : sha256(conversation)
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

/** Relays the stream. The end of the stream ends the call. */
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

/**
 * A copy of the object with other members. The copy keeps symbols, getters and the prototype, which frameworks use.
 *
 * @internal
 */
export function withMembers<T extends object>(original: T, members: object): T {
  const descriptors = {
    ...Object.getOwnPropertyDescriptors(original),
    ...Object.getOwnPropertyDescriptors(members),
  }
  return Object.create(Object.getPrototypeOf(original) as object | null, descriptors) as T
}

/** @internal */
export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
