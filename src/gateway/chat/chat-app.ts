import type { ChatMember, ChatMessage, ChatPlace, ChatSent } from '../../domain/chat.ts'

/** An application of a chat, as the gateway uses it. Every method keeps the chat's limits and pauses. */
export interface ChatApp {
  /** Id of the workspace, once known. A click of another one is refused. */
  readonly workspace: string | undefined
  /** Posts the message, or rewrites the one at the stamp. */
  send(place: ChatPlace, message: ChatMessage, signal: AbortSignal): Promise<ChatSent>
  /** @returns undefined when the chat does not know the member. Rejects when the chat does not answer. */
  member(id: string): Promise<ChatMember | undefined>
}
