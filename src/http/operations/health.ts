import type { FastifyInstance } from 'fastify'

/** Liveness: the process answers. Readiness: it can decide: store and policy, and not shutting down. */
export interface Health {
  ready(): Promise<Readiness>
}

export interface Readiness {
  readonly ready: boolean
  readonly store: string
  readonly policies: string
}

export function healthRoutes(app: FastifyInstance, health: Health): void {
  app.get('/livez', () => Promise.resolve({ live: true }))
  app.get('/readyz', async (_, reply) => {
    const readiness = await health.ready()
    return reply.code(readiness.ready ? 200 : 503).send(readiness)
  })
}
