export { actionHash, canonicalJson, frozenCopy, sha256 } from './canonical-json.ts'
export { continueOn, type ContinueOptions } from './continue-on.ts'
export { type CallOptions, type Client, createClient, type WithdrawOptions } from './client.ts'
export * from './errors.ts'
export { createGate, type Gate, type Guard } from './gate.ts'
export type { Handle } from './handle.ts'
export type {
  Claims,
  ClientOptions,
  GateOptions,
  GuardOptions,
  ProposeOptions,
  ResumeOptions,
} from './options.ts'
export type { ToolSchema } from './carrier.ts'
export { type SchemaError, schemaErrors } from './schema-check.ts'
export type * from './types.ts'
export {
  verifyWebhook,
  type VerifyOptions,
  type WebhookHeaders,
  type WebhookMessage,
  WebhookRefused,
} from './webhook.ts'
