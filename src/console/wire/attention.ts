/** Events that only a person at the page can cause. */
const SIGNS = ['keydown', 'pointerdown', 'click', 'input', 'wheel']
/** Time after such an event during which a request may be its result, ms. */
const FOLLOWS_MS = 60_000

/** Opening the page also counts as such an event. */
let last = Date.now()

/** Begins to watch for signs of a person at the page. */
export function startAttention(page: EventTarget): void {
  const seen = (): void => {
    last = Date.now()
  }
  for (const sign of SIGNS) page.addEventListener(sign, seen, true)
}

/**
 * True when a person may have caused the current request. Automatic requests of the page must not keep a session alive.
 */
export const isAttended = (): boolean => Date.now() - last < FOLLOWS_MS
