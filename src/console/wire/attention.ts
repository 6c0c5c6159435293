/** Events that only a present person causes. */
const SIGNS = ['keydown', 'pointerdown', 'click', 'input', 'wheel']
/** Time after such an event in which a request may follow from it, ms. */
const FOLLOWS_MS = 60_000

/** Opening the page counts as well. */
let last = Date.now()

/** Begins to watch for signs of a present person. */
export function startAttention(page: EventTarget): void {
  const seen = (): void => {
    last = Date.now()
  }
  for (const sign of SIGNS) page.addEventListener(sign, seen, true)
}

/** Whether a person may have caused the current request. Requests of the page itself must not keep a session alive. */
export const isAttended = (): boolean => Date.now() - last < FOLLOWS_MS
