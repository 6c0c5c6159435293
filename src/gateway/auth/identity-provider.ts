import { LIMITS } from '../../contract/limits.ts'
import { SignInError } from '../../contract/sign-in-problems.ts'
import { SEAL_NONCE_BYTES, seal, unseal } from '../../domain/sealed.ts'
import type { Deps } from '../core/deps.ts'

/** Who signs people in for us (OpenID Connect). The adapter is src/sign-in/oidc.ts. */
export interface IdentityProvider {
  /** For the button. */
  readonly label: string
  /** Whether `authorize` asks nobody: what the provider says about itself is at hand, or already asked for. */
  isKnown(): boolean
  /** Where to send the browser. @throws SignInError */
  authorize(flow: Flow, redirectUri: string): Promise<string>
  /** What the provider says of the person who came back with `callback`; everything in it was checked. @throws SignInError */
  redeem(flow: Flow, callback: URL): Promise<Identity>
}

/** What binds the answer of the provider to the browser that asked. */
export interface Flow {
  readonly state: string
  readonly nonce: string
  /** Of PKCE. */
  readonly verifier: string
}

export interface Identity {
  readonly issuer: string
  readonly subject: string
  readonly claims: Readonly<Record<string, unknown>>
}

/** A flow on its way, as the cookie of its browser carries it: nothing is written before somebody has signed in. */
export interface SealedFlow extends Flow {
  readonly until: number
  /** Of the tab that began it: its answer is for nobody else. */
  readonly challenge: string
}

const PURPOSE = 'countersign single sign-on flow, version 1'
const SECRET_BYTES = 32

export function beginFlow(deps: Deps, challenge: string): { flow: Flow; sealed: string } {
  const secret = (): string => Buffer.from(deps.random(SECRET_BYTES)).toString('base64url')
  const flow: Flow = { state: secret(), nonce: secret(), verifier: secret() }
  const kept: SealedFlow = {
    ...flow,
    until: deps.store.now() + LIMITS.LINK_MS,
    challenge,
  }
  const text = JSON.stringify(kept)
  return { flow, sealed: seal(deps.commitmentSecret, PURPOSE, text, deps.random(SEAL_NONCE_BYTES)) }
}

/** The flow that this browser began. @throws SignInError `expired` when it began none, or another, or too long ago */
export function resumeFlow(deps: Deps, sealed: string | undefined, state: string | null): SealedFlow {
  if (sealed === undefined) throw new SignInError('expired', 'the browser sent no cookie of a flow')
  const text = unseal(deps.commitmentSecret, PURPOSE, sealed)
  if (text === undefined) throw new SignInError('expired', 'the cookie of the flow is not one of ours')
  const flow = JSON.parse(text) as SealedFlow
  if (deps.store.now() >= flow.until) throw new SignInError('expired', 'the flow was begun too long ago')
  if (state !== flow.state) throw new SignInError('expired', 'the answer belongs to another flow')
  return flow
}
