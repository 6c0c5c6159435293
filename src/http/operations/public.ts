import type { Components } from '../../contract/components.ts'
import type { PUBLIC } from '../../contract/operations/public.ts'
import { verifierKeys } from '../../gateway/jobs/checkpoints.ts'
import type { HttpDeps } from '../core/deps.ts'
import type { Handlers } from '../core/handler.ts'

/**
 * Liveness: the process answers. Readiness: the gateway can decide, because store and policy work and it is not
 * shutting down.
 */
export interface Health {
  ready(): Promise<Components['Readiness']>
}

export const publicHandlers = ({ logIdentity }: HttpDeps, health: Health): Handlers<typeof PUBLIC> => ({
  verifier_keys: () => verifierKeys(logIdentity),

  live: () => ({ live: true }),

  ready: async ({ reply }) => {
    const readiness = await health.ready()
    if (!readiness.ready) reply.code(503)
    return readiness
  },
})
