import type { FastifyRequest } from 'fastify'
import type { Wait } from '../../gateway/core/wait.ts'
import { createSharesOfTenants } from '../admission/shares.ts'

/** A request that waits until it is released. */
export type Held = Wait & { release(): void }

/** The agent that polls, and its tenant. */
interface Sender {
  readonly tenant: string
  readonly id: string
}

/**
 * Requests on hold. A held request ends when its connection or the gateway closes. A poll also ends after its time.
 */
export interface Waits {
  /**
   * Holds a poll of `sender` for at most this time. Undefined when too many polls are held, in total, of this
   * tenant or of this agent. A server may ignore a preference (RFC 7240 section 2).
   */
  holdPoll(request: FastifyRequest, seconds: number, sender: Sender): Held | undefined
  holdStream(request: FastifyRequest): Held
  /** The number of held requests: polls, and streams, which do not wait for a specific decision. */
  held(): { readonly polls: number; readonly streams: number }
  /** Ends every wait. Held polls are answered with the current state. */
  endAll(): void
}

/**
 * One tenant can hold at most three quarters of the polls, and one agent three quarters of those
 * (src/http/admission/shares.ts), which leaves room for others.
 */
const MOST_POLLS = 10_000

export function createWaits(): Waits {
  const open = new Set<AbortController>()
  const polls = createSharesOfTenants(MOST_POLLS)
  let ended = false

  /** Uses the local clock, like the caller, because the store's clock may temporarily run slower. */
  function hold(request: FastifyRequest, seconds: number | undefined, released: () => void): Held {
    const { socket } = request.raw
    const controller = new AbortController()
    const leave = (): void => controller.abort()
    const ms = (seconds ?? 0) * 1_000
    const timer = seconds === undefined ? undefined : setTimeout(leave, ms).unref()
    open.add(controller)
    socket.once('close', leave)
    // the connection closed during the check of the credential, and emits no further event
    if (ended || socket.destroyed) leave()
    return {
      ms,
      signal: controller.signal,
      waiting: () => open.size,
      release: () => {
        clearTimeout(timer)
        if (open.delete(controller)) released()
        socket.off('close', leave)
      },
    }
  }

  return {
    holdPoll(request, seconds, sender) {
      const { tenant, id } = sender
      if (!polls.take(tenant, id, 1)) return undefined
      return hold(request, seconds, () => polls.free(tenant, id, 1))
    },
    holdStream: (request) => hold(request, undefined, () => undefined),
    held: () => ({ polls: polls.held(), streams: open.size - polls.held() }),
    endAll() {
      ended = true
      for (const controller of open) controller.abort()
    },
  }
}
