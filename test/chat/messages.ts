import type { ChatMessage } from '../../src/domain/chat.ts'

/** A message about a call, as the gateway would send it. */
export const call = (more: Partial<ChatMessage> = {}): ChatMessage => ({
  id: 'message-1',
  heading: [{ text: 'Transfer 2,400.00 EUR to ' }, { text: 'ACME', code: true }],
  lines: [[{ text: 'High risk, finance. 29 minutes left.' }], [{ text: 'May vote: finance' }]],
  fields: [
    { name: 'amount', value: [{ text: '2400.00', code: true, strong: true }] },
    { name: 'iban', value: [{ text: 'DE02120300000000202051', code: true }] },
  ],
  link: 'https://gate.example/threads/t1',
  acts: ['approve', 'request_changes', 'reject'],
  ...more,
})
