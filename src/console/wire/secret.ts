import { PAGE_SECRET } from '../../contract/page-secret.ts'

/**
 * The half of the session that only pages of this origin know (docs/signing-in.md). The cookie is the other half: a
 * server on another port of this host gets it from the browser. This tab's storage is no other origin's.
 */
const KEY = 'secret'

/** In memory, too: some browsers keep nothing. */
let secret: string | undefined

export const pageSecret = (): string | undefined => (secret ??= stored())

/** On every request. */
export function secretHeader(): Record<string, string> {
  const known = pageSecret()
  return known === undefined ? {} : { [PAGE_SECRET]: known }
}

export function keepSecret(next: string | undefined): void {
  secret = next
  try {
    if (next === undefined) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, next)
  } catch {
    // then it holds until the page is loaded again
  }
}

function stored(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined
  } catch {
    return undefined
  }
}
