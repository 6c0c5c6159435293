import type { Socket } from 'node:net'
import { type ErrorCode, GatewayError, problemOf } from '../../contract/errors.ts'
import type { TrafficWatcher } from '../core/deps.ts'
import { rawRefusal } from '../admission/refusal.ts'
import { NO_ROUTE } from '../core/request-metrics.ts'
import { askedOn } from '../wire/pipelining.ts'
import { ifSlow } from '../wire/slow-client.ts'

/**
 * Answers requests that Node's parser refuses, which reach no route. The gateway writes the answer to the socket after
 * earlier answers, and then ends the connection.
 */
export type Malformed = (error: Error & { code?: string }, socket: Socket) => void

/** `patienceMs` is the additional time for a client that Node wrongly considers slow. */
export function answerMalformed(watcher: TrafficWatcher, patienceMs: number): Malformed {
  const answer = answerOnce(watcher)
  return (error, socket) => {
    const last = () => askedOn(socket)?.request
    if (error.code === TIMEOUT) ifSlow({ socket, last, patienceMs }, () => answer(error, socket))
    else answer(error, socket)
  }
}

function answerOnce(watcher: TrafficWatcher): Malformed {
  const refused = new WeakSet<Socket>()
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    if (refused.has(socket)) return
    refused.add(socket)
    const last = askedOn(socket)
    const broken = last?.request.complete === false ? last : undefined
    const answered = broken === undefined ? last?.response : broken.before
    const refuse = (): void => {
      if (broken?.response.headersSent === true) socket.end()
      else if (socket.writable) send(watcher, error, socket)
    }
    // the previous request may have taken effect, so its answer is sent first and may end the connection
    if (answered?.destroyed === false) answered.once('close', refuse)
    else refuse()
  }
}

function send(watcher: TrafficWatcher, error: Error & { code?: string }, socket: Socket): void {
  const code = clientErrorCode(error.code)
  const problem = problemOf(new GatewayError(code, DETAIL[code] ?? 'the request cannot be read as HTTP/1.1'))
  socket.end(rawRefusal(problem))
  watcher.answered({
    method: 'none',
    route: NO_ROUTE,
    status: problem.status,
    seconds: 0,
    problem: problem.code,
  })
}

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'

const DETAIL: Partial<Record<ErrorCode, string>> = {
  header_too_large: 'the header of the request is larger than 16 KiB',
  request_timeout: 'the request did not arrive in time',
}

function clientErrorCode(code: string | undefined): ErrorCode {
  if (code === 'HPE_HEADER_OVERFLOW') return 'header_too_large'
  return code === TIMEOUT ? 'request_timeout' : 'invalid_request'
}
