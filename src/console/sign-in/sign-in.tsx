import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { SIGN_IN_PROBLEMS } from '../../contract/sign-in-problems.ts'
import type { SignInOptions } from '../../contract/session.ts'
import { hashOf, type Route, routeOf } from '../route/route.ts'
import { before, refine, route } from '../route/router.ts'
import { Heading } from '../shell/heading.tsx'
import { get, type Refusal, refusal } from '../wire/call.ts'
import { ProblemNote } from '../wire/problem.tsx'
import { keep, kept } from '../wire/storage.ts'
import { ended, me, signIn, wasSignedIn } from '../session/session.ts'
import { beginSingleSignOn, takeVerifier } from './single-sign-on.ts'

const INSECURE = refusal(
  'insecure',
  'This page did not come over https',
  "Browsers allow a sign-in only over https, or on the gateway's own machine. Open the address that begins with https.",
)

/**
 * The sign-in page. The reviewer presses a button to use a link, because previews of mails and chats open links and
 * would use it up. The token is then only in memory.
 */
export function SignInPage() {
  const options = useSignal<SignInOptions | undefined>(undefined)
  const problem = useSignal<Refusal | undefined>(undefined)
  const busy = useSignal(false)
  const here = route.value
  const token = here.page === 'sign-in' ? here.token : undefined
  useEffect(() => {
    void get<SignInOptions>('review/session').then((answer) => {
      if (answer.ok) options.value = answer.body
      else problem.value = answer.problem
    })
  }, [])
  const call = useMemo(openedCall, [])
  const leave = (): void => {
    if (call) keep('sessionStorage', WANTED, undefined)
    refine(call ?? { page: 'queue', filters: {} })
  }
  const verifier = useMemo(takeVerifier, [])
  const use = async (link: string): Promise<void> => {
    if (busy.value) return
    busy.value = true
    problem.value = await signIn(link, verifier)
    busy.value = false
    if (!problem.value || !me.value) leave()
  }
  // this tab has returned from the provider, and signs in without a click
  useEffect(() => {
    if (token && verifier) void use(token)
  }, [])
  const leaveFor = async (url: string): Promise<void> => {
    if (!(await beginSingleSignOn(url))) problem.value = INSECURE
  }
  const sso = options.value?.single_sign_on
  return (
    <main id="main" class="door">
      <span class="seal" aria-hidden="true" />
      <Heading>Countersign</Heading>
      <p class="quiet">Agents propose. People decide.</p>
      {ended.value && <Ended to={call ? 'this call' : 'the queue'} />}
      {here.page === 'sign-in' && here.problem && <Returned code={here.problem} />}
      {problem.value && <ProblemNote problem={problem.value} />}
      {token && (
        <button class="main" disabled={busy.value} onClick={() => void use(token)}>
          Sign in with this link
        </button>
      )}
      {me.value && <button onClick={leave}>Continue as {me.value.name}</button>}
      <Ways sso={sso} hasLink={token !== undefined} leaveFor={leaveFor} />
    </main>
  )
}

interface WaysProps {
  readonly sso: SignInOptions['single_sign_on']
  readonly hasLink: boolean
  readonly leaveFor: (url: string) => Promise<void>
}

/** Single sign-on, and the way to a link. */
function Ways({ sso, hasLink, leaveFor }: WaysProps) {
  return (
    <>
      {sso && <button onClick={() => void leaveFor(sso.url)}>Sign in with {sso.label}</button>}
      {!hasLink && (
        <p class="quiet">
          {sso ? 'Or ask' : 'Ask'} the operator of this gateway for a one-time link:{' '}
          <code>countersign login-link TENANT/YOU</code>
        </p>
      )}
    </>
  )
}

/** The storage key of this tab's call. The way over the provider's page leaves this page. */
const WANTED = 'wanted'

/** The call that was open when the session ended, or whose link was opened signed out. */
function openedCall(): Route | undefined {
  const opened = 'thread' in before && (ended.value || !wasSignedIn()) ? before : undefined
  const address = opened ? hashOf(opened) : kept('sessionStorage', WANTED)
  keep('sessionStorage', WANTED, address)
  const wanted = routeOf(address ?? '')
  return 'thread' in wanted ? wanted : undefined
}

const Ended = ({ to }: { readonly to: string }) => (
  <p class="note" role="status">
    Your session has ended; sign in, and you return to {to} and your comment.
  </p>
)

/** The reason that single sign-on ended without a session. */
function Returned({ code }: { readonly code: string }) {
  const reason = Object.entries(SIGN_IN_PROBLEMS).find(([name]) => name === code)?.[1]
  return (
    <div class="note bad" role="alert">
      <strong>You are not signed in.</strong> {reason ?? 'Signing in did not work.'}
    </div>
  )
}
