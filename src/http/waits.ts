import type { FastifyRequest } from 'fastify'

/** Requests that are being held: each ends when its caller goes, and all end when the gateway closes. */
export interface Waits {
  signalFor(request: FastifyRequest): { readonly signal: AbortSignal; release(): void }
  /** Ends every wait: the held polls answer with what they have. */
  endAll(): void
  /** True once `endAll` was called: the gateway is closing. */
  ended(): boolean
}

export function createWaits(): Waits {
  const open = new Set<AbortController>()
  let ended = false
  return {
    signalFor(request) {
      const controller = new AbortController()
      const leave = (): void => controller.abort()
      open.add(controller)
      request.raw.once('close', leave)
      if (ended) controller.abort()
      return {
        signal: controller.signal,
        release: () => {
          open.delete(controller)
          request.raw.off('close', leave)
        },
      }
    },
    ended: () => ended,
    endAll() {
      ended = true
      for (const controller of open) controller.abort()
    },
  }
}
