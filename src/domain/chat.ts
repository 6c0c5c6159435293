/*
 * Messages between the gateway and an application of a chat (docs/chat.md). No name belongs to a vendor. The adapter of
 * Slack is src/slack/.
 */

/** The acts that a message may offer. */
export type ChatAct = 'approve' | 'reject' | 'request_changes'

/** A run of text. The chat must not interpret it: no mention, link, emoji code or markup. */
export interface ChatRun {
  readonly text: string
  /** A value or a name that another party chose, in a separate font. */
  readonly code?: true
  /** A value that decided. */
  readonly strong?: true
}

/** One message about one call, as the channel has to display it now. */
export interface ChatMessage {
  /** Id of the gateway's record of this message. The buttons carry it, and nothing else. At most 128 characters. */
  readonly id: string
  /** The call in one line. Only this stays when the thread ends. */
  readonly heading: readonly ChatRun[]
  /** Risk, level, time left and voters, or the end of the call. Each is a line. */
  readonly lines: readonly (readonly ChatRun[])[]
  /** Each field and its whole value, in the order of the console. Empty where a chat must not have values. */
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
  readonly link?: string | undefined
  readonly ask?: ChatDialog
}

/** The dialog for the comment of a rejection or a request for changes. */
export interface ChatDialog {
  readonly message: string
  readonly act: ChatAct
  /** The call in one line. */
  readonly heading: readonly ChatRun[]
  /** Comments that the level offers. */
  readonly offered: readonly string[]
  readonly required: boolean
}

/** The chat's own record of a member. */
export interface ChatMember {
  /** Why the member may not vote, as a noun: a guest, a bot, a deactivated member, a member of another workspace. */
  readonly refused?: string
}

/** The result of a request to the chat. */
export type ChatSent =
  | { readonly kind: 'sent'; readonly stamp: string }
  /** `gone`: the channel or the message is gone. */
  | {
      readonly kind: 'gone' | 'failed'
      readonly code: string
      readonly retryMs?: number
    }

/** The place of a message; without a stamp, that of a new one. */
export interface ChatPlace {
  readonly channel: string
  readonly stamp?: string | undefined
}
