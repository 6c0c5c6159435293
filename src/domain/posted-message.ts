import type { ChatAct } from './chat.ts'

/** The gateway's record of a message in a chat (src/gateway/chat/deliver.ts). */
export interface PostedMessage {
  readonly destination: string
  readonly channel: string
  readonly thread_id: string
  readonly tool: string
  /** The chat's own id of the message; absent until the chat has answered. */
  readonly stamp?: string
  /** Rises with what a click means: the revision, the displayed places, and whether they are the whole call. */
  readonly version: number
  readonly revision: number
  readonly places: readonly string[]
  readonly whole: boolean
  /** ms since 1970. */
  readonly drawn_at: number
  /** True while equal calls share the message. */
  readonly shared?: true
  /** Random, new for each time that the message was drawn. */
  readonly drawing: string
  /** Another delivery posts the message until then, ms since 1970. */
  readonly posting_until?: number
}

/** A click that was counted, under its envelope. */
export interface CountedClick {
  /** The linked account, as `<workspace>/<member>`. */
  readonly account: string
  readonly act: ChatAct
  readonly revision: number
}
