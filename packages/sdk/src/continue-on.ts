import { variable } from './environment.ts'
import { NotExecuted } from './errors.ts'
import { isUndecided } from './refusal.ts'
import { bytesIn } from './response.ts'
import { verifyWebhook, type VerifyOptions, type WebhookMessage, WebhookRefused } from './webhook.ts'

export interface ContinueOptions extends VerifyOptions {
  /** `whsec_...`; both during a rotation. Default: the variable `COUNTERSIGN_WEBHOOK_SECRET`. */
  readonly secrets?: string | readonly string[] | undefined
}

/** The members of a `Request` that are read. */
export type Delivery = Pick<Request, 'headers' | 'arrayBuffer'> & { readonly body?: Request['body'] }

/** Maximum size of a delivery, far above the gateway's. Anyone can send a body. */
const LARGEST_BYTES = 4 * 1024 * 1024
/** Events after which a call need not wait any longer. */
const ENDS = ['approved', 'rejected', 'changes_requested', 'expired', 'withdrawn'].map(
  (end) => `review.${end}`,
)

/**
 * Answers a webhook of the gateway, so that no program polls. Verifies the delivery, and calls `look` with the thread
 * when its call need not wait any longer. A delivery permits nothing: `look` continues the call with `resume` or an
 * adapter.
 *
 * - 204: `look` continued the call, or found nothing to continue.
 * - 200, with the reason: another event, or the call ended without running (a NotExecuted of `look`).
 * - 400: forged, or too old. 413: larger than any delivery; the rest is not read.
 * - 503, after which the gateway delivers again: `look` returned `false`, because its call is not saved yet, or threw a
 *   NotExecuted that may still run.
 *
 * @throws TypeError for an invalid secret; other errors of `look`
 */
export async function continueOn(
  request: Delivery,
  look: (thread_id: string, message: WebhookMessage) => unknown,
  { secrets = variable('COUNTERSIGN_WEBHOOK_SECRET') ?? '', ...options }: ContinueOptions = {},
): Promise<Response> {
  const body = await bodyOf(request)
  if (body === undefined) return answer(413, 'the body is too large for a delivery')
  try {
    const message = await verifyWebhook(secrets, request.headers, body, options)
    const { type, thread_id } = message
    if (thread_id === undefined || !ENDS.includes(type)) return answer(200, `ignored: ${type} ends no wait`)
    const isKnown = await look(thread_id, message)
    return isKnown === false ? answer(503, `${thread_id} is not known yet`) : answer(204)
  } catch (error) {
    if (error instanceof WebhookRefused) return answer(400, error.message)
    if (error instanceof NotExecuted) return answer(isUndecided(error) ? 503 : 200, error.message)
    throw error
  }
}

/** Undefined when the body is too large. */
const bodyOf = async (request: Delivery): Promise<Uint8Array | undefined> =>
  request.body ? bytesIn(request.body, LARGEST_BYTES) : new Uint8Array(await request.arrayBuffer())

const answer = (status: number, text: string | null = null): Response => new Response(text, { status })
