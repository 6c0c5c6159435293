/** Event types (docs/agent-api.md). Agents may use any type; one form submits a revision. */
export type EventKind =
  | { readonly kind: 'evidence' }
  | { readonly kind: 'revision'; readonly thread_id: string }
  | { readonly kind: 'malformed' }

const THREAD_PART = /^[A-Za-z0-9_]+$/

/**
 * Classifies an event type. The form is `revision.<task_id>.<thread_id>` with the task id of the path, so that dots in
 * a task id are harmless. Any other type that begins with `revision.` is malformed and never stored as plain evidence.
 */
export function eventKind(eventType: string, taskId: string): EventKind {
  if (!eventType.startsWith('revision.')) return { kind: 'evidence' }
  const prefix = `revision.${taskId}.`
  const thread = eventType.slice(prefix.length)
  if (!eventType.startsWith(prefix) || !THREAD_PART.test(thread)) return { kind: 'malformed' }
  return { kind: 'revision', thread_id: thread }
}
