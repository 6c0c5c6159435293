import type { ChatMember, ChatMessage, ChatPlace, ChatSent } from '../../domain/chat.ts'

/** An application of a chat, as the gateway uses it. Every method keeps the chat's limits and pauses. */
export interface ChatApp {
  /** Ids of the workspace and the app, once known. A click of another one is refused. */
  readonly workspace: string | undefined
  post(channel: string, message: ChatMessage, signal: AbortSignal): Promise<ChatSent>
  rewrite(place: ChatPlace, message: ChatMessage, signal: AbortSignal): Promise<ChatSent>
  /** @returns undefined when the chat does not know the member. Rejects when the chat does not answer. */
  member(id: string): Promise<ChatMember | undefined>
}
