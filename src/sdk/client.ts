import type {
  AgentEvent,
  ApprovalValidationRequest,
  ApprovalValidationResult,
  Decision,
  DecisionRequest,
  EventReceipt,
  ResolveResult,
} from './types.ts'

export interface ClientOptions {
  /** Base address of the gateway, for example `http://127.0.0.1:8787`. */
  readonly url: string
  /** Agent key `csk_...`: a server-side secret. */
  readonly key: string
  /** Longest time one request may take beyond a wait that it asked for, ms. Default 10,000. */
  readonly timeoutMs?: number
  readonly fetch?: typeof fetch
}

export interface CallOptions {
  readonly signal?: AbortSignal
}

/** The gateway refused (`status` set) or could not be reached (`status` undefined). Never a permission to execute. */
export class CountersignError extends Error {
  override readonly name = 'CountersignError'
  readonly status: number | undefined
  /** Stable code of the problem, or `unreachable`, or `unreadable`. */
  readonly code: string
  readonly errors: readonly { pointer: string; message: string }[]
  /** Seconds after which a retry makes sense. */
  readonly retryAfter: number | undefined

  constructor(
    message: string,
    facts: { status?: number; code: string; errors?: never[]; retryAfter?: number; cause?: unknown },
  ) {
    super(message, { cause: facts.cause })
    this.status = facts.status
    this.code = facts.code
    this.errors = facts.errors ?? []
    this.retryAfter = facts.retryAfter
  }
}

/** The five endpoints of the agent API, one method each, without opinions. Errors are thrown as `CountersignError`. */
export interface Client {
  submit(
    taskId: string,
    request: DecisionRequest,
    options?: CallOptions & { idempotencyKey?: string },
  ): Promise<Decision>
  /** `waitSeconds` (at most 55) holds the request while the thread is pending. */
  poll(
    target: { thread_id?: string; task_id?: string },
    options?: CallOptions & { waitSeconds?: number },
  ): Promise<Decision>
  validate(request: ApprovalValidationRequest, options?: CallOptions): Promise<ApprovalValidationResult>
  record(taskId: string, event: AgentEvent, options?: CallOptions): Promise<EventReceipt>
  resolve(tools: readonly string[], options?: CallOptions): Promise<ResolveResult>
}

const DEFAULT_TIMEOUT_MS = 10_000

export function createClient(options: ClientOptions): Client {
  const call = caller(options)
  const task = (id: string): string => `/api/agent/tasks/${encodeURIComponent(id)}`
  return {
    submit: (taskId, request, { idempotencyKey, signal } = {}) =>
      call<Decision>('POST', `${task(taskId)}/requests`, {
        body: request,
        headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
        signal,
      }),
    poll: (target, { waitSeconds = 0, signal } = {}) => {
      const query = new URLSearchParams(target as Record<string, string>).toString()
      const headers: Record<string, string> = waitSeconds > 0 ? { prefer: `wait=${waitSeconds}` } : {}
      return call<Decision>('GET', `/api/agent/decisions?${query}`, {
        headers,
        extraMs: waitSeconds * 1_000,
        signal,
      })
    },
    validate: (request, { signal } = {}) =>
      call<ApprovalValidationResult>('POST', '/api/agent/approvals/validate', { body: request, signal }),
    record: (taskId, event, { signal } = {}) =>
      call<EventReceipt>('POST', `${task(taskId)}/events`, { body: event, signal }),
    resolve: (tools, { signal } = {}) =>
      call<ResolveResult>('POST', '/api/agent/tools/resolve', { body: { tools }, signal }),
  }
}

interface Call {
  readonly body?: object
  readonly headers?: Record<string, string>
  readonly extraMs?: number
  readonly signal?: AbortSignal | undefined
}

function caller({ url, key, timeoutMs = DEFAULT_TIMEOUT_MS, fetch: send = fetch }: ClientOptions) {
  const base = url.replace(/\/+$/, '')
  return async <T>(
    method: string,
    path: string,
    { body, headers = {}, extraMs = 0, signal }: Call,
  ): Promise<T> => {
    const limit = AbortSignal.timeout(timeoutMs + extraMs)
    const init: RequestInit = {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      redirect: 'error',
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }
    const response = await send(base + path, init).catch((cause: unknown) => {
      throw unreachable(base, cause)
    })
    const answer = await response.json().catch((cause: unknown) => {
      throw unreachable(base, cause)
    })
    if (!response.ok) throw refusal(response, answer)
    if (typeof answer !== 'object' || answer === null) throw unreadable(response)
    return answer as T
  }
}

function unreachable(base: string, cause: unknown): CountersignError {
  return new CountersignError(`no answer from the gateway at ${base}`, { code: 'unreachable', cause })
}

function unreadable({ status }: Response): CountersignError {
  return new CountersignError('the gateway answered something that is not a JSON object', {
    status,
    code: 'unreadable',
  })
}

function refusal(response: Response, answer: unknown): CountersignError {
  const {
    code = 'unknown',
    detail = response.statusText,
    errors,
  } = (answer ?? {}) as {
    code?: string
    detail?: string
    errors?: never[]
  }
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new CountersignError(`${code}: ${detail}`, {
    status: response.status,
    code,
    ...(errors === undefined ? {} : { errors }),
    ...(Number.isFinite(retryAfter) ? { retryAfter } : {}),
  })
}
