/*
 * What the gateway and an application of a chat say to each other (docs/chat.md). The names are those of no vendor. The
 * adapter of Slack is src/slack/.
 */

/** The acts that a message may offer. */
export type ChatAct = 'approve' | 'reject' | 'request_changes'

/** A run of text. The chat must interpret none of it: no mention, link, emoji code or markup. */
export interface ChatRun {
  readonly text: string
  /** A value or a name that another party chose, in a separate font. */
  readonly code?: true
  /** A value that decided. */
  readonly strong?: true
}

/** One message about one call, as it has to stand in the channel now. */
export interface ChatMessage {
  /** Id of the gateway's record of this message. The buttons carry it, and nothing else. At most 128 characters. */
  readonly id: string
  /** What the call does, in one line. It is all that stays when the thread ends or its data is erased. */
  readonly heading: readonly ChatRun[]
  /** Risk, level, time left and who may vote; or what became of the call. Each is a line. */
  readonly lines: readonly (readonly ChatRun[])[]
  /** What runs: each field and its whole value, in the order of the console. Empty where values must not go to a chat. */
  readonly fields: readonly ChatField[]
  /** Page of the call in the console. */
  readonly link: string
  /** Buttons of the message. Without `approve`, `why` says why. */
  readonly acts: readonly ChatAct[]
  readonly why?: string
}

export interface ChatField {
  readonly name: string
  readonly value: readonly ChatRun[]
}

/** A click, or a dialog that was sent. Nothing of it is believed but the identity of app, workspace and member. */
export interface ChatClick {
  /** Id of the envelope. A repeated envelope is the same click. */
  readonly envelope: string
  /** Workspace and member, as the chat vouches for them. */
  readonly workspace: string
  readonly member: string
  readonly channel: string
  /** The chat's own id of the message that was clicked; absent for a dialog. */
  readonly stamp?: string
  /** The `id` of the message, as the button carried it. */
  readonly message: string
  readonly act: ChatAct
  /** Present for a dialog that was sent. */
  readonly comment?: string
  /** Lets the app open a dialog for a few seconds. */
  readonly trigger?: string
}

/** The answer to a click, for the person who clicked. */
export interface ChatAnswer {
  /** `ask`: a dialog has to be opened, which was not counted as a vote. */
  readonly kind: 'counted' | 'refused' | 'unknown' | 'ask'
  readonly text: string
  readonly link?: string
  readonly ask?: ChatDialog
}

/** The dialog for the comment of a rejection or a request for changes. */
export interface ChatDialog {
  readonly message: string
  readonly act: ChatAct
  /** What the call does. */
  readonly heading: readonly ChatRun[]
  /** Comments that the level offers. */
  readonly offered: readonly string[]
  readonly required: boolean
}

/** The chat's own record of a member. */
export interface ChatMember {
  readonly workspace: string
  /** False for a guest, a bot, a deactivated member, and a member of another workspace. */
  readonly mayVote: boolean
  /** Why the member may not vote, as a noun: `a guest`. */
  readonly kind?: string
}

/** The result of a request to the chat. */
export type ChatSent =
  | { readonly kind: 'sent'; readonly stamp: string }
  /** The channel or the message is gone, or the app may not write there. */
  | { readonly kind: 'gone'; readonly code: string }
  | { readonly kind: 'failed'; readonly code: string; readonly retryMs?: number }

/** An application of a chat, as the gateway uses it. Every method keeps the chat's limits and pauses. */
export interface ChatApp {
  /** Ids of the workspace and the app, once known. A click of another one is refused. */
  readonly workspace: string | undefined
  post(channel: string, message: ChatMessage, signal: AbortSignal): Promise<ChatSent>
  rewrite(place: ChatPlace, message: ChatMessage, signal: AbortSignal): Promise<ChatSent>
  /** @returns undefined when the chat does not know the member. Rejects when the chat does not answer. */
  member(id: string): Promise<ChatMember | undefined>
}

/** Where a message stands. */
export interface ChatPlace {
  readonly channel: string
  readonly stamp: string
}
