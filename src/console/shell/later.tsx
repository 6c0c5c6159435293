import { signal } from '../signal.ts'
import type { ComponentChildren } from 'preact'
import type * as Pages from '../pages.ts'

const pages = signal<typeof Pages | undefined>(undefined)
const failed = signal(false)

/** Loads the other pages. The queue is painted first: that is what people come for. */
export function loadPages(): void {
  failed.value = false
  import('../pages.ts').then(
    (loaded) => {
      pages.value = loaded
    },
    () => {
      failed.value = true
    },
  )
}

/** A page of the second script. */
export function Later({ show }: { readonly show: (all: typeof Pages) => ComponentChildren }) {
  if (pages.value) return <>{show(pages.value)}</>
  if (!failed.value) return <p class="empty">Loading…</p>
  return (
    <div class="note bad" role="alert">
      <strong>A part of the console did not load.</strong> Perhaps the gateway was updated:{' '}
      <button onClick={() => location.reload()}>Load again</button>
    </div>
  )
}
