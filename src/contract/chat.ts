/** Linked accounts of a chat, on the wire (docs/chat.md). Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'

const closed = { additionalProperties: false } as const
const Instant = Type.String({ format: 'date-time' })
const ids = {
  workspace: Type.String({ description: "The chat's id of the workspace." }),
  member: Type.String({ description: "The chat's id of the member." }),
}

export const LinkedChat = Type.Object({
  ...ids,
  linked_at: Instant,
  expires_at: Type.String({
    format: 'date-time',
    description: 'The link ends then at the latest.',
  }),
})
export type LinkedChat = Static<typeof LinkedChat>

export const ChatList = Type.Object({
  chat: Type.Optional(Type.String({ description: 'The chat whose accounts can be linked.' })),
  linked: Type.Array(LinkedChat),
})
export type ChatList = Static<typeof ChatList>

export const ChatStart = Type.Object({
  url: Type.String({
    description: "The chat's own sign-in. Only this browser can use its answer.",
  }),
})

/** The two accounts that a page names before it asks. */
export const ChatAccounts = Type.Object({
  reviewer: Type.String(),
  ...ids,
  workspace_name: Type.String(),
  member_name: Type.String(),
})
export type ChatAccounts = Static<typeof ChatAccounts>

export const LinkChat = Type.Object(
  {
    proposal: Type.String({
      minLength: 1,
      maxLength: 4_096,
      description: 'The answer of the chat, which the console received. It works only in the same session.',
    }),
  },
  closed,
)
export type LinkChat = Static<typeof LinkChat>
