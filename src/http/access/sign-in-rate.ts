import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import { createShares } from '../admission/shares.ts'
import type { HttpDeps } from '../core/deps.ts'
import type { Rates } from '../core/rate-limit.ts'
import { addressOf } from '../wire/connections.ts'

const MINUTE_MS = 60_000

const RATE = { calls: LIMITS.SIGN_INS_PER_MINUTE, withinMs: MINUTE_MS }

/**
 * Kinds of attempts, each with a separate count. A stranger who exhausts `discovery` and `stranger` does not lock
 * people out.
 */
type SignInBy = 'link' | 'discovery' | 'stranger'

/** Limits attempts, to protect this instance and its provider. @throws GatewayError `rate_limited` */
export function limitSignIns({ rates }: HttpDeps, by: SignInBy): void {
  const retryAfterMs = rates.take(`sign-in by ${by}`, RATE)
  if (retryAfterMs !== undefined) throw tooMany(retryAfterMs)
}

/**
 * Limits the requests for the provider's metadata, and the flows that one address begins in a minute. Flows of other
 * addresses do not count, so a page that sends visitors here exhausts no limit.
 *
 * @throws GatewayError `rate_limited`
 */
export function limitFlows(http: HttpDeps): (request: FastifyRequest, asksProvider: boolean) => void {
  let began = -Infinity
  let begun = new Map<string, number>()
  let asked = createShares(LIMITS.SIGN_INS_PER_MINUTE)
  return (request, asksProvider) => {
    const now = performance.now()
    if (now - began >= MINUTE_MS) {
      began = now
      begun = new Map()
      asked = createShares(LIMITS.SIGN_INS_PER_MINUTE)
    }
    const address = addressOf(request.raw, http.connections.trusted)
    const flows = (begun.get(address) ?? 0) + 1
    const isFull = flows > LIMITS.FLOWS_PER_ADDRESS || (asksProvider && !asked.take(address, 1))
    if (isFull) throw tooMany(began + MINUTE_MS - now)
    begun.set(address, flows)
    if (asksProvider) limitSignIns(http, 'discovery')
  }
}

/** The wait of the answers of begun flows for a token request, one of each address after the other. */
export type TokenTurns = (address: string, response: ServerResponse) => Promise<void>

/**
 * Bounds the token requests in a minute. An answer beyond the bound waits, because its person has done nothing wrong.
 *
 * @throws GatewayError `rate_limited` when more answers of the address wait than it may begin flows in a minute
 */
export function createTokenTurns(rates: Rates): TokenTurns {
  const waiting = new Map<string, (() => void)[]>()
  let timer: NodeJS.Timeout | undefined
  const begin = (): void => {
    timer = undefined
    // a name that is set again comes last
    for (const [address, turns] of waiting) {
      const afterMs = rates.take('sign-in by oidc', RATE)
      if (afterMs !== undefined) {
        timer = setTimeout(begin, afterMs).unref()
        return
      }
      waiting.delete(address)
      turns.shift()?.()
      if (turns.length > 0) waiting.set(address, turns)
    }
  }
  return (address, response) => {
    const turns = waiting.get(address) ?? []
    if (turns.length >= LIMITS.FLOWS_PER_ADDRESS) throw tooMany(MINUTE_MS)
    waiting.set(address, turns)
    return new Promise((resolve, reject) => {
      turns.push(resolve)
      response.once('close', () => {
        const place = turns.indexOf(resolve)
        if (place >= 0) turns.splice(place, 1)
        if (turns.length === 0 && waiting.get(address) === turns) waiting.delete(address)
        reject(tooMany(0))
      })
      if (timer === undefined) begin()
    })
  }
}

function tooMany(retryAfterMs: number): GatewayError {
  return new GatewayError('rate_limited', 'too many attempts to sign in; try again in a moment', {
    retryAfter: retryAfterMs / 1000,
  })
}
