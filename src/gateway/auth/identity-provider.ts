import { LIMITS } from '../../contract/limits.ts'
import { SignInError } from '../../contract/sign-in-problems.ts'
import { SEAL_NONCE_BYTES, seal, unseal } from '../../domain/sealed.ts'
import type { Deps } from '../core/deps.ts'

/** The provider that signs people in (OpenID Connect). The adapter is src/sign-in/oidc.ts. */
export interface IdentityProvider {
  /** Label of the button. */
  readonly label: string
  /** True when `authorize` needs no request, because the provider's metadata is known or requested already. */
  isKnown(): boolean
  /** The URL to send the browser to. @throws SignInError */
  authorize(flow: Flow, redirectUri: string): Promise<string>
  /** The provider's verified statement about the person whose browser returned with `callback`. @throws SignInError */
  redeem(flow: Flow, callback: URL): Promise<Identity>
}

/** Values that bind the provider's answer to the browser that started the flow. */
export interface Flow {
  readonly state: string
  readonly nonce: string
  /** The verifier of PKCE. */
  readonly verifier: string
}

export interface Identity {
  readonly issuer: string
  readonly subject: string
  readonly claims: Readonly<Record<string, unknown>>
}

/**
 * A flow in progress, in the cookie of its browser. The store contains no record of a flow before the sign-in
 * completes.
 */
export interface SealedFlow extends Flow {
  readonly until: number
  /** The challenge of the tab, or the session, that began the flow. Only they may use the answer. */
  readonly challenge: string
}

type Use = 'single sign-on' | 'chat'
const purposeOf = (use: Use): string => `countersign ${use} flow, version 1`
const SECRET_BYTES = 32

export function beginFlow(
  deps: Deps,
  challenge: string,
  use: Use = 'single sign-on',
): { flow: Flow; sealed: string } {
  const secret = (): string => Buffer.from(deps.random(SECRET_BYTES)).toString('base64url')
  const flow: Flow = { state: secret(), nonce: secret(), verifier: secret() }
  const kept: SealedFlow = {
    ...flow,
    until: deps.store.now() + LIMITS.LINK_MS,
    challenge,
  }
  const text = JSON.stringify(kept)
  return { flow, sealed: seal(deps.commitmentSecret, purposeOf(use), text, deps.random(SEAL_NONCE_BYTES)) }
}

/**
 * The flow that this browser began.
 *
 * @throws SignInError `expired` when the browser began no flow, a different flow, or a flow too long ago
 */
export function resumeFlow(
  deps: Deps,
  sealed: string | undefined,
  state: string | null,
  use: Use = 'single sign-on',
): SealedFlow {
  if (sealed === undefined) throw new SignInError('expired', 'the browser sent no flow cookie')
  const text = unseal(deps.commitmentSecret, purposeOf(use), sealed)
  if (text === undefined) throw new SignInError('expired', 'the gateway did not issue the flow cookie')
  const flow = JSON.parse(text) as SealedFlow
  if (deps.store.now() >= flow.until) throw new SignInError('expired', 'the sign-in flow began too long ago')
  if (state !== flow.state) throw new SignInError('expired', 'the answer belongs to another flow')
  return flow
}
