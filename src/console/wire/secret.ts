import { PAGE_SECRET } from '../../contract/page-secret.ts'
import { keep, kept } from './storage.ts'

/**
 * The part of the session's secrets that only pages of this origin know (docs/signing-in.md). The other part is the
 * cookie, which browsers also send to servers on other ports of this host.
 */
const KEY = 'secret'

/** A copy in memory, because some browsers do not store data. */
let secret: string | undefined

export const pageSecret = (): string | undefined => (secret ??= kept('sessionStorage', KEY))

/** The header for every request. */
export function secretHeader(): Record<string, string> {
  const known = pageSecret()
  return known === undefined ? {} : { [PAGE_SECRET]: known }
}

export function keepSecret(next: string | undefined): void {
  secret = next
  keep('sessionStorage', KEY, next)
}
