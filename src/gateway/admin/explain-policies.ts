import type { ExplainRequest } from '../../contract/admin.ts'
import { pointerStep } from '../../contract/json.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type FieldError, GatewayError } from '../../contract/errors.ts'
import { MAX_ECHOED_NAME, MAX_PAYLOAD_PROBLEMS } from '../../policy/text/bounds.ts'
import type { Explanation } from '../../policy/evaluate/explanation.ts'
import { callOfRequest, strangersIn, usedOf } from '../../policy/evaluate/explain-request.ts'
import { callUnder } from '../../policy/evaluate/limits.ts'
import type { Deps } from '../core/deps.ts'

/**
 * Explains how the bundle in force decides a request, rule by rule (docs/operations.md). It runs no tool, charges
 * no limit and records no evidence.
 *
 * @param confined true when the caller may see only the tools of the agent's tenant
 */
export async function explainPolicies(
  deps: Deps,
  request: ExplainRequest,
  confined: boolean,
): Promise<Explanation> {
  const snapshot = deps.policies.current()
  if (snapshot === undefined) throw new GatewayError('not_ready', 'no policy is in force')
  const call = callOfRequest(request, deps.store.now())
  if (call === undefined)
    throw misfit([{ pointer: '/time', message: 'must be a date and time in RFC 3339 format' }])
  if (confined && !snapshot.knows(call.tenant, call.tool)) return snapshot.explainUnknown(call)
  const strangers = strangersIn(request, snapshot)
  if (strangers.length > 0) throw misfit(strangers.slice(0, MAX_PAYLOAD_PROBLEMS).map(strangeLimit))
  const problems = snapshot.checkPayload(call.tool, call.payload)
  if (problems.length === 0) {
    const judged = callUnder(call, await snapshot.judge(call), usedOf(request))
    // judging and showing the call gets its own turn of the event loop, because other requests wait
    await nextTurn()
    return snapshot.explain(judged)
  }
  const detail = `the payload does not fit the contract of \`${call.tool}\``
  const errors = problems.map(({ pointer, message }) => ({ pointer: `/payload${pointer}`, message }))
  throw new GatewayError('invalid_policy_input', detail, { errors })
}

function strangeLimit(id: string): FieldError {
  const name = pointerStep(id.slice(0, MAX_ECHOED_NAME))
  return { pointer: `/used${name}`, message: 'is not a limit of the tool' }
}

function misfit(errors: readonly FieldError[]): GatewayError {
  return new GatewayError('invalid_request', 'the request does not fit the contract', { errors })
}
