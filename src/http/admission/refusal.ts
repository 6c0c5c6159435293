import type { ServerResponse } from 'node:http'
import { GatewayError, problemOf } from '../../contract/errors.ts'

/** An answer whose text is made once. It is sent in one piece with its header, because a refusal must cost little. */
export interface Refusal {
  readonly status: number
  readonly text: string
  readonly length: string
}

export const OVERLOADED = refusalOf(
  new GatewayError('overloaded', 'this gateway is asked for more than it can do; nothing was changed'),
)

export const TOO_MANY_BODIES = refusalOf(
  new GatewayError('rate_limited', 'too many requests of yours are on their way in at once'),
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
  const type = ['content-type', 'application/problem+json', 'cache-control', 'no-store']
  response.writeHead(status, [...type, 'content-length', length, 'retry-after', String(retrySeconds)])
  response.end(text)
}
