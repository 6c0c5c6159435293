import { signal } from '@preact/signals'

const said = signal('')

/** Announces a string to users of screen readers. */
export function announce(text: string): void {
  said.value = ''
  queueMicrotask(() => {
    said.value = text
  })
}

export function LiveRegion() {
  return (
    <p class="sr" role="status" aria-live="polite">
      {said.value}
    </p>
  )
}
