import type { ThreadEvent } from './webhook.ts'

/** What a line of a chat is made of: names, and no message, comment or payload. Tool and task are as the agent named them. */
export interface ChatEvent {
  readonly type: ThreadEvent | 'decision.allowed' | 'decision.rejected' | 'webhook.ping'
  readonly tenant_id: string
  readonly agent_id?: string
  readonly tool_name?: string
  readonly task_id?: string
  readonly revision?: number
  readonly risk?: string
}

const SAYS: Readonly<Record<Exclude<ChatEvent['type'], 'webhook.ping'>, string>> = {
  'decision.allowed': 'was allowed by policy',
  'decision.rejected': 'was rejected by policy',
  'review.pending': 'waits for people',
  'review.reminded': 'still waits for people',
  'review.escalated': 'still waits: more people may decide now',
  'review.changes_requested': 'is to be changed by its agent',
  'review.approved': 'was approved',
  'review.rejected': 'was rejected',
  'review.expired': 'has expired',
  'token.redeemed': 'was approved, and its approval is used now',
}

/**
 * One event as people read it in a chat, with `link` to its thread. All that is not ours stands in backticks and has no character that a chat takes for
 * a mention, a link or markup.
 */
export function chatText(event: ChatEvent, link?: string): string {
  const tenant = quoted(event.tenant_id)
  if (event.type === 'webhook.ping') return `A test: this chat is told what tenant ${tenant} asks for.`
  const { agent_id = '', tool_name = '', task_id, revision = 1, risk } = event
  const details = [
    ...(risk === undefined ? [] : [`risk ${risk}`]),
    `agent ${quoted(agent_id)}`,
    ...(task_id === undefined ? [] : [`task ${quoted(task_id)}`]),
    ...(revision > 1 ? [`revision ${revision}`] : []),
    `tenant ${tenant}`,
  ]
  const line = `${quoted(tool_name)} ${SAYS[event.type]} (${details.join(', ')})`
  return link === undefined ? line : `${line}\n${link}`
}

const MOST_CHARS = 128

/** Names of ours stay as they are. Names of tools that no policy knows may have anything in them. */
function quoted(name: string): string {
  const cut = name.length > MOST_CHARS ? `${name.slice(0, MOST_CHARS)}...` : name
  return `\`${cut.replaceAll(/[^A-Za-z0-9._:/-]/g, '?')}\``
}
