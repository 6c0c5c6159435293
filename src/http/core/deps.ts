import type { FastifyBaseLogger } from 'fastify'
import type { SettingsView } from '../../contract/admin.ts'
import type { ErrorCode } from '../../contract/errors.ts'
import type { LogIdentity } from '../../gateway/jobs/checkpoints.ts'
import type { Tiles } from '../../gateway/jobs/publish-tiles.ts'
import type { AdminKeys } from '../../gateway/core/admin-keys.ts'
import type { Deps } from '../../gateway/core/deps.ts'
import type { Span, TraceContext, Work } from '../../gateway/core/trace-context.ts'
import type { Rates } from './rate-limit.ts'
import type { Schemas } from './validation.ts'
import type { IdentityProvider } from '../../gateway/auth/identity-provider.ts'
import type { SingleSignOn } from '../../gateway/auth/sign-in-by-provider.ts'
import type { Site } from './same-origin.ts'
import type { Waits } from './long-polls.ts'
import type { ConnectionBounds } from '../wire/connections.ts'
import type { Admission } from '../admission/admission.ts'

/** Parts that routes need in addition to the verbs. */
export interface HttpDeps {
  readonly gateway: Deps
  readonly schemas: Schemas
  readonly admission: Admission
  readonly waits: Waits
  readonly rates: Rates
  readonly connections: ConnectionBounds
  readonly log: FastifyBaseLogger
  readonly bodyBytes: number
  /** Interval of keep-alive comments on a stream, ms. */
  readonly streamBeatMs: number
  readonly adminKeys: AdminKeys
  /** The settings of this start, without secrets. */
  readonly settings: SettingsView
  /** The signer of evidence. */
  readonly logIdentity: LogIdentity
  /** The tiles of evidence; undefined when they are off. */
  readonly tiles: Tiles | undefined
  readonly webhooks: WebhookPorts
  /** Absent when no traces are recorded. */
  readonly beginSpan?: BeginSpan
  /** Set once the gateway listens. */
  readonly site: () => Site
  /** Absent when people sign in only with one-time links. */
  readonly singleSignOn?: SingleSignOn
  /** The chat whose accounts can be linked. */
  readonly chats?: IdentityProvider
  /** Calls for which each shadow rule has fired since the start. */
  readonly shadowCounts: ReadonlyMap<string, number>
  readonly watcher: TrafficWatcher
}

/** Listeners to requests and connections. Listeners must never throw. */
export interface TrafficWatcher {
  /** Called when a request was answered. */
  answered(request: HttpObservation): void
  /** True when the caller disconnected before the answer was sent. */
  aborted(): void
  /** True when the route exists. */
  route(route: { readonly method: string; readonly route: string }): void
}

export interface HttpObservation {
  readonly method: string
  /** The route's pattern, never the path. */
  readonly route: string
  readonly status: number
  readonly seconds: number
  /** The code, when the answer is a problem document. */
  readonly problem?: ErrorCode | undefined
  readonly traceparent?: string | undefined
}

/** Checks that the webhook sender performs at registration. */
export interface WebhookPorts {
  /** The reason why a URL is refused; undefined when it is allowed. */
  refusalOf(url: string): string | undefined
  composeSecret(bytes: Uint8Array): string
}

export type BeginSpan = (work: Work, received: TraceContext | undefined) => Span
