import { STATUS_CODES, type ServerResponse } from 'node:http'
import { GatewayError, problemOf } from '../../contract/errors.ts'

/**
 * An answer with a string that is composed only once. The text and the header are sent in one piece, because a refusal
 * must be cheap.
 */
export interface Refusal {
  readonly status: number
  readonly text: string
  readonly length: string
}

export const OVERLOADED = refusalOf(
  new GatewayError(
    'overloaded',
    'this gateway receives more requests than it can serve; nothing was changed',
  ),
)

export const TOO_MANY_BODIES = refusalOf(
  new GatewayError('rate_limited', 'too many of your requests are still arriving; send fewer at once'),
)

function refusalOf(error: GatewayError): Refusal {
  const problem = problemOf(error)
  const text = JSON.stringify(problem)
  return { status: problem.status, text, length: String(Buffer.byteLength(text)) }
}

/** Answers without reading the request. */
export function refuse(response: ServerResponse, refusal: Refusal, retrySeconds: number): void {
  if (response.headersSent) return
  const { status, text, length } = refusal
  response.sendDate = false
  const type = ['content-type', 'application/problem+json', 'x-content-type-options', 'nosniff']
  const rest = ['cache-control', 'no-store', 'content-length', length, 'retry-after', String(retrySeconds)]
  response.writeHead(status, [...type, ...rest])
  response.end(text)
}

/** A refusal as text, for a connection on which no request can be answered any more. */
export function rawRefusal(problem: ReturnType<typeof problemOf>, ...headers: readonly string[]): string {
  const body = JSON.stringify(problem)
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    ...headers,
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
