import { defined } from '../../contract/defined.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { WebhookBody, WebhookEvent } from '../../contract/webhook.ts'
import type { Heading } from '../../domain/heading.ts'
import { groupsBy } from '../../domain/quorum.ts'
import type { Thread } from '../../domain/thread.ts'
import { type TraceContext, traceOf } from './trace-context.ts'

/** An event for webhooks, from which the outbox creates deliveries. */
export interface Notice {
  readonly body: Omit<WebhookBody, 'id' | 'timestamp' | 'payload'>
  /** ms since 1970. */
  readonly at: number
  /** The payload, when the thread's record does not contain it yet. */
  readonly payload?: JsonObject
  /** Makes the heading of a call that was decided at once. Most tenants have no destination that reads it. */
  readonly heading?: () => Heading
  /** The trace that each delivery links to. */
  readonly trace?: TraceContext | undefined
  /** True when an equal call already waits. Chats get no second message, but programs get every event. */
  readonly repeat?: true
}

export const asRepeat = (notice: Notice): Notice => ({ ...notice, repeat: true })

export function threadNotice(
  type: WebhookEvent,
  thread: Thread,
  {
    at,
    sequence,
    payload,
  }: { readonly at: number; readonly sequence: number; readonly payload?: JsonObject },
): Notice {
  return {
    at,
    trace: traceOf(thread),
    body: {
      type,
      tenant_id: thread.tenant,
      agent_id: thread.agent,
      tool_name: thread.tool,
      ...defined({ heading: thread.heading }),
      task_id: thread.task_id,
      thread_id: thread.thread_id,
      decision: thread.status,
      ...(thread.message === '' ? {} : { message: thread.message }),
      ...defined({ workflow_name: thread.workflow, task_label: thread.label }),
      revision: thread.revision,
      risk: thread.risk,
      ...(thread.status === 'pending_review'
        ? { groups: groupsBy(thread.requirement, at - thread.submitted_at) }
        : {}),
      sequence,
    },
    ...(payload === undefined ? {} : { payload }),
  }
}
