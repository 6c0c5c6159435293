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
    const limit = limitOf(timeoutMs + extraMs, signal)
    const init: RequestInit = {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      redirect: 'error',
      signal: limit.signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }
    const [response, answer] = await Promise.race([read(() => send(base + path, init)), limit.over])
      .catch((cause: unknown) => {
        throw unreachable(base, cause)
      })
      .finally(limit.end)
    if (!response.ok) throw refusal(response, answer)
    if (typeof answer !== 'object' || answer === null) throw unreadable(response)
    return answer as T
  }
}

async function read(ask: () => Promise<Response>): Promise<readonly [Response, unknown]> {
  const response = await ask()
  return [response, (await response.json()) as unknown]
}

interface Limit {
  readonly signal: AbortSignal
  /** Rejects when the signal aborts. */
  readonly over: Promise<never>
  readonly end: () => void
}

/**
 * Aborts after `ms`, or with the caller's signal. Neither AbortSignal.any with AbortSignal.timeout nor the signal of a fetch alone: Node forgets a timeout that only
 * such a signal knows, and an abort that comes while a body is read, when it collects garbage, and the call would never end.
 */
function limitOf(ms: number, signal: AbortSignal | undefined): Limit {
  const controller = new AbortController()
  const over = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error), {
      once: true,
    })
  })
  // nobody may be left to hear of it
  over.catch(() => undefined)
  const abort = (): void => controller.abort(signal?.reason)
  const timer = setTimeout(() => controller.abort(new DOMException('no answer in time', 'TimeoutError')), ms)
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted) abort()
  const end = (): void => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
  return { signal: controller.signal, over, end }
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
