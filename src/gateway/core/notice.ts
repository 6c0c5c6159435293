import { defined } from '../../contract/defined.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { VoteDecision } from '../../contract/review-requests.ts'
import type { WebhookBody, WebhookEvent } from '../../contract/webhook.ts'
import { groupsBy } from '../../domain/quorum.ts'
import { currentVotes, type Thread } from '../../domain/thread.ts'
import { type TraceContext, traceOf } from './trace-context.ts'

/** An event for webhooks, from which the outbox creates deliveries. */
export interface Notice {
  readonly body: Omit<WebhookBody, 'id' | 'timestamp' | 'payload'>
  /** ms since 1970. */
  readonly at: number
  /** The payload, when the thread's record does not contain it yet. */
  readonly payload?: JsonObject
  /** The key of the tags in place of sensitive values, for an event of a thread. */
  readonly tag_key?: string | undefined
  /** The trace that each delivery links to. */
  readonly trace?: TraceContext | undefined
  /** True when an equal call already waits. Chats get no second message, but programs get every event. */
  readonly repeat?: true
  /** True for a change that only messages of an app display. */
  readonly quiet?: true
}

/** Makes a notice, once a destination is there that may receive it. */
export type MakeNotice = () => Notice

export const asRepeat =
  (make: MakeNotice): MakeNotice =>
  () => ({ ...make(), repeat: true })

/** The votes that lead to an event. An expired approval names the reviewers who approved. */
const DECIDING: Partial<Record<WebhookEvent, VoteDecision>> = {
  'review.approved': 'approve',
  'review.rejected': 'reject',
  'review.changes_requested': 'request_changes',
  'review.expired': 'approve',
}

function decidersOf(type: WebhookEvent, thread: Thread): string[] | undefined {
  if (type === 'review.expired' && thread.approval === undefined) return undefined
  const votes = currentVotes(thread).filter(({ decision }) => decision === DECIDING[type])
  return votes.length === 0 ? undefined : votes.map(({ reviewer }) => reviewer)
}

const raisedIn = ({ raised }: Thread): Pick<WebhookBody, 'raised'> =>
  raised === undefined ? {} : { raised: { at: new Date(raised.at).toISOString(), asks: raised.asks } }

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
    tag_key: thread.tag_key,
    body: {
      type,
      tenant_id: thread.tenant,
      agent_id: thread.agent,
      tool_name: thread.tool,
      heading: thread.heading,
      task_id: thread.task_id,
      thread_id: thread.thread_id,
      decision: thread.status,
      ...(thread.message === '' ? {} : { message: thread.message }),
      ...defined({ workflow_name: thread.workflow, task_label: thread.label }),
      revision: thread.revision,
      risk: thread.risk,
      ...(thread.status === 'pending_review'
        ? { groups: groupsBy(thread.requirement, at - thread.submitted_at), ...raisedIn(thread) }
        : {}),
      ...defined({ decided_by: decidersOf(type, thread) }),
      sequence,
    },
    ...(payload === undefined ? {} : { payload }),
  }
}
