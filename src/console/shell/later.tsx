import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'

interface LaterProps<T> {
  /** The name of the page, at the start of a sentence. */
  readonly name: string
  /** Loads a script, once. */
  readonly load: () => Promise<T>
  readonly show: (loaded: T) => ComponentChildren
}

/** A page whose script loads when the page opens, because reviewers of calls do not need it. */
export function Later<T>({ name, load, show }: LaterProps<T>) {
  const loaded = useSignal<{ readonly script: T } | undefined>(undefined)
  const failed = useSignal(false)
  useEffect(() => {
    load().then(
      (script) => {
        loaded.value = { script }
      },
      () => {
        failed.value = true
      },
    )
  }, [])
  if (loaded.value) return <>{show(loaded.value.script)}</>
  if (!failed.value) return <p class="empty">Loading…</p>
  return (
    <div class="note bad" role="alert">
      <strong>{name} did not load.</strong> The gateway is unreachable, or has a newer console.{' '}
      <button onClick={() => location.reload()}>Load the page again</button>
    </div>
  )
}
