import { useSignal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect } from 'preact/hooks'

interface Linked {
  readonly link: string | undefined
}

/** Loads the script of the playground when its page opens, because reviewers of calls do not need it. */
export function LoadPlayground({ link }: Linked) {
  const loaded = useSignal<{ readonly Page: FunctionComponent<Linked> } | undefined>(undefined)
  const failed = useSignal(false)
  useEffect(() => {
    import('./playground-page.tsx').then(
      ({ PlaygroundPage }) => {
        loaded.value = { Page: PlaygroundPage }
      },
      () => {
        failed.value = true
      },
    )
  }, [])
  if (loaded.value) return <loaded.value.Page link={link} />
  if (!failed.value) return <p class="empty">Loading…</p>
  return (
    <div class="note bad" role="alert">
      <strong>The playground did not load.</strong> The gateway is unreachable, or has a newer console.{' '}
      <button onClick={() => location.reload()}>Load the page again</button>
    </div>
  )
}
