import type { SealedFlow } from './identity-provider.ts'

/** The flows of single sign-on whose answer has arrived here. A repeated answer must not reach the provider. */
export interface UsedFlows {
  has(flow: Pick<SealedFlow, 'state'>): boolean
  /** Remembers the flow until it ends. `now` in ms since 1970. */
  add(flow: Pick<SealedFlow, 'state' | 'until'>, now: number): void
}

/** More answers than people can give while a flow lasts. Beyond it, the oldest is forgotten. */
const MOST_FLOWS = 10_000

export function createUsedFlows(): UsedFlows {
  const used = new Map<string, number>()
  return {
    has: ({ state }) => used.has(state),
    add({ state, until }, now) {
      for (const [oldest, end] of used) {
        if (used.size < MOST_FLOWS && now < end) break
        used.delete(oldest)
      }
      used.set(state, until)
    },
  }
}
