import { keepSecret, pageSecret } from '../wire/secret.ts'

/**
 * The channel between the tabs of this origin, which share a cookie and the page's secret. Browsers do not let other
 * origins listen.
 */
let channel: BroadcastChannel | undefined

/** The reviewer and the secret, sent at every sign-in and to a new tab that asks. */
interface Told {
  readonly person: string
  readonly secret: string
}
type Message = 'who' | Told

/** Time to wait for other tabs, ms. An active tab answers immediately, but a sleeping tab does not. */
const PATIENCE_MS = 300

interface TabEvents {
  /** The reviewer of this page; undefined while signed out. */
  readonly holder: () => string | undefined
  /** Called when a reviewer signed in on another tab. The secret is already stored. */
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

/** Asks the other tabs for the secret. Returns true when this tab now has the secret. */
export async function askTabs(): Promise<boolean> {
  await new Promise<void>((resolve) => {
    answered = resolve
    setTimeout(resolve, PATIENCE_MS)
    channel?.postMessage('who' satisfies Message)
  })
  answered = undefined
  return pageSecret() !== undefined
}
