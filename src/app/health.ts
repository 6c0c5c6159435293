import { withdrawalText } from '../policy/language/snapshot.ts'
import type { Deps } from '../gateway/core/deps.ts'
import type { Health } from '../http/operations/public.ts'
import type { Reports } from './reports.ts'

/**
 * Returns the health of this gateway, which is ready while the store accepts writes and a bundle is in force, until
 * `close`.
 */
export function healthOf(
  deps: Deps,
  writes: Pick<Reports, 'refusal' | 'watch'>,
): { health: Health; close: () => void } {
  let closing = false
  const health: Health = {
    ready: async () => {
      const { ready, reason } = await deps.store.health()
      const unwritten = ready ? writes.refusal() : undefined
      const policies =
        deps.policies.current() === undefined ? 'no valid bundle was loaded yet' : staleness(deps)
      const lost = writes.watch.lost()
      const store =
        lost ?? (ready ? (unwritten ?? readyText(deps.store.shortOfRoom())) : (reason ?? 'not ready'))
      const takesWrites = ready && unwritten === undefined
      return { ready: takesWrites && !closing && deps.policies.current() !== undefined, store, policies }
    },
  }
  return { health, close: () => (closing = true) }
}

function readyText(short: string | undefined): string {
  return short === undefined
    ? 'ready'
    : 'ready, but nearly full: new calls are refused, and held calls continue'
}

function staleness(deps: Deps): string {
  const failed = deps.policies.status().lastLoad?.ok === false
  const snapshot = deps.policies.current()
  const withdrawn = snapshot?.withdrawal ? `: ${withdrawalText(snapshot)}` : ''
  return failed ? `ready, but the last load failed: an older bundle is in force${withdrawn}` : 'ready'
}
