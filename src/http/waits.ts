import type { FastifyRequest } from 'fastify'
import type { Wait } from '../gateway/poll.ts'

/** Requests that are being held: each ends when its caller goes, and all end when the gateway closes. */
export interface Waits {
  /** So many are held that another one is not: a preference is none of ours to keep (RFC 7240 section 2). */
  full(): boolean
  hold(request: FastifyRequest, seconds: number): Wait & { release(): void }
  /** Ends every wait: the held polls answer with what they have. */
  endAll(): void
}

const MOST_HELD = 10_000

export function createWaits(): Waits {
  const open = new Set<AbortController>()
  let ended = false
  return {
    full: () => open.size >= MOST_HELD,
    hold(request, seconds) {
      const { socket } = request.raw
      const controller = new AbortController()
      const leave = (): void => controller.abort()
      open.add(controller)
      socket.once('close', leave)
      if (ended) controller.abort()
      return {
        ms: seconds * 1_000,
        signal: controller.signal,
        callerGone: () => socket.destroyed,
        release: () => {
          open.delete(controller)
          socket.off('close', leave)
        },
      }
    },
    endAll() {
      ended = true
      for (const controller of open) controller.abort()
    },
  }
}
