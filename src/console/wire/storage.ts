type Place = 'localStorage' | 'sessionStorage'

/** A text that the browser keeps; undefined without one, and in a browser without storage. */
export function kept(place: Place, key: string): string | undefined {
  try {
    return globalThis[place].getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

/** Keeps a text, or removes it. A browser without storage keeps nothing: the text lasts as long as the page. */
export function keep(place: Place, key: string, text: string | undefined): void {
  try {
    if (text === undefined) globalThis[place].removeItem(key)
    else globalThis[place].setItem(key, text)
  } catch {
    // see above
  }
}
