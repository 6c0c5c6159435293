import type {
  ChatAct,
  ChatAnswer,
  ChatClick,
  ChatMember,
  ChatMessage,
  ChatPlace,
  ChatSent,
} from '../../src/domain/chat.ts'
import type { ChatApp } from '../../src/gateway/chat/chat-app.ts'
import { hashCredential } from '../../src/domain/credential.ts'
import { click } from '../../src/gateway/chat/click.ts'
import { deliverToChat } from '../../src/gateway/chat/deliver.ts'
import { proposeLink } from '../../src/gateway/chat/link.ts'
import type { Deps } from '../../src/gateway/core/deps.ts'
import { INDEX } from '../../src/gateway/core/indexes.ts'
import { deliveryToMake, recordAttempt } from '../../src/gateway/webhooks/delivery-attempts.ts'
import { destination } from '../../src/gateway/webhooks/destinations.ts'
import { BUNDLE } from '../bundle.ts'
import { expect } from 'vitest'
import { type SignedIn, type World } from '../gateway-fixture.ts'

/** A chat in memory: what the gateway's side of a chat needs, and nothing of a vendor. */
export class FakeApp implements ChatApp {
  workspace = 'T1'
  /** Messages by their stamp. */
  readonly messages = new Map<string, ChatMessage>()
  readonly members = new Map<string, ChatMember>()
  /** Answers instead of accepting a message. */
  refusal: ChatSent | undefined
  /** Done while the chat has a message, before it answers. */
  meanwhile: (() => Promise<unknown>) | undefined
  #stamps = 0

  member(id: string): Promise<ChatMember | undefined> {
    return Promise.resolve(this.members.get(id))
  }

  async send(place: ChatPlace, message: ChatMessage): Promise<ChatSent> {
    const stamp = place.stamp ?? `${++this.#stamps}.0`
    if (this.refusal !== undefined) return this.refusal
    this.messages.set(stamp, message)
    const act = this.meanwhile
    this.meanwhile = undefined
    await act?.()
    return { kind: 'sent', stamp }
  }
}

export const CHAT_BUNDLE = {
  'routing.yaml': (BUNDLE['routing.yaml'] ?? '')
    .replace('approvals: 1, expires: 8h }', 'approvals: 1, expires: 8h, chat: true, comments: [Ask first.] }')
    .replace(
      'escalate: { after: 30m, group: board } }',
      'escalate: { after: 30m, group: board }, chat: { signed_in_within: 15m } }',
    ),
}

/** Links the account of a reviewer, as the pages of the console do. */
export async function linkAccount(world: World, by: SignedIn, member: string): Promise<void> {
  const claims = { 'https://slack.com/team_id': 'T1', 'https://slack.com/user_id': member }
  const proposal = proposeLink(
    world.app.deps,
    { issuer: 'https://slack.com', subject: member, claims },
    { tenant: 'acme', session: hashCredential(by.key) },
  )
  expect((await by.call('POST', 'chats', { body: { proposal } })).status).toBe(201)
}

/** A channel of the fake chat, to which the tenant's calls go. */
export class Channel {
  readonly app = new FakeApp()
  readonly #world: World
  readonly #webhook: string
  #envelopes = 0

  private constructor(world: World, webhook: string) {
    this.#world = world
    this.#webhook = webhook
  }

  /** The worker of the world rests: the destination is paused, and tests deliver by themselves. */
  static async open(world: World, more: object = {}): Promise<Channel> {
    const body = { tenant: 'acme', format: 'slack-app', channel: 'C1', ...more }
    const made = await world.admin<{ id: string }>('POST', 'webhooks', { body })
    expect(made.status).toBe(201)
    await world.admin('POST', `webhooks/${made.body.id}/pause`)
    return new Channel(world, made.body.id)
  }

  /** Delivers all that waits, in order. Returns the results. */
  async deliver(deps: Deps = this.#world.app.deps): Promise<string[]> {
    const to = await destination(deps, 'acme', this.#webhook)
    const entries = await deps.store.range('acme', INDEX.outbox(this.#webhook), { limit: 100 })
    const results: string[] = []
    for (const { member: id } of entries) {
      const record = await deliveryToMake(deps, 'acme', { id, destination: to.id })
      if (record === undefined) continue
      expect(record.body).toBe('')
      const made = { tenant: 'acme', destination: to, record }
      const attempt = await deliverToChat(deps, this.app, made, AbortSignal.timeout(10_000))
      await recordAttempt(deps, 'acme', { id, destination: to.id, attempt })
      results.push(`${attempt.outcome} ${attempt.answer}`)
    }
    return results
  }

  /** The only message, or the message at the stamp. */
  message(stamp = '1.0'): ChatMessage {
    const found = this.app.messages.get(stamp)
    if (found === undefined) throw new Error('no such message')
    return found
  }

  clickOf(member: string, act: ChatAct, more: Partial<ChatClick> = {}): ChatClick {
    return {
      envelope: `envelope ${++this.#envelopes}`,
      workspace: 'T1',
      member,
      channel: 'C1',
      stamp: '1.0',
      message: this.message().id,
      act,
      ...more,
    }
  }

  click(one: ChatClick, deps: Deps = this.#world.app.deps): Promise<ChatAnswer> {
    return click(deps, this.app, one)
  }
}

/** All text of a message, by its parts. */
export const textOf = ({ heading, lines, fields, why }: Omit<ChatMessage, 'id'>): string =>
  JSON.stringify([heading, lines, fields, why])
