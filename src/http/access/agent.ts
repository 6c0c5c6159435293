import type { FastifyRequest, onRequestHookHandler, preHandlerHookHandler } from 'fastify'
import { ERRORS, GatewayError } from '../../contract/errors.ts'
import type { Caller, Standing } from '../../gateway/core/caller.ts'
import { identify, keyInForce, recognise } from '../../gateway/auth/identify.ts'
import { standingOf } from '../../gateway/auth/standing.ts'
import type { HttpDeps } from '../core/deps.ts'
import { answerProblem, asGatewayError, type ErrorHandler } from '../core/problem.ts'
import type { Rate } from '../core/rate-limit.ts'
import { bearerOf } from './auth.ts'

/**
 * Admits a known agent synchronously. After an asynchronous hook, Node buffers the body, which costs more than the
 * check.
 */
export function authenticateAgent(http: HttpDeps): onRequestHookHandler {
  const admit = (request: FastifyRequest, caller: Omit<Caller, 'standing'>): void => {
    const standing = standingOf(http.gateway, caller)
    request.caller = { standing, ...caller }
    limitRate(http, caller, standing)
  }
  return (request, _, done) => {
    const credential = bearerOf(request)
    const known = recognise(http.gateway, credential)
    if (known === undefined) {
      identify(http.gateway, 'agent', credential)
        .then((caller) => admit(request, caller))
        .then(() => done(), done)
      return
    }
    try {
      admit(request, known)
    } catch (error) {
      done(error as Error)
      return
    }
    done()
  }
}

/**
 * The gateway first parses all requests of one turn of the event loop, and then decides them. A processor that
 * alternates between the two tasks spends most of its time loading code into its cache.
 */
export const decideTogether: preHandlerHookHandler = (_, __, done) => {
  setImmediate(done)
}

/** Checks the key of a recognised agent before reporting another refusal, so that a revoked key is reported first. */
export function deadKeyFirst({ gateway }: HttpDeps): ErrorHandler {
  const firstOf = async (error: unknown, caller: Caller | undefined): Promise<unknown> => {
    const { status } = ERRORS[asGatewayError(error).code]
    if (caller === undefined || status === 401 || status >= 500) return error
    return keyInForce(gateway, caller).then(
      () => error,
      (dead: unknown) => dead,
    )
  }
  return async (error, request, reply) => answerProblem(await firstOf(error, request.caller), request, reply)
}

/** The rate of an agent whose directory entry sets none: a thousand calls a second, more than agents need. */
const DEFAULT_RATE: Rate = { calls: 60_000, withinMs: 60_000 }

/** @throws GatewayError `rate_limited` when the agent's rate is exhausted */
function limitRate(http: HttpDeps, caller: Caller, { entry }: Standing): void {
  const rate = entry?.rate ?? DEFAULT_RATE
  const retryAfterMs = http.rates.take(caller.keyHash, rate)
  if (retryAfterMs === undefined) return
  throw new GatewayError(
    'rate_limited',
    `this agent may make ${rate.calls} calls in ${rate.withinMs / 1000} seconds`,
    { retryAfter: retryAfterMs / 1000 },
  )
}
