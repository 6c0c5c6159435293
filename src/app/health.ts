import type { Deps } from '../gateway/core/deps.ts'
import type { Health } from '../http/operations/public.ts'
import type { Reports } from './reports.ts'

/** Returns the health of this gateway: ready while the store takes writes and a bundle is in force, until `close`. */
export function healthOf(
  deps: Deps,
  writes: () => Pick<Reports, 'refusal'> | undefined,
): { health: Health; close: () => void } {
  let closing = false
  const health: Health = {
    ready: async () => {
      const { ready, reason, behindMs } = await deps.store.health()
      const unwritten = ready ? writes()?.refusal() : undefined
      const policies =
        deps.policies.current() === undefined ? 'no valid bundle was loaded yet' : staleness(deps)
      const store = ready
        ? (unwritten ?? readyText(behindMs, deps.store.shortOfRoom()))
        : (reason ?? 'not ready')
      const takesWrites = ready && unwritten === undefined
      return { ready: takesWrites && !closing && deps.policies.current() !== undefined, store, policies }
    },
  }
  return { health, close: () => (closing = true) }
}

/** Returns the state of a ready store. It names no tenant, because any caller may read it. */
function readyText(behindMs: number | undefined, short: string | undefined): string {
  if (short !== undefined) return 'ready, but nearly full: new calls are refused, and held calls continue'
  if (behindMs === undefined) return 'ready'
  const seconds = (behindMs / 1_000).toFixed(1)
  return `ready, but its clock is ${seconds} s behind the last write of a tenant: commits of that tenant are refused until it has caught up`
}

function staleness(deps: Deps): string {
  const failed = deps.policies.status().lastLoad?.ok === false
  return failed ? 'ready, but the last load failed: an older bundle is in force' : 'ready'
}
