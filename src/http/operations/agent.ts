import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { longTextErrors } from '../../contract/long-texts.ts'
import type { FastifyRequest } from 'fastify'
import type { Revision } from '../../contract/agent.ts'
import { GatewayError } from '../../contract/errors.ts'
import type { AGENT } from '../../contract/operations/agent.ts'
import { eventKind } from '../../domain/event.ts'
import { TASK_ID } from '../../domain/id.ts'
import { endCall, outcomesOf } from '../../gateway/agent/outcome.ts'
import { poll } from '../../gateway/agent/poll.ts'
import { redeem } from '../../gateway/agent/redeem.ts'
import { reissue } from '../../gateway/agent/reissue.ts'
import { report } from '../../gateway/agent/report.ts'
import { resolve } from '../../gateway/agent/resolve.ts'
import { revise } from '../../gateway/agent/revise.ts'
import { submit } from '../../gateway/agent/submit.ts'
import { withdraw } from '../../gateway/agent/withdraw.ts'
import type { HttpDeps } from '../core/deps.ts'
import { type Call, type Handlers, received } from '../core/handler.ts'

/** Handlers of docs/agent-api.md. They only translate. */
export function agentHandlers(http: HttpDeps): Handlers<typeof AGENT> {
  const { schemas } = http
  return {
    submit: async ({ gateway, caller, params, body: request, idempotencyKey, reply }) => {
      const submission = { taskId: taskIdOf(params), request, idempotencyKey }
      return received(reply, await submit(gateway, caller, submission))
    },

    poll: (call) => pollOrHold(http, call),

    // answers every authenticated call with 200, regardless of its body, because callers inspect `valid`
    redeem: async ({ gateway, caller, body, reply }) => {
      const claimed = (body as { signature?: unknown } | null | undefined)?.signature
      const signature = typeof claimed === 'string' ? claimed : undefined
      const redemption = schemas.fits('ApprovalValidationRequest', body) ?? { signature }
      return received(reply, await redeem(gateway, caller, redemption))
    },

    report: async ({ gateway, caller, params, body: event, reply }) => {
      const taskId = taskIdOf(params)
      const kind = eventKind(event.event_type, taskId)
      if (kind.kind === 'evidence') {
        refuseLongTexts(event.payload as JsonObject | undefined)
        return received(reply, await report(gateway, caller, taskId, event))
      }
      if (kind.kind === 'malformed') throw malformedEventType(taskId)
      const proposed = (event.payload as { revision?: unknown } | undefined)?.revision
      const revision = schemas.parse('Revision', proposed, '/payload/revision')
      refuseLongTexts(besideCall(event.payload as JsonObject))
      const { thread_id } = kind
      const revised = { taskId, thread_id, revision: withImages(revision, event.images) }
      return received(reply, await revise(gateway, caller, revised))
    },

    reissue: async ({ gateway, caller, params, reply }) =>
      received(reply, await reissue(gateway, caller, params.thread_id)),

    withdraw: async ({ gateway, caller, params, body, reply }) =>
      received(reply, await withdraw(gateway, caller, { ...params, ...body })),

    end_call: async ({ gateway, caller, params, body, reply }) => {
      const committed = await endCall(gateway, caller, taskIdOf(params), body)
      reply.code(committed.replayed ? 200 : 201)
      return received(reply, committed)
    },

    outcomes: ({ gateway, caller, params, query }) => outcomesOf(gateway, caller, taskIdOf(params), query),

    resolve: ({ gateway, caller, body }) => resolve(gateway, caller, body.tools),
  }
}

/** Holds the poll for the caller's preferred time, if there is room. A held poll gives up its place. */
async function pollOrHold(http: HttpDeps, call: Call<(typeof AGENT)['poll']>) {
  const { gateway, caller, query, wait: seconds, request, reply } = call
  if (isPrefetch(request)) throw new GatewayError('invalid_request', 'a decision must not be prefetched')
  const { socket } = request.raw
  const callerGone = (): boolean => socket.destroyed
  const wait = seconds === 0 ? undefined : http.waits.holdPoll(request, seconds, caller)
  if (wait === undefined) return received(reply, await poll(gateway, caller, query, { callerGone }))
  try {
    http.admission.leave(reply.raw)
    const decision = await poll(gateway, caller, query, { callerGone, wait })
    return received(reply.header('preference-applied', `wait=${seconds}`), decision)
  } finally {
    wait.release()
  }
}

/** Adds the event's checked images to a revision, which may have members that the contract does not name. */
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

function taskIdOf({ taskID }: { readonly taskID: string }): string {
  if (TASK_ID.test(taskID)) return taskID
  throw new GatewayError('invalid_request', 'the task id does not fit the contract', {
    errors: [
      { pointer: '/taskID', message: 'letters, digits and . _ : - (not first), at most 128 characters' },
    ],
  })
}

function isPrefetch(request: FastifyRequest): boolean {
  return [request.headers['purpose'], request.headers['sec-purpose']].some((value) =>
    /prefetch/i.test(String(value ?? '')),
  )
}

/**
 * Contracts cannot raise the limit of text length in events that an agent reports.
 *
 * @throws GatewayError `invalid_request`
 */
export function refuseLongTexts(payload: JsonValue | undefined): void {
  const errors = longTextErrors(payload === undefined ? {} : { payload })
  if (errors.length > 0)
    throw new GatewayError('invalid_request', 'the request does not fit the contract', { errors })
}

/** The payload of a revision event without the proposed call, which the tool's contract limits. */
export function besideCall(payload: JsonObject): JsonObject {
  const { revision, ...others } = payload
  const { request_payload: _, ...claims } = revision as JsonObject
  return { ...others, revision: claims }
}
