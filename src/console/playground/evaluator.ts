// oxlint-disable-next-line import/default -- Vite answers for the address
import address from '../../playground/worker.ts?worker&url'

/** Trusted Types of the browser, as far as they are used here. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { readonly createScriptURL: () => string },
  ): { createScriptURL(text: string): string }
}
const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes }

let trusted: string | undefined

/**
 * Starts the evaluator: a worker under a policy of its own, which the gateway sends with its file. The page's policy
 * allows this one Trusted Types policy, once, and all that it makes is this address.
 */
export function startEvaluator(): Worker {
  trusted ??=
    trustedTypes?.createPolicy('evaluator', { createScriptURL: () => address }).createScriptURL('') ?? address
  return new Worker(trusted, { type: 'module', name: 'evaluator' })
}
