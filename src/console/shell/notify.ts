import { signal } from '@preact/signals'
import type { ThreadSummary } from '../../contract/reviewer.ts'

/** Whether a new thread may show a notification of the desktop; asked for by a press of a button only. */
export const notifying = signal('Notification' in globalThis && Notification.permission === 'granted')

export const canNotify = (): boolean => 'Notification' in globalThis && Notification.permission !== 'denied'

export async function askToNotify(): Promise<void> {
  notifying.value = (await Notification.requestPermission()) === 'granted'
}

/** Names the tool and the risk, and nothing that the agent wrote: notifications are seen by whoever passes. */
export function notify({ risk, tool_name, thread_id, equal }: ThreadSummary): void {
  if (!notifying.value || !document.hidden) return
  const body = `${risk}: ${tool_name}`
  // equal calls share one
  const shown = new Notification('A call waits for review', { body, tag: equal ?? thread_id })
  shown.onclick = () => {
    focus()
    location.hash = `#/thread/${thread_id}`
  }
}
