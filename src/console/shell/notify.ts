import { signal } from '../signal.ts'
import type { ThreadSummary } from '../../contract/reviewer.ts'

/** Whether a new thread may show a notification of the desktop; asked for by a press of a button only. */
export const notifying = signal('Notification' in globalThis && Notification.permission === 'granted')

export const canNotify = (): boolean => 'Notification' in globalThis && Notification.permission !== 'denied'

export async function askToNotify(): Promise<void> {
  notifying.value = (await Notification.requestPermission()) === 'granted'
}

/** Names the tool and the risk, and nothing that the agent wrote: notifications are seen by whoever passes. */
export function notify({ risk, tool_name, thread_id }: ThreadSummary): void {
  if (!notifying.value || !document.hidden) return
  const shown = new Notification('A call waits for review', { body: `${risk}: ${tool_name}`, tag: thread_id })
  shown.onclick = () => {
    focus()
    location.hash = `#/thread/${thread_id}`
  }
}
