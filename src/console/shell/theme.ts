import { signal } from '@preact/signals'
import { keep, kept } from '../wire/storage.ts'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'theme'
export const theme = signal<Theme>('system')

export function startTheme(): void {
  const stored = kept('localStorage', KEY)
  setTheme(THEMES.find((one) => one === stored) ?? 'system')
}

/** Sets the theme; `system` follows the operating system. Style sheets read the attribute. */
export function setTheme(next: Theme): void {
  theme.value = next
  document.documentElement.dataset['theme'] = next
  keep('localStorage', KEY, next)
}
