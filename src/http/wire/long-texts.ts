import { GatewayError } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { longTextErrors } from '../../contract/long-texts.ts'

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
