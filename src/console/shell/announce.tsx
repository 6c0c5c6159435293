import { signal } from '@preact/signals'

const said = signal('')

/** Says something to those who listen to the page instead of looking at it. */
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
