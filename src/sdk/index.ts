/** `countersign/sdk`: what runs on the agent's side. No runtime dependency; needs fetch and Web Crypto. */
export { actionHash, canonicalJson, frozenCopy, sha256 } from './canonical.ts'
export {
  type CallOptions,
  type Client,
  type ClientOptions,
  createClient,
  type WithdrawOptions,
} from './client.ts'
export { type Complaint, CountersignError } from './error.ts'
export { type Misfit, misfits } from './fits.ts'
export { createGate, type Gate, type Guard } from './gate.ts'
export type { Claims, GateOptions, GuardOptions } from './options.ts'
export { NotExecuted, type Outcome } from './outcome.ts'
export type * from './types.ts'
export {
  verifyWebhook,
  type VerifyOptions,
  type WebhookHeaders,
  type WebhookMessage,
  WebhookRefused,
} from './webhook.ts'
