import { keepSecret, pageSecret } from '../wire/secret.ts'

/**
 * One cookie serves all tabs of this origin, so they share the page's secret, too. A browser lets no other origin
 * listen here.
 */
let channel: BroadcastChannel | undefined

/** Who is signed in, and by what: told at every sign-in, and to a new tab that asks. */
interface Told {
  readonly person: string
  readonly secret: string
}
type Message = 'who' | Told

/** A tab that is there answers at once; one that sleeps does not. */
const PATIENCE_MS = 300

interface TabEvents {
  /** Whose page this is; undefined while nobody is signed in. */
  readonly holder: () => string | undefined
  /** Somebody signed in on another tab; the secret is kept already. */
  readonly signedIn: (person: string) => void
}

let answered: (() => void) | undefined

export function openTabs({ holder, signedIn }: TabEvents): void {
  channel ??= new BroadcastChannel('session')
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    const person = holder()
    if (data === 'who') {
      if (person !== undefined) tellTabs(person)
      return
    }
    if (data.secret === pageSecret()) return
    keepSecret(data.secret)
    if (answered) answered()
    else signedIn(data.person)
  }
}

export function tellTabs(person: string): void {
  const secret = pageSecret()
  if (secret !== undefined) channel?.postMessage({ person, secret } satisfies Told)
}

/** Asks the other tabs for the secret; true when this one has it now. */
export async function askTabs(): Promise<boolean> {
  await new Promise<void>((resolve) => {
    answered = resolve
    setTimeout(resolve, PATIENCE_MS)
    channel?.postMessage('who' satisfies Message)
  })
  answered = undefined
  return pageSecret() !== undefined
}
