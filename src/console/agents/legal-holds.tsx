import type { LegalHoldView } from '../../contract/legal-hold.ts'
import { LegalHoldText } from '../shell/legal-hold-text.tsx'

/** The legal holds of the tenant. Only the admin key changes them. */
export function LegalHolds({ holds }: { readonly holds: readonly LegalHoldView[] }) {
  if (holds.length === 0) return null
  return (
    <section aria-labelledby="legal-holds">
      <h2 id="legal-holds">Legal holds</h2>
      <ul class="plain">
        {holds.map((hold) => (
          <li key={`${hold.thread_id}/${hold.task_id}/${hold.agent}`}>
            <Named hold={hold} />, <LegalHoldText hold={hold} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Named({ hold: { thread_id, task_id, agent } }: { readonly hold: LegalHoldView }) {
  if (thread_id !== undefined)
    return (
      <>
        Thread <a href={`#/thread/${thread_id}`}>{thread_id}</a>
      </>
    )
  if (task_id !== undefined)
    return (
      <>
        Task <a href={`#/history?task_id=${encodeURIComponent(task_id)}`}>{task_id}</a>
      </>
    )
  return <>{agent === undefined ? 'All threads' : `Threads of ${agent}`}</>
}
