type Place = 'localStorage' | 'sessionStorage'

/** A string that the browser keeps; undefined without one, and in a browser without storage. */
export function kept(place: Place, key: string): string | undefined {
  try {
    return globalThis[place].getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

/** Keeps a string, or removes it. Without storage, it lasts as long as the page. */
export function keep(place: Place, key: string, text: string | undefined): void {
  try {
    if (text === undefined) globalThis[place].removeItem(key)
    else globalThis[place].setItem(key, text)
  } catch {
    // see above
  }
}
