import { expect } from 'vitest'
import { maskPayload } from '../../../src/policy/evaluate/mask.ts'
import type { Heading } from '../../../src/domain/heading.ts'
import type { EvidenceLine } from '../../gateway-fixture.ts'
import type { Got } from '../../webhooks/receiver.ts'

/**
 * The events that the evidence of a tenant means, and the bodies of their deliveries.
 * They are the table of docs/webhooks.md, written a second time.
 */

type Line = EvidenceLine['record']

/** The action that an agent proposed. Maps have it by its task, or by the id of the revision. */
export interface Proposed {
  readonly payload: Readonly<Record<string, unknown>>
  readonly workflow?: string
}

/** An event that destinations receive. */
export interface Told {
  /** Unique to the event. */
  readonly key: string
  readonly type: string
  readonly at: string
  readonly thread: string | undefined
  readonly body: Readonly<Record<string, unknown>>
  /** The message, or its beginning. */
  readonly message: RegExp
  readonly payload: Proposed['payload'] | undefined
  /** The line of the heading; a destination receives it with full payloads only. */
  readonly line?: RegExp
}

interface Thread {
  readonly agent: string
  readonly tool: string
  readonly task: string
  proposed: Proposed
  revision: number
  risk: unknown
  message: RegExp
  line: RegExp
  sequence: number
  asked: Asked
  /** The reviewers who approved. */
  approvers: readonly string[]
}

/** The groups that the revision asks, and since when. */
interface Asked {
  readonly since: string
  readonly seats: readonly {
    readonly group: string
    readonly escalate?: readonly { readonly group: string; readonly after_ms: number }[]
  }[]
}

const askedBy = ({ at, details = {} }: Line): Asked => {
  const { seats } = details['requirement'] as Pick<Asked, 'seats'>
  return { since: at, seats }
}

function groupsAt({ since, seats }: Asked, at: string): string[] {
  const elapsed = Date.parse(at) - Date.parse(since)
  const late = seats.flatMap(({ escalate = [] }) => escalate.filter(({ after_ms }) => after_ms <= elapsed))
  return [...new Set([...seats, ...late].map(({ group }) => group))]
}

const RULES: Readonly<Record<string, string>> = {
  't-open': 'Harmless.',
  'hold-always': 'People look at this.',
  'brief-always': 'Quick, please.',
  'pay-small': 'Small change.',
  'pay-review': 'More than pocket money.',
  'pay-high': 'A lot of money.',
  'pay-critical': 'A fortune.',
  'pay-reject': 'Nobody moves that much.',
}
const ANY = /./

const DECIDED = ['decision.allowed', 'decision.rejected']

const exactly = (text: string): RegExp =>
  new RegExp(`^${text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}$`)

/** The heading as the evidence has it. */
const lineIn = ({ details = {} }: Line): RegExp => exactly(String(details['line']))

function saidBy({ details = {} }: Line): RegExp {
  const [rule, ...more] = details['by'] as string[]
  const text = rule === undefined ? undefined : RULES[rule]
  return text === undefined || more.length > 0 ? ANY : exactly(text)
}

/** Derives events from the records of one tenant, in their order. */
export class Events {
  readonly #proposed: ReadonlyMap<string, Proposed>
  readonly #threads = new Map<string, Thread>()
  #comment: RegExp = ANY
  #freeze = ''

  constructor(proposed: ReadonlyMap<string, Proposed>) {
    this.#proposed = proposed
  }

  /** The event that the record is about; none for most of them. */
  of({ record: logged, disclosures }: EvidenceLine): Told | undefined {
    const details = { ...logged.details, ...disclosures?.members }
    const record = { ...logged, details }
    if (record.type === 'freeze.started') this.#freeze = String(details['reason'])
    if (record.type === 'vote.cast') {
      const comment = details['comment']
      this.#comment = typeof comment === 'string' ? exactly(comment) : /^A reviewer .* without a comment\.$/
    }
    if (DECIDED.includes(record.type)) return this.#decision(record)
    if (record.thread_id === undefined) return undefined
    if (record.type === 'review.pending') this.#threads.set(record.thread_id, this.#opened(record))
    const thread = this.#threads.get(record.thread_id)
    return thread === undefined ? undefined : this.#ofThread(thread, record)
  }

  #decision(record: Line): Told {
    const { task_id: task = '', details = {}, actor, tool, at, tenant, type } = record
    const { workflow, payload } = this.#proposed.get(task) ?? expect.fail()
    const body = {
      type,
      timestamp: at,
      tenant_id: tenant,
      agent_id: actor.id,
      tool_name: tool,
      task_id: task,
      decision: type === 'decision.allowed' ? 'allow' : 'reject',
      risk: details['risk'],
      sequence: 1,
      ...(workflow !== undefined && { workflow_name: workflow }),
    }
    // evidence names only the template of a call that was decided at once
    const [message, line] = [saidBy(record), ANY]
    return { key: `${tenant} ${task}`, type, at, thread: undefined, body, message, payload, line }
  }

  #opened(record: Line): Thread {
    const { task_id: task = '', details = {}, actor, tool = '' } = record
    const proposed = this.#proposed.get(task) ?? expect.fail()
    const risk = details['risk']
    return {
      agent: actor.id,
      tool,
      task,
      proposed,
      revision: 1,
      risk,
      message: saidBy(record),
      line: lineIn(record),
      sequence: 0,
      asked: askedBy(record),
      approvers: [],
    }
  }

  #ofThread(thread: Thread, record: Line): Told | undefined {
    const { type, details = {} } = record
    if (type === 'review.revised') {
      thread.revision = record.revision ?? 0
      thread.proposed = this.#proposed.get(String(details['revision_id'])) ?? expect.fail()
      thread.risk = details['risk']
      thread.line = lineIn(record)
      if (details['requirement'] !== undefined) thread.asked = askedBy(record)
      thread.message = details['verdict'] === 'allow' ? ANY : saidBy(record)
      // the next record reports the end of the thread
      return details['verdict'] === 'reject' ? undefined : this.#told(thread, record, 'review.pending')
    }
    const event = EVENTS[type]
    if (event === undefined) return undefined
    if (type === 'review.expired')
      thread.message = /^expired: (?:no reviewer decided|the approval was not collected) in time$/
    if (type === 'review.frozen') thread.message = exactly(`frozen: ${this.#freeze}`)
    if (type === 'review.withdrawn') thread.message = exactly(`withdrawn: ${String(details['reason'])}`)
    if (type === 'approval.revoked') thread.message = new RegExp(`^${String(details['code'])}: `)
    const voted = record.actor.kind === 'reviewer'
    if (voted && (type === 'review.rejected' || type === 'review.changes_requested'))
      thread.message = this.#comment
    return this.#told(thread, record, event)
  }

  #told(thread: Thread, record: Line, type: string): Told {
    const { tenant, at, thread_id: id = '' } = record
    thread.sequence += 1
    const by = decidersOf(thread, record)
    const { agent, tool, task, proposed, revision, risk, sequence, message, asked, line } = thread
    const decision = DECISIONS[type] ?? 'rejected'
    const body = {
      type,
      timestamp: at,
      tenant_id: tenant,
      agent_id: agent,
      tool_name: tool,
      task_id: task,
      thread_id: id,
      decision,
      revision,
      risk,
      sequence,
      ...(decision === 'pending_review' && { groups: groupsAt(asked, at) }),
      ...(by.length > 0 && { decided_by: by }),
      ...(proposed.workflow !== undefined && { workflow_name: proposed.workflow }),
    }
    return { key: `${id} ${sequence}`, type, at, thread: id, body, message, payload: proposed.payload, line }
  }
}

/** The reviewers whose votes led to the record. */
function decidersOf(thread: Thread, { type, actor, details = {} }: Line): readonly string[] {
  if (type === 'review.approved') return (thread.approvers = details['voters'] as string[])
  if (type === 'review.expired') return details['was'] === 'approved' ? thread.approvers : []
  const isEnd = type === 'review.rejected' || type === 'review.changes_requested'
  return isEnd && actor.kind === 'reviewer' ? [actor.id] : []
}

const EVENTS: Readonly<Record<string, string>> = {
  'review.pending': 'review.pending',
  'review.approved': 'review.approved',
  'review.rejected': 'review.rejected',
  'review.changes_requested': 'review.changes_requested',
  'review.expired': 'review.expired',
  'review.frozen': 'review.rejected',
  'review.withdrawn': 'review.withdrawn',
  'approval.revoked': 'review.rejected',
  'review.reminded': 'review.reminded',
  'review.escalated': 'review.escalated',
  'token.redeemed': 'token.redeemed',
}

const DECISIONS: Readonly<Record<string, string>> = {
  'review.pending': 'pending_review',
  'review.reminded': 'pending_review',
  'review.escalated': 'pending_review',
  'review.changes_requested': 'changes_requested',
  'review.approved': 'approved',
  'token.redeemed': 'approved',
}

export function pinged({ number, record }: EvidenceLine): Told {
  const { at, tenant } = record
  const body = { type: 'webhook.ping', timestamp: at, tenant_id: tenant }
  const key = `ping ${tenant} ${number}`
  return { key, type: 'webhook.ping', at, thread: undefined, body, message: /^$/, payload: undefined }
}

/**
 * Returns the key of the event of a body.
 * Undefined for a ping, which does not differ from another ping of the same moment.
 */
export function keyOf({ body }: Got): string | undefined {
  const { thread_id: thread, task_id: task, tenant_id: tenant, sequence } = body
  if (typeof thread === 'string') return `${thread} ${String(sequence as number)}`
  return typeof task === 'string' ? `${tenant as string} ${task}` : undefined
}

/**
 * The body has exactly the members of the event.
 * It has the payload where the destination asked for it, and hides the values that the contract calls sensitive.
 */
export function compareBody({ body, raw }: Got, told: Told, full: boolean): void {
  const { id, message = '', heading, payload, ...rest } = body
  expect(rest).toEqual(told.body)
  expect(message).toMatch(told.message)
  expect(raw).not.toMatch(/cst_|sesame/)
  if (!full || told.payload === undefined) expect([id, payload]).toEqual([id, undefined])
  const { line } = (heading as Heading | undefined) ?? {}
  if (full && told.line !== undefined) expect(line, 'as evidence has it').toMatch(told.line)
  else expect(line).toBeUndefined()
  if (full && told.payload !== undefined)
    expect(hidden(payload as Proposed['payload'])).toEqual(hidden(told.payload))
  if (!full) expect(raw).not.toContain('zebra')
}

const hidden = (payload: Proposed['payload']): unknown =>
  maskPayload(payload as Parameters<typeof maskPayload>[0], ['payload.secret'], () => 'hidden').payload
