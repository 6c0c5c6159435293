/** What only somebody who is there does. */
const SIGNS = ['keydown', 'pointerdown', 'click', 'input', 'wheel']
/** What is asked so soon after one of them may follow from it. */
const FOLLOWS_MS = 60_000

/** Opening the page is a sign, too. */
let last = Date.now()

/** Begins to look for signs that somebody is there. */
export function startAttention(page: EventTarget): void {
  const seen = (): void => {
    last = Date.now()
  }
  for (const sign of SIGNS) page.addEventListener(sign, seen, true)
}

/** Whether what is asked now may be asked by a person. What the page asks by itself, after news of the stream, must not keep a session alive. */
export const isAttended = (): boolean => Date.now() - last < FOLLOWS_MS
