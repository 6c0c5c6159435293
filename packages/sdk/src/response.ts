import { type Complaint, CountersignError, type ErrorFacts } from './errors.ts'

/** The expected answer to a call. */
export interface Expected {
  readonly status: number
  /** The status for a repeated request. */
  readonly again?: number
  readonly fits: (answer: Readonly<Record<string, unknown>>) => boolean
}

/**
 * Maximum number of bytes after decompression, far above the contracts of all tools. A short body can decompress to a
 * huge one.
 */
const LARGEST_BYTES = 32 * 1024 * 1024
/** Matches keys and proofs. A proxy's refusal may repeat them, and messages reach logs and models. */
const SECRET = /\bcs[krt]_[\w-]{40,}/g

/**
 * Reads an answer to its end.
 *
 * @throws CountersignError for a refusal, and for any answer not from the agent API; the error of `fetch` when the
 *   answer breaks off
 */
export async function readAnswer<T>(response: Response, expected: Expected): Promise<T> {
  const text = await textOf(response)
  // a `fetch` of the caller's may follow redirects, but another server decides nothing
  if (response.redirected) throw unreadable(response)
  if (response.status !== expected.status && response.status !== expected.again) throw refusal(response, text)
  const answer = membersOf(text)
  if (answer === undefined || !expected.fits(answer)) throw unreadable(response)
  return answer as T
}

async function textOf(response: Response): Promise<string> {
  // some implementations of fetch have no streams
  if (!response.body) return response.text()
  const bytes = await bytesIn(response.body, LARGEST_BYTES)
  if (bytes === undefined) throw unreadable(response)
  return new TextDecoder().decode(bytes)
}

/** The bytes of a body; undefined when there are more than `most`, which are not read. */
export async function bytesIn(
  body: ReadableStream<Uint8Array>,
  most: number,
): Promise<Uint8Array | undefined> {
  const reader = body.getReader()
  const parts: Uint8Array[] = []
  for (let size = 0; ;) {
    const { done, value } = await reader.read()
    if (done) return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer())
    size += value.length
    parts.push(value)
    if (size <= most) continue
    reader.cancel().catch(() => undefined)
    return undefined
  }
}

/** Undefined unless the text is a JSON object. */
function membersOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

function unreadable({ status }: Response): CountersignError {
  const message = `the response with status ${status} is not an answer of the agent API: another server or a proxy may answer at this address`
  return new CountersignError(message, { status, code: 'unreadable' })
}

/** Reads a problem (RFC 9457); members of a wrong type are ignored. */
function refusal(response: Response, text: string): CountersignError {
  const { code, detail = '', errors } = membersOf(text.replaceAll(SECRET, '[secret]')) ?? {}
  if (typeof code !== 'string' || typeof detail !== 'string') return unreadable(response)
  const facts: ErrorFacts = {
    status: response.status,
    code,
    errors: Array.isArray(errors) ? errors.filter(isComplaint) : [],
    ...retryAfterOf(response),
  }
  return new CountersignError(`${code}: ${detail || response.statusText}`, facts)
}

function isComplaint(one: unknown): one is Complaint {
  const { pointer, message } = (one ?? {}) as Partial<Record<keyof Complaint, unknown>>
  return typeof pointer === 'string' && typeof message === 'string'
}

/** The seconds in `Retry-After`. A date or any other value is ignored. */
function retryAfterOf({ headers }: Response): { readonly retryAfter?: number } {
  const asked = headers.get('retry-after') ?? ''
  return /^\d{1,9}$/.test(asked) ? { retryAfter: Number(asked) } : {}
}
