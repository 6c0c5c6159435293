import { signal } from '@preact/signals'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'theme'
export const theme = signal<Theme>('system')

export function startTheme(): void {
  setTheme(THEMES.find((one) => one === stored()) ?? 'system')
}

/** Sets the theme; `system` follows the operating system. Style sheets read the attribute. */
export function setTheme(next: Theme): void {
  theme.value = next
  document.documentElement.dataset['theme'] = next
  try {
    localStorage.setItem(KEY, next)
  } catch {
    // a browser without storage keeps no theme
  }
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}
