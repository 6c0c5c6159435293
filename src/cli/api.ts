import type { Problem } from '../contract/errors.ts'
import { CliFailure } from './failure.ts'

/** How the command line reaches a running gateway: its own public API. */
export interface Api {
  get<T>(path: string): Promise<T>
  post<T>(path: string, body?: object, headers?: Record<string, string>): Promise<T>
  delete(path: string): Promise<void>
  /** The answer as it comes: for NDJSON of any length. */
  stream(path: string): Promise<AsyncIterable<Uint8Array>>
}

const NO_CONTENT = 204
const TIMEOUT_MS = 15_000
/** For an export: as long as it takes to send a page. */
const STREAM_TIMEOUT_MS = 600_000

interface CallOptions {
  readonly body?: object | undefined
  readonly headers?: Record<string, string> | undefined
  readonly timeoutMs?: number
}

export function createApi(url: string, key: string): Api {
  const call = async (
    method: string,
    path: string,
    { body, headers, timeoutMs = TIMEOUT_MS }: CallOptions = {},
  ) => {
    const init: RequestInit = {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      signal: AbortSignal.timeout(timeoutMs),
      ...(body ? { body: JSON.stringify(body) } : {}),
    }
    const response = await fetch(new URL(path, url), init).catch((cause: unknown) => {
      throw new CliFailure(`no answer from the gateway at ${url}`, {
        hint: 'start it with `countersign serve`, or name another with --url or COUNTERSIGN_URL',
        cause,
      })
    })
    if (!response.ok) throw await refusal(response)
    return response
  }
  return {
    get: async <T>(path: string) => (await (await call('GET', path)).json()) as T,
    post: async <T>(path: string, body?: object, headers?: Record<string, string>) => {
      const response = await call('POST', path, { body, headers })
      return (response.status === NO_CONTENT ? undefined : await response.json()) as T
    },
    delete: async (path) => {
      await call('DELETE', path)
    },
    stream: async (path) => {
      const { body } = await call('GET', path, { timeoutMs: STREAM_TIMEOUT_MS })
      return body === null ? emptyStream() : toItsEnd(body, url)
    },
  }
}

async function refusal(response: Response): Promise<CliFailure> {
  const problem = (await response.json().catch(() => ({}))) as Partial<Problem>
  const places = (problem.errors ?? []).map(({ pointer, message }) => `  ${pointer} ${message}`)
  const text = [`${problem.title ?? response.statusText}: ${problem.detail ?? ''}`, ...places].join('\n')
  const hint = HINTS[problem.code ?? '']
  return new CliFailure(text, hint === undefined ? {} : { hint })
}

const HINTS: Record<string, string> = {
  unauthenticated: 'the key is missing, revoked, or of another kind (admin, reviewer, agent)',
  sign_in_required:
    'sign in to the console: an administrator prints a link with `countersign login-link TENANT/NAME`',
  stale_revision: 'the agent has revised its call: `countersign review show` it again',
}

/** What broke off must not pass for the whole. */
async function* toItsEnd(body: AsyncIterable<Uint8Array>, url: string): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (cause) {
    throw new CliFailure(`the answer of the gateway at ${url} broke off`, {
      hint: 'what was printed is not whole: throw it away, and try again',
      cause,
    })
  }
}

async function* emptyStream(): AsyncGenerator<Uint8Array> {}
