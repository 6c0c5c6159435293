import { type Complaint, CountersignError, type ErrorFacts } from './error.ts'

/** How an answer looks that a call may have: another is none, whatever it says. */
export interface Expected {
  readonly status: number
  readonly fits: (answer: Readonly<Record<string, unknown>>) => boolean
}

/** Far more than the contracts of all tools. Counted as it is after decompression, which makes much of little. */
const LARGEST_BYTES = 32 * 1024 * 1024
/** Keys and tokens, which a proxy that explains a refusal may repeat. Messages go to logs, and to models. */
const SECRET = /\bcs[krt]_[\w-]{40,}/g

/**
 * Reads an answer to its end.
 *
 * @throws CountersignError for a refusal, and for what is no answer of the agent API; what `fetch` throws when the answer breaks off
 */
export async function readAnswer<T>(response: Response, expected: Expected): Promise<T> {
  const text = await textOf(response)
  if (response.status !== expected.status) throw refusal(response, text)
  const answer = membersOf(text)
  if (answer === undefined || !expected.fits(answer)) throw unreadable(response)
  return answer as T
}

async function textOf(response: Response): Promise<string> {
  // not every fetch has streams
  if (!response.body) return response.text()
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (let bytes = 0; ;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.length
    if (bytes > LARGEST_BYTES) {
      reader.cancel().catch(() => undefined)
      throw unreadable(response)
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** Undefined for what is no JSON object. */
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
  const message = `what came with status ${status} is no answer of the agent API: something else may stand at this address, or between`
  return new CountersignError(message, { status, code: 'unreadable' })
}

/** The members of a problem (RFC 9457) are taken for what they should be, and for nothing else. */
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

/** Seconds; a date, or what is neither, is nothing that we know to wait for. */
function retryAfterOf({ headers }: Response): { readonly retryAfter?: number } {
  const asked = headers.get('retry-after') ?? ''
  return /^\d{1,9}$/.test(asked) ? { retryAfter: Number(asked) } : {}
}
