import { signal } from '@preact/signals'
import type { ThreadSummary } from '../../contract/reviewer.ts'

/** True when new threads may show desktop notifications. Only a press of a button asks for the permission. */
export const notifying = signal('Notification' in globalThis && Notification.permission === 'granted')

export const canNotify = (): boolean => 'Notification' in globalThis && Notification.permission !== 'denied'

export async function askToNotify(): Promise<void> {
  notifying.value = (await Notification.requestPermission()) === 'granted'
}

/**
 * Shows a notification with only the tool and the risk. It contains no text from the agent, because passers-by may read
 * it.
 */
export function notify({ risk, tool_name, thread_id, equal }: ThreadSummary): void {
  if (!notifying.value || !document.hidden) return
  const body = `${risk}: ${tool_name}`
  // equal calls share one notification
  const shown = new Notification('A call waits for review', { body, tag: equal ?? thread_id })
  shown.onclick = () => {
    focus()
    location.hash = `#/thread/${thread_id}`
  }
}
