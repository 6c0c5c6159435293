// oxlint-disable-next-line import/default -- Vite answers for the address
import address from '../../playground/worker.ts?worker&url'

/** The part of the browser's Trusted Types that the console uses. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { readonly createScriptURL: () => string },
  ): { createScriptURL(text: string): string }
}
const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes }

let trusted: string | undefined

/**
 * Starts the evaluator: a worker under its own content security policy, which the gateway sends with its file. The
 * page's content security policy allows only this Trusted Types policy, once. The policy creates only this address.
 */
export function startEvaluator(): Worker {
  trusted ??=
    trustedTypes?.createPolicy('evaluator', { createScriptURL: () => address }).createScriptURL('') ?? address
  return new Worker(trusted, { type: 'module', name: 'evaluator' })
}
