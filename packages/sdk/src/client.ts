import { deadlineOf } from './abort.ts'
import { variable } from './environment.ts'
import { CountersignError } from './errors.ts'
import type { ClientOptions } from './options.ts'
import { type Expected, readAnswer } from './response.ts'
import type {
  AgentEvent,
  ApprovalValidationRequest,
  ApprovalValidationResult,
  Decision,
  DecisionRequest,
  EventReceipt,
  OutcomeList,
  OutcomeReport,
  RecordedOutcome,
  ResolveResult,
} from './types.ts'

export interface CallOptions {
  /** Ends the call when the signal aborts. The gateway may still have processed the call. */
  readonly signal?: AbortSignal | undefined
}

export interface SubmitOptions extends CallOptions {
  readonly idempotencyKey?: string | undefined
  /** Called when the gateway repeats an answer to the same `idempotencyKey`, which another process may have used. */
  readonly onReplayed?: (() => void) | undefined
}

export interface WithdrawOptions extends CallOptions {
  /** The reason for reviewers, which follows `withdrawn: ` in the thread's message; at most 500 characters. */
  readonly reason?: string | undefined
  /**
   * Withdraws the call after this time (1 to 3,600 seconds), unless its agent reads the decision before: the agent
   * stopped waiting, but may ask again.
   */
  readonly graceSeconds?: number | undefined
}

/**
 * The agent API, with a method for each endpoint. Every answer that the contract does not promise becomes a
 * `CountersignError`. A request that cannot be sent, for example a body that is not JSON, throws JavaScript's own
 * error.
 */
export interface Client {
  /** Proposes a call. A repetition with the same `idempotencyKey` receives the first answer. */
  submit(taskId: string, request: DecisionRequest, options?: SubmitOptions): Promise<Decision>
  /**
   * Reads the decision on a thread, or on a task's newest thread. `waitSeconds` (at most 55) holds the request while
   * the thread is pending.
   */
  poll(
    target: { readonly thread_id?: string | undefined; readonly task_id?: string | undefined },
    options?: CallOptions & { readonly waitSeconds?: number | undefined },
  ): Promise<Decision>
  /** Redeems a token, once. Only `valid: true` in the answer permits execution. */
  validate(request: ApprovalValidationRequest, options?: CallOptions): Promise<ApprovalValidationResult>
  /** Keeps an event as evidence, or revises the action under review. */
  record(taskId: string, event: AgentEvent, options?: CallOptions): Promise<EventReceipt>
  /**
   * Replaces a proof that was handed out but did not arrive, at most five times for one thread. The lost one is void.
   * Status 409 with `proof_used` means that the call may have run.
   */
  reissue(thread_id: string, options?: CallOptions): Promise<Decision>
  /** Withdraws a call. The approval and the proof are void. Status 409 means that the call may have run. */
  withdraw(thread_id: string, options?: WithdrawOptions): Promise<Decision>
  /** Records how a call ended. The same report again has no effect. */
  report(taskId: string, report: OutcomeReport, options?: CallOptions): Promise<RecordedOutcome>
  /** Reads the outcomes of a call. */
  outcomes(
    taskId: string,
    call: { readonly action_hash: string; readonly thread_id?: string | undefined },
    options?: CallOptions,
  ): Promise<OutcomeList>
  /** Reads the contracts of these tools. An empty list requests all tools of this agent. */
  resolve(tools: readonly string[], options?: CallOptions): Promise<ResolveResult>
}

const DEFAULT_TIMEOUT_MS = 10_000
/** Maximum number of milliseconds. Timers end at 2^31 ms, and more than a week is a mistake. */
const LONGEST_TIMEOUT_MS = 7 * 24 * 3_600_000
const LONGEST_WAIT_SECONDS = 55

const DECISION: Expected = { status: 200, fits: ({ status }) => typeof status === 'string' }
const RESULT: Expected = { status: 200, fits: ({ valid }) => typeof valid === 'boolean' }
const RECEIPT: Expected = { status: 201, fits: () => true }
const RECORDED: Expected = { status: 201, again: 200, fits: ({ outcome }) => typeof outcome === 'string' }
const ENDED: Expected = { status: 200, fits: ({ outcomes }) => Array.isArray(outcomes) }
const CONTRACTS: Expected = { status: 200, fits: ({ tools }) => Array.isArray(tools) }

/** @throws TypeError for options with which no call could work */
export function createClient(options: ClientOptions = {}): Client {
  const call = caller(options)
  const task = (id: string): string => `/api/agent/tasks/${encodeURIComponent(id)}`
  return {
    submit: async (taskId, request, { idempotencyKey, onReplayed, signal } = {}) =>
      call<Decision>(DECISION, `${task(taskId)}/requests`, {
        body: request,
        headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
        onReplayed,
        signal,
      }),
    poll: async (target, { waitSeconds = 0, signal } = {}) => {
      const wait = waitSeconds > 0 ? Math.min(Math.ceil(waitSeconds), LONGEST_WAIT_SECONDS) : 0
      return call<Decision>(DECISION, `/api/agent/decisions?${queryOf(target)}`, {
        headers: wait > 0 ? { prefer: `wait=${wait}` } : {},
        extraMs: wait * 1_000,
        signal,
      })
    },
    validate: async (request, { signal } = {}) =>
      call<ApprovalValidationResult>(RESULT, '/api/agent/approvals/validate', { body: request, signal }),
    record: async (taskId, event, { signal } = {}) =>
      call<EventReceipt>(RECEIPT, `${task(taskId)}/events`, { body: event, signal }),
    reissue: async (thread_id, { signal } = {}) =>
      call<Decision>(DECISION, `/api/agent/threads/${encodeURIComponent(thread_id)}/proofs`, {
        method: 'POST',
        signal,
      }),
    withdraw: async (thread_id, { reason, graceSeconds: grace_seconds, signal } = {}) =>
      call<Decision>(DECISION, `/api/agent/threads/${encodeURIComponent(thread_id)}/withdrawals`, {
        body: { reason, grace_seconds },
        signal,
      }),
    report: async (taskId, report, { signal } = {}) =>
      call<RecordedOutcome>(RECORDED, `${task(taskId)}/outcomes`, { body: report, signal }),
    outcomes: async (taskId, asked, { signal } = {}) =>
      call<OutcomeList>(ENDED, `${task(taskId)}/outcomes?${queryOf({ ...asked })}`, { signal }),
    resolve: (tools, { signal } = {}) =>
      resolveAll(
        (some) =>
          call<ResolveResult>(CONTRACTS, '/api/agent/tools/resolve', { body: { tools: some }, signal }),
        tools,
      ),
  }
}

/** Maximum number of tool names in one request. */
const NAMES_AT_ONCE = 256

/** Requests the contracts that did not fit into one answer, until all have arrived. */
async function resolveAll(
  ask: (tools: readonly string[]) => Promise<ResolveResult>,
  asked: readonly string[],
): Promise<ResolveResult> {
  const { more = [], ...first } = await ask(asked)
  const [tools, unknown] = [[...first.tools], [...first.unknown]]
  for (let left = more; left.length > 0;) {
    const page = await ask(left.slice(0, NAMES_AT_ONCE))
    tools.push(...page.tools)
    unknown.push(...page.unknown)
    // an empty answer would repeat the request forever
    if (page.tools.length + page.unknown.length === 0) break
    left = [...(page.more ?? []), ...left.slice(NAMES_AT_ONCE)]
  }
  return { ...first, tools, unknown }
}

/** The query without undefined members. */
function queryOf(target: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(target).filter((member): member is [string, string] => member[1] !== undefined)
  return new URLSearchParams(given).toString()
}

interface Call {
  /** `POST` for a call with a body, `GET` for any other. */
  readonly method?: 'POST'
  readonly body?: object
  readonly headers?: Record<string, string>
  readonly extraMs?: number
  readonly onReplayed?: (() => void) | undefined
  readonly signal?: AbortSignal | undefined
}

function caller(options: ClientOptions) {
  const { fetch: send = fetch } = options
  const [base, key, timeoutMs] = [baseOf(options), keyOf(options), timeoutOf(options)]
  return async <T>(expected: Expected, path: string, call: Call): Promise<T> => {
    const { body, headers = {}, extraMs = 0 } = call
    const json = body === undefined ? undefined : JSON.stringify(body)
    const deadline = deadlineOf(timeoutMs + extraMs, call.signal)
    const init: RequestInit = {
      method: call.method ?? (json === undefined ? 'GET' : 'POST'),
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'application/json',
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      // refuse redirects here: with `error` some runtimes send nothing, and others hide the reason
      redirect: 'manual',
      signal: deadline.signal,
      ...(json === undefined ? {} : { body: json }),
    }
    const ask = async (): Promise<T> => {
      const response = await send(base + path, init)
      const answer = await readAnswer<T>(response, expected)
      if (response.headers.has('idempotent-replayed')) call.onReplayed?.()
      return answer
    }
    return Promise.race([ask(), deadline.over])
      .catch((cause: unknown) => {
        throw cause instanceof CountersignError ? cause : unreachable(base, cause)
      })
      .finally(deadline.end)
  }
}

/**
 * The checked base address. Credentials are refused, because they would appear in error messages and fetch rejects
 * them.
 */
export function baseOf({ url = variable('COUNTERSIGN_URL') }: ClientOptions): string {
  if (url === undefined) throw new TypeError('set COUNTERSIGN_URL, or pass `url`: the address of the gateway')
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const { protocol = '', username = '', password = '', search = '', hash = '' } = parsed ?? {}
  if (!/^https?:$/.test(protocol) || `${username}${password}${search}${hash}` !== '')
    throw new TypeError('`url` must be the http or https address of a gateway, without credentials or query')
  return url.trim().replace(/\/+$/, '')
}

/** The checked key. Text that a header cannot contain is refused, because fetch's error would show the text. */
function keyOf({ key = variable('COUNTERSIGN_AGENT_KEY') }: ClientOptions): string {
  const trimmed = typeof key === 'string' ? key.trim() : ''
  if (key === undefined || key === '')
    throw new TypeError('set COUNTERSIGN_AGENT_KEY, or pass `key`: the key of an agent (csk_...)')
  if (!/^[!-~]+$/.test(trimmed))
    throw new TypeError('`key` must be the key of an agent (csk_...), in visible ASCII characters')
  return trimmed
}

function timeoutOf({ timeoutMs = DEFAULT_TIMEOUT_MS }: ClientOptions): number {
  if (timeoutMs > 0 && timeoutMs <= LONGEST_TIMEOUT_MS) return timeoutMs
  throw new TypeError(`\`timeoutMs\` must be a number above 0, at most ${LONGEST_TIMEOUT_MS}`)
}

function unreachable(base: string, cause: unknown): CountersignError {
  return new CountersignError(`no answer from the gateway at ${base}`, { code: 'unreachable', cause })
}
