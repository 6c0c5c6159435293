import { signal } from '@preact/signals'
import { keep, kept } from '../wire/storage.ts'

/** True when the window has room for the list and a call side by side. */
const ROOM = '(min-width: 1100px)'
export const wide = signal(false)

/** True when the next call opens by itself after a vote. */
export const advances = signal(true)
const KEY = 'next call'
const NO = 'no'

export function startPreferences(): void {
  const room = matchMedia(ROOM)
  const measure = (): void => {
    wide.value = room.matches
  }
  room.addEventListener('change', measure)
  measure()
  advances.value = kept('localStorage', KEY) !== NO
}

export function setAdvances(yes: boolean): void {
  advances.value = yes
  keep('localStorage', KEY, yes ? 'yes' : NO)
}
