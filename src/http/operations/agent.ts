import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  preHandlerHookHandler,
} from 'fastify'
import type {
  AgentEvent,
  ApprovalValidationRequest,
  DecisionRequest,
  PollQuery,
  ResolveRequest,
  Revision,
  WithdrawalRequest,
} from '../../contract/agent.ts'
import { defined } from '../../contract/defined.ts'
import { ERRORS, GatewayError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { LIMITS } from '../../contract/limits.ts'
import { eventKind } from '../../domain/event.ts'
import { TASK_ID } from '../../domain/id.ts'
import type { Caller } from '../../gateway/core/caller.ts'
import { agentEntry, identify, keyInForce, recognise } from '../../gateway/auth/identify.ts'
import { poll } from '../../gateway/agent/read-decision.ts'
import { record } from '../../gateway/agent/report-event.ts'
import { resolve } from '../../gateway/agent/resolve.ts'
import { revise } from '../../gateway/agent/revise.ts'
import { submit } from '../../gateway/agent/submit.ts'
import type { Committed } from '../../gateway/core/transact.ts'
import { validate } from '../../gateway/agent/redeem.ts'
import { withdraw } from '../../gateway/agent/withdraw.ts'
import { bearerOf, callerOf } from '../access/auth.ts'
import { acceptAnything, acceptStrictJson, countOf } from '../wire/strict-json.ts'
import { besideCall, refuseLongTexts } from '../wire/long-texts.ts'
import type { HttpDeps } from '../deps.ts'
import { waitOf } from '../wire/prefer.ts'
import { gatewayFor } from '../tracing.ts'
import { answerProblem, asGatewayError } from '../problem.ts'

/** The endpoints of docs/agent-api.md: translation only. */
export function agentRoutes(app: FastifyInstance, http: HttpDeps): void {
  app.decorateRequest('caller')
  app.addHook('onRequest', authenticate(http))
  app.addHook('preHandler', decideTogether)
  acceptStrictJson(app)
  app.setErrorHandler(async (error, request, reply) =>
    answerProblem(await deadKeyFirst(http, request, error), request, reply),
  )
  requestsRoute(app, http)
  decisionsRoute(app, http)
  eventsRoute(app, http)
  withdrawalsRoute(app, http)
  resolveRoute(app, http)
  app.register((scope, _, done) => {
    validateRoute(scope, http)
    done()
  })
}

/** A known agent passes at once: a hook that waits makes Node buffer the body, which costs more than the whole check. */
function authenticate(http: HttpDeps): onRequestHookHandler {
  const admit = (request: FastifyRequest, caller: Caller): void => {
    request.caller = caller
    limitRate(http, caller)
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
 * Requests that were read in one turn of the event loop are all parsed first and decided after. A processor that goes back
 * and forth between the two for each request spends most of its time on fetching the code of the other.
 */
const decideTogether: preHandlerHookHandler = (_, __, done) => {
  setImmediate(done)
}

/** Whoever was recognised and is refused for another reason first hears that the key is gone, if it is. */
async function deadKeyFirst(http: HttpDeps, request: FastifyRequest, error: unknown): Promise<unknown> {
  const { code } = asGatewayError(error)
  const { status } = ERRORS[code]
  if (request.caller === undefined || status === 401 || status >= 500) return error
  return keyInForce(http.gateway, request.caller).then(
    () => error,
    (dead: unknown) => dead,
  )
}

/** @throws GatewayError `rate_limited` when the agent's directory entry sets a rate and it is spent */
function limitRate(http: HttpDeps, caller: Caller): void {
  const rate = agentEntry(http.gateway.policies.current(), caller)?.rate
  if (rate === undefined) return
  const retryAfterMs = http.rates.take(caller.keyHash, rate)
  if (retryAfterMs === undefined) return
  throw new GatewayError(
    'rate_limited',
    `this agent may make ${rate.calls} calls in ${rate.withinMs / 1000} seconds`,
    {
      retryAfter: retryAfterMs / 1000,
    },
  )
}

interface TaskPath {
  Params: { taskID: string }
}

function requestsRoute(app: FastifyInstance, http: HttpDeps): void {
  app.post<TaskPath>('/tasks/:taskID/requests', async (request, reply) => {
    const submission = {
      taskId: taskIdOf(request.params.taskID),
      request: http.schemas.check<DecisionRequest>('DecisionRequest', request.body),
      ...defined({ idempotencyKey: idempotencyKeyOf(request) }),
    }
    return answer(reply, await submit(gatewayFor(request, http), callerOf(request), submission))
  })
}

function decisionsRoute(app: FastifyInstance, http: HttpDeps): void {
  app.get('/decisions', { exposeHeadRoute: false }, async (request, reply) => {
    const target = http.schemas.check<PollQuery>('PollQuery', { ...(request.query as object) })
    if (isPrefetch(request)) throw new GatewayError('invalid_request', 'a decision is not prefetched')
    const { seconds } = waitOf(request)
    const { socket } = request.raw
    const callerGone = (): boolean => socket.destroyed
    const caller = callerOf(request)
    const wait =
      seconds === 0 ? undefined : http.waits.holdPoll(request, seconds, `${caller.tenant}/${caller.id}`)
    if (wait === undefined)
      return answer(reply, await poll(gatewayFor(request, http), caller, target, { callerGone }))
    try {
      http.admission.leave(reply.raw)
      const decision = await poll(gatewayFor(request, http), caller, target, { callerGone, wait })
      reply.header('preference-applied', `wait=${seconds}`)
      return answer(reply, decision)
    } finally {
      wait.release()
    }
  })
}

function eventsRoute(app: FastifyInstance, http: HttpDeps): void {
  app.post<TaskPath>('/tasks/:taskID/events', async (request, reply) => {
    const taskId = taskIdOf(request.params.taskID)
    const event = http.schemas.check<AgentEvent>('AgentEvent', request.body)
    const kind = eventKind(event.event_type, taskId)
    reply.code(201)
    if (kind.kind === 'evidence') {
      refuseLongTexts(event.payload as JsonObject | undefined)
      return answer(reply, await record(gatewayFor(request, http), callerOf(request), taskId, event))
    }
    if (kind.kind === 'malformed') throw malformedEventType(taskId)
    const proposed = (event.payload as { revision?: unknown } | undefined)?.revision
    const revision = http.schemas.check<Revision>('Revision', proposed, '/payload/revision')
    refuseLongTexts(besideCall(event.payload as JsonObject))
    const { thread_id } = kind
    const request_ = { taskId, thread_id, revision: withImages(revision, event.images) }
    return answer(reply, await revise(gatewayFor(request, http), callerOf(request), request_))
  })
}

/** A revision may carry members that the contract does not name; images are those of the event, which were checked. */
function withImages(
  revision: Revision & { images?: unknown },
  images: string[] | undefined,
): Revision & { images?: string[] } {
  const { images: _, ...checked } = revision
  return images === undefined ? checked : { ...checked, images }
}

function malformedEventType(taskId: string): GatewayError {
  return new GatewayError('invalid_request', 'the request does not fit the contract', {
    errors: [{ pointer: '/event_type', message: `must be \`revision.${taskId}.<thread_id>\`` }],
  })
}

function withdrawalsRoute(app: FastifyInstance, http: HttpDeps): void {
  app.post<{ Params: { thread_id: string } }>('/threads/:thread_id/withdrawals', async (request, reply) => {
    const asked = http.schemas.check<WithdrawalRequest>('WithdrawalRequest', request.body ?? {})
    const withdrawal = { ...request.params, ...asked }
    return answer(reply, await withdraw(gatewayFor(request, http), callerOf(request), withdrawal))
  })
}

function resolveRoute(app: FastifyInstance, http: HttpDeps): void {
  app.post('/tools/resolve', (request) => {
    const { tools } = http.schemas.check<ResolveRequest>('ResolveRequest', request.body)
    return resolve(gatewayFor(request, http), callerOf(request), tools)
  })
}

/** Whatever the body says, an authenticated call is answered 200: callers inspect `valid`. A rate limit and a stalled body stay errors. */
function validateRoute(app: FastifyInstance, http: HttpDeps): void {
  acceptAnything(app, http.bodyBytes)
  const judge = async (request: FastifyRequest, reply: FastifyReply, body: unknown): Promise<object> => {
    const fitting = http.schemas.fits<ApprovalValidationRequest>('ApprovalValidationRequest', body)
    const claimed = (body as { signature?: unknown } | null | undefined)?.signature
    const signature = typeof claimed === 'string' ? claimed : undefined
    return answer(
      reply,
      await validate(gatewayFor(request, http), callerOf(request), fitting ?? { signature }),
    )
  }
  app.setErrorHandler(async (error, request, reply) => {
    const bodyRefused = ['body_too_large', 'unsupported_media_type', 'invalid_json', 'invalid_request']
    if (request.caller === undefined || !bodyRefused.includes(asGatewayError(error).code)) {
      return answerProblem(error, request, reply)
    }
    return reply.code(200).send(await judge(request, reply, undefined))
  })
  app.post('/approvals/validate', (request, reply) => judge(request, reply, request.body))
}

function taskIdOf(text: string): string {
  if (TASK_ID.test(text)) return text
  throw new GatewayError('invalid_request', 'the task id does not fit the contract', {
    errors: [
      { pointer: '/taskID', message: 'letters, digits and . _ : - (not first), at most 128 characters' },
    ],
  })
}

function idempotencyKeyOf(request: FastifyRequest): string | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  const fits = typeof key === 'string' && key.length <= LIMITS.IDEMPOTENCY_KEY_CHARS && /^[!-~]+$/.test(key)
  if (fits && countOf(request, 'idempotency-key') === 1) return key
  throw new GatewayError('invalid_request', 'Idempotency-Key must be 1 to 255 visible ASCII characters, once')
}

function isPrefetch(request: FastifyRequest): boolean {
  return [request.headers['purpose'], request.headers['sec-purpose']].some((value) =>
    /prefetch/i.test(String(value ?? '')),
  )
}

/** The body, and the receipt of the evidence record that the answer rests on. */
export function answer<T>(reply: FastifyReply, committed: Committed<T>): T {
  const { receipt, replayed } = committed
  if (replayed) reply.header('idempotent-replayed', 'true')
  if (receipt) reply.header('countersign-evidence', `${receipt.number}:${receipt.leaf}`)
  return committed.answer
}

declare module 'fastify' {
  interface FastifyRequest {
    caller?: Caller
  }
}
