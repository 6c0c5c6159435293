/** Linked accounts of a chat (docs/chat.md). */
import type { Operations } from '../operation.ts'

export const CHATS = {
  list_chats: {
    method: 'GET',
    path: '/api/review/chats',
    access: 'reviewer',
    summary: 'List your linked accounts',
    answers: { 200: 'ChatList' },
    refusals: [],
  },
  start_chat_link: {
    method: 'POST',
    path: '/api/review/chats/start',
    access: 'reviewer',
    summary: "Begin to link an account: the answer has the chat's own sign-in (OpenID Connect)",
    answers: { 200: 'ChatStart' },
    refusals: ['not_found', 'sign_in_required'],
  },
  end_chat_link: {
    method: 'GET',
    path: '/api/review/chats/callback',
    access: 'public',
    summary: 'Receive the answer of the chat; redirects to the page that names both accounts',
    noHead: true,
    answerHeaders: [{ name: 'Location', description: 'The console.' }],
    answers: { 303: null },
    refusals: ['not_found', 'store_unavailable'],
  },
  look_at_chat_link: {
    method: 'POST',
    path: '/api/review/chats/look',
    access: 'reviewer',
    summary: 'Read the two accounts that would be linked',
    body: 'LinkChat',
    answers: { 200: 'ChatAccounts' },
    refusals: ['not_permitted'],
  },
  link_chat: {
    method: 'POST',
    path: '/api/review/chats',
    access: 'reviewer',
    summary: 'Link the two accounts',
    body: 'LinkChat',
    answers: { 201: 'LinkedChat' },
    refusals: ['not_permitted', 'already_linked', 'outcome_unknown'],
  },
  unlink_chat: {
    method: 'DELETE',
    path: '/api/review/chats/{workspace}/{member}',
    access: 'reviewer',
    summary: 'Unlink an account',
    answers: { 204: null },
    refusals: ['not_found', 'outcome_unknown'],
  },
} as const satisfies Operations
